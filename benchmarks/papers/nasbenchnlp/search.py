"""Runs the comparison of section 5: every method of a preset, then the table and figures 10 and 12; and figure 5."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from hpo_envs.agents import AGENTS
from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.papers.common import Record, Reproduction
from hpo_envs.benchmarks.papers.nasbenchnlp import analysis, figures, settings
from hpo_envs.benchmarks.papers.nasbenchnlp.cells import load
from hpo_envs.tables import store as tables

EPOCHS = (5, 10, 25, 50)


def run_method(method: settings.Method, preset: str, seeds: Sequence[int], dataset: str) -> list[runs.Run]:
    """All trials of a method."""
    env = {"table": load(f"nasbenchnlp/{dataset}"), "shuffle": False, "variant": settings.VARIANT[preset], **method.env}
    spec = f"NASBenchNLP-{dataset}-v0"
    if preset == "sensible":
        atomic: Any = gym.make(spec, table=env["table"]).unwrapped
        env["budget"] = atomic.budget * settings.BUDGET / 20  # the default is 20 full trainings
    return runs.run(method.agent, spec, seeds, env_kwargs=env, **method.hyperparameters)


def compare(r: Reproduction, preset: str, dataset: str = "wikitext2") -> list[Record]:
    """Figures 10 and 12 of a preset.

    Args:
        r: The reproduction; gets the figures.
        preset: Name in `settings.PRESETS`.
        dataset: Part of the id.

    Returns:
        One row per method.
    """
    spec, seeds = f"NASBenchNLP-{dataset}-v0", list(r.seeds(settings.TRIALS))
    natural_table, variant = load(f"nasbenchnlp/{dataset}"), settings.VARIANT[preset]
    replay: Any = gym.make(spec, table=natural_table, budget=None, variant=variant).unwrapped
    best = analysis.lowest(replay.table)
    methods = [m for m in settings.PRESETS[preset] if AGENTS[m.agent].installed]
    for m in settings.PRESETS[preset]:
        if m not in methods:
            print(f'{m.name} is left out: {m.agent} needs pip install "hpo_envs[optuna]"')
    name = f"{dataset}-{preset}"
    todo = [(m, preset, seeds, dataset) for m in methods]
    played = r.map(run_method, todo, f"figure 10, {preset}", "method")
    traces = {m.name: [analysis.trace(run, replay) for run in runs] for m, runs in zip(methods, played, strict=True)}
    rows = [analysis.summary(m.name, traces[m.name], best, settings.HOURS) for m in methods]
    title = f"{dataset}, {preset} settings, {len(seeds)} trials"
    common.drawn(
        lambda: (
            figures.plot_regret(traces, best, title, r.out / f"figure10-{name}")
            + figures.plot_final(traces, best, title, r.out / f"figure12-{name}")
        )
    )
    return [{"dataset": dataset, "preset": preset, **row} for row in rows]


def _datasets() -> list[str]:
    """Data sets of the figures: PTB, as in the paper, only once its full logs are fetched."""
    if not tables.missing("nasbenchnlp/ptb"):
        return ["wikitext2", "ptb"]
    print("PTB is left out: its curves need the full logs, `hpo-envs fetch nasbenchnlp-ptb-logs`")
    return ["wikitext2"]


def figure5(r: Reproduction) -> list[Record]:
    """Rank correlation of the validation loss at epochs 5, 10, 25 and 50 with the final test loss."""
    rows = []
    for dataset in _datasets():
        table = tables.load(f"nasbenchnlp/{dataset}")
        common.drawn(functools.partial(figures.plot_ranks, table, EPOCHS, r.out / f"figure5-{dataset}"))
        rows += [{"dataset": dataset, **row} for row in analysis.epoch_correlations(table, EPOCHS)]
    return rows


def figure10(r: Reproduction) -> list[Record]:
    """Figures 10 and 12: regret against simulated hours, in both presets."""
    return [row for dataset in _datasets() for preset in settings.PRESETS for row in compare(r, preset, dataset)]


PARTS: common.Parts = {"figure5": figure5, "figure10": figure10}
"""Parts of `hpo-envs reproduce nasbenchnlp`."""
