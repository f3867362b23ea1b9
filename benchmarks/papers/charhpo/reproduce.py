"""`hpo-envs reproduce charhpo`: Tables 3 to 12, and figures 1 and 2."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.benchmarks.analysis import sensitivity as sens
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.charhpo import analysis, settings
from hpo_envs.benchmarks.papers.charhpo.settings import Sweep
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.plots import COLOURS
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Floats

BOXES = ("hidden_size", "embedding_size", "batch_size")
"""Hyperparameters of figure 2."""


def tables(r: Reproduction) -> list[Record]:
    """Number of published values that agree, by table, with the definitions behind them and with those in the text."""
    expected, sweeps = settings.expected(), settings.sweeps()
    published = analysis.entries(expected, analysis.values(sweeps, "published"))
    text = analysis.entries(expected, analysis.values(sweeps, "paper"))
    for e in published:
        ours = e.ours if isinstance(e.ours, str) else f"{e.ours:.6g}"
        r.compare_published(f"Table {e.key[0]}", " ".join(filter(None, e.key[1:])), e.published, ours, e.verdict)
    # Line counts of both shared tasks' data: CoNLL 2017 high, SIGMORPHON 2021 medium.
    lines = {(row["task"], row["lang"]): row for row in atomic.read_csv(Path(__file__).with_name("sizes.csv"))}
    for (table, task, lang, _, quantity), p in common.expected("charhpo").items():
        if table == "7":
            size = lines[task, lang][quantity]
            r.compare_published("Table 7", f"{task} {lang} {quantity}", p.text, size, p.judge(int(size)))
    numbers = sorted({e.key[0] for e in published})
    return [_counts(str(n), *([e for e in of if e.key[0] == n] for of in (published, text))) for n in numbers] + [
        _counts("all", published, text)
    ]


def _counts(table: str, published: list[analysis.Entry], text: list[analysis.Entry]) -> Record:
    agree = [sum(e.verdict == "agrees" for e in entries) for entries in (published, text)]
    return dict(zip(("table", "cells", "published definitions", "text"), (table, len(published), *agree), strict=True))


def cases() -> dict[str, Floats]:
    """Return (60,) accuracies along similarity for the cases of figure 1 (section 3), and in random order."""
    rng, x = np.random.default_rng(0), np.linspace(0.0, 1.0, 60)
    rough = 55.0 + 35.0 * x + rng.normal(0.0, 6.0, len(x))
    return {
        "Case 1: robust": np.full(len(x), 90.0), "Case 2: linear": 55.0 + 35.0 * x,
        "Case 3: rough": np.clip(rough, 0.0, 100.0), "random": rng.permutation(np.clip(rough, 0.0, 100.0)),
    }  # fmt: skip


def metrics_of_cases() -> list[Record]:
    """Return the metrics of each case of figure 1; only similarity-based ones distinguish `rough` from `random`."""
    records = []
    for name, a in cases().items():
        result = sens.analyse(np.arange(len(a), dtype=np.float64)[:, None], a, ks=(25, 50), rope=sens.ROPE)
        records.append({"case": name, **{k: None if v is None else round(v, 2) for k, v in result.items()}})
    return records


def boxes(sweeps: Sequence[Sweep]) -> list[Record]:
    """Return the data of figure 2: quantiles and mean over the sweeps' best configurations.

    There is a record for each hyperparameter of `BOXES`, task and architecture. If several runs of a sweep tie for the
    best, the one in Tables 8 and 9 is used.
    """
    configs = {(s.task, s.lang, s.architecture): analysis.best_configs(s) for s in sweeps}
    printed = analysis.printed_runs(configs)
    records = []
    for name, task, architecture in itertools.product(BOXES, ("inflection", "g2p"), ("lstm", "transformer")):
        chosen = [key for key in configs if (key[0], key[2]) == (task, architecture)]
        values = [float(configs[key][name][printed[key]]) for key in chosen]
        low, q1, median, q3, high = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
        box = {"low": low, "q1": q1, "median": median, "q3": q3, "high": high, "mean": np.mean(values)}
        where = {"hyperparameter": name, "task": task, "architecture": architecture}
        records.append(where | {k: round(float(v), 1) for k, v in box.items()})
    return records


def _draw_cases(axes: Any) -> None:
    for axis, (name, a) in zip(axes, cases().items(), strict=True):
        axis.plot(np.arange(len(a)), a, ".-", color=COLOURS[0], linewidth=0.8, markersize=3)
        axis.set(title=name, xlabel="rank of the configuration", ylim=(0, 100))
    axes[0].set_ylabel("accuracy (%)")


def _draw_boxes(axes: Any, records: Sequence[Record]) -> None:
    """Draw box plots with means as triangles."""
    for axis, name in zip(axes, BOXES, strict=True):
        stats, colours = [], []
        for r in records:
            if r["hyperparameter"] == name:
                label = f"{r['task']}\n{r['architecture']}"
                ends = {"whislo": r["low"], "q1": r["q1"], "med": r["median"], "q3": r["q3"], "whishi": r["high"]}
                stats.append({"label": label, "mean": r["mean"], "fliers": [], **ends})
                colours.append(COLOURS[r["architecture"] == "transformer"])
        mean = {"marker": "^", "markerfacecolor": "green", "markeredgecolor": "green"}
        drawn = axis.bxp(stats, showmeans=True, meanprops=mean, patch_artist=True)
        for patch, colour in zip(drawn["boxes"], colours, strict=True):
            patch.set(facecolor=colour, alpha=0.5)
        axis.set(title=name.replace("_", " "))
        axis.tick_params(axis="x", labelsize=7)


def figure1(r: Reproduction) -> list[Record]:
    """Cases of section 3 and their metrics."""
    r.draw("figure1", (2.75, 2.6), _draw_cases, shape=(1, 4), sharey=True)
    return metrics_of_cases()


def figure2(r: Reproduction) -> list[Record]:
    """Best configurations of the sweeps."""
    records = boxes(settings.sweeps())
    r.draw("figure2", (3.7, 3.4), _draw_boxes, records, shape=(1, 3))
    return records


PARTS: common.Parts = {"tables": tables, "figure1": figure1, "figure2": figure2}
