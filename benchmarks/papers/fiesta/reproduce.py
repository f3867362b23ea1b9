"""The paper's tables and figures again, with a verdict on every published number."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.fiesta import analysis, settings
from hpo_envs.benchmarks.papers.fiesta import figures as drawing
from hpo_envs.benchmarks.papers.fiesta.select import select

COLUMNS = ("where", "row", "delta", "quantity", "published", "ours", "error", "runs", "verdict")


def part(function: Callable[[Reproduction], object]) -> Callable[[Reproduction], None]:
    """A part that prints the numbers that it notes, and writes all noted so far."""

    @functools.wraps(function)
    def noted(r: Reproduction) -> None:
        before = len(r.notes)
        function(r)
        rows = [{k: _text(v) for k, v in row.items()} for row in r.notes]
        if rows[before:]:
            common.show(function.__name__, rows[before:])
        if rows:
            r.write("results", rows)

    return noted


def note(r: Reproduction, where: str, row: str, delta: float | None, quantity: str, ours: float, **more: Any) -> None:
    """Record one number, next to the published one if there is one."""
    key = (where.partition(":")[0], row, "" if delta is None else f"{delta:g}", quantity)
    published = common.expected("fiesta").get(key)
    error, runs = more.get("error", float("nan")), more.get("runs", 0)
    verdict = more.get("verdict") or _verdict(quantity, ours, error, published, runs)
    values = (where, row, delta, quantity, published and published.value, ours, error, runs, verdict)
    r.notes.append(dict(zip(COLUMNS, values, strict=True)))
    if published is not None and where in key:
        spread = "" if np.isnan(error) else f" ± {error:.2g}"
        label = " ".join(filter(None, (row, "" if delta is None else f"delta {delta:g}", quantity)))
        r.compare_published(where, label, published.text, f"{ours:.4g}{spread}", verdict)


def note_summary(r: Reproduction, where: str, row: str, delta: float | None, selections: analysis.Selections) -> None:
    """Record minimum, mean and maximum evaluations and the fraction of correct selections."""
    for quantity, (value, error) in selections.summary().items():
        note(r, where, row, delta, quantity, value, error=error, runs=len(selections))


def table1(r: Reproduction) -> None:
    """The schedule of sequential halving: four models, sixteen evaluations."""
    from hpo_envs.agents.bandits.elimination import halving_schedule

    for i, (_, each) in enumerate(halving_schedule(4, 16), start=1):
        note(r, "Table 1", f"round {i}", None, "evaluations", float(each))


def table2(r: Reproduction) -> None:
    """Evaluations to a confidence: non-adaptive and TTTS."""
    _levels(r, "Table 2", settings.TABLE_2)


def table3(r: Reproduction) -> None:
    """The same for batch Thompson sampling."""
    _levels(r, "Table 3", settings.TABLE_3)


def uncounted(r: Reproduction) -> None:
    """Tables 2 and 3 as the authors' notebook counts: five evaluations of each model first, counted as three."""
    for setting in settings.UNCOUNTED:
        where = "Table 3" if setting.agent == "bts" else "Table 2"
        _levels(r, f"{where}: five first, counted as three", (setting,))


def figure4(r: Reproduction) -> None:
    """Right selections by budget: sequential halving and non-adaptive on twelve models."""
    env = "FIESTA-tdsa12-v0"
    for budget in settings.FIGURE_4_BUDGETS:
        for agent in ("sh", "nonadaptive"):
            setting = settings.Setting(f"{agent}, T={budget}", agent, env)
            found = select(r, setting, settings.FIGURE_4_TRIALS, budget=budget)
            value, error = found.summary()["correct"]
            row = agent if budget == settings.NAMED_BUDGET else setting.name
            note(r, "Figure 4", row, None, "correct", value, error=error, runs=len(found))
    # Section 4.1 says floor(log2 N) rounds; Algorithm 1 divides by ceil(log2 N).
    floor = settings.Setting("sh", "sh", env, hyperparameters={"rounds": "floor", "total": settings.NAMED_BUDGET})
    found = select(r, floor, settings.FIGURE_4_TRIALS, budget=2 * settings.NAMED_BUDGET)
    for quantity in ("correct", "mean"):
        value, error = found.summary()[quantity]
        label = "Figure 4: budget cut into floor(log2 N) parts"
        note(r, label, "sh", None, quantity, value, error=error, runs=len(found))


def complexity(r: Reproduction) -> None:
    """H of appendix A for each set of arms."""
    from hpo_envs.tables import store
    from hpo_envs.tables.frames import natural

    for name, metric in (("tdsa8", "f1"), ("tdsa12", "f1"), ("ner", "test_f1"), ("gaussian", "score")):
        note(r, "Appendix A", name, None, "H", analysis.complexity(natural(store.load(f"fiesta/{name}")).final(metric)))


def figure1(r: Reproduction) -> None:
    """Section 2: how often the better recogniser wins on one split, on one seed, and over both."""
    from hpo_envs.tables import store
    from hpo_envs.tables.datasets.fiesta import NER_SEEDS, NER_SPLITS
    from hpo_envs.tables.frames import natural

    x = natural(store.load("fiesta/ner")).values[:, :, 0, 0].reshape(2, NER_SPLITS, NER_SEEDS)
    note(r, "Figure 1", "all runs", None, "mean F1 of lstm minus cnn", float(x[1].mean() - x[0].mean()))
    for i in range(3):
        note(r, "Figure 1", f"split {i}", None, "mean F1 of lstm minus cnn", float(x[1, i].mean() - x[0, i].mean()))
    wins = {
        "one split, its five seeds": (x[1].mean(axis=1) > x[0].mean(axis=1)).mean(),
        "one split and seed": (x[1] > x[0]).mean(),
        "one seed, all splits": (x[1].mean(axis=0) > x[0].mean(axis=0)).mean(),
    }
    for row, share in wins.items():
        note(r, "Figure 1", row, None, "lstm wins, per cent", 100.0 * float(share))


def figures(r: Reproduction) -> None:
    """Figures 1 to 4 as png and svg (needs the extra `plots`)."""
    drawing.draw_all(r.out, r.notes, r.seed)


PARTS: common.Parts = {
    f.__name__: part(f)
    for f in (
        table1, table2, table3, uncounted, figure4, complexity, figure1, figures,
    )
}  # fmt: skip

PRINTED = ("table1", "table2", "table3", "figure4", "figure1", "figures")
"""Parts with published numbers and figures, for `hpo-envs reproduce all`."""

QUICK = 10
"""Trials of `--quick`."""

main = functools.partial(common.reproduce, "fiesta", PARTS)


def _levels(r: Reproduction, where: str, todo: tuple[settings.Setting, ...]) -> None:
    for setting in todo:
        for delta in settings.DELTAS:
            found = select(r, setting, settings.TRIALS, confidence=1.0 - delta)
            note_summary(r, where, setting.name, delta, found)


def _verdict(quantity: str, ours: float, error: float, published: common.Published | None, runs: int) -> common.Verdict:
    if published is None:
        return "not published"
    if not published.details["runs"]:
        return common.judge(ours - published.value, 0.0)
    return analysis.verdict(quantity, ours, error, published.value, runs, int(published.details["runs"]))


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
