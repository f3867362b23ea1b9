"""Successive halving against random search on the eight corpora, with Hyperband and ASHA beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from tqdm import tqdm

import hpo_envs  # noqa: F401
from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.papers.nasbenchnlp.search import show, write
from hpo_envs.benchmarks.papers.nasbenchnlp.search_figures import COLOURS, axes_of, save
from hpo_envs.benchmarks.papers.nmtlc import analysis, sweep
from hpo_envs.tables import store

PARTS = sweep.CORPORA


def main(out: Path, *, trials: int | None, jobs: int, seed: int, only: str | None) -> int:
    """Runs all corpora, or one; writes `summary.csv` and a figure. One process is enough: it takes a minute."""
    corpora = sweep.CORPORA if only is None else (only,)
    seeds = range(seed, seed + (trials or sweep.TRIALS))
    rows: list[dict[str, Any]] = []
    curves: dict[str, dict[str, Any]] = {}
    with tqdm(total=len(corpora) * len(sweep.AGENTS), unit="agent") as bar:
        for corpus in corpora:
            env: Any = gym.make(f"NMTLC-{corpus}-v0").unwrapped
            found = {}
            for agent in sweep.AGENTS:
                bar.set_description(f"{corpus}, {agent}")
                found[agent] = play(env, corpus, agent, seeds)
                bar.update()
            kind = env.table.provenance.kind
            for agent, values in found.items():
                rows.append({"table": kind} | analysis.row(corpus, agent, values, found["random"], sweep.TRAININGS))
            curves[corpus] = found
    early = []
    for corpus in corpora:
        table = store.load(f"nmtlc/{corpus}")
        early.append({"table": table.provenance.kind, "corpus": corpus} | analysis.early_ranks(table))
    write(out / "early.csv", early)
    write(out / "summary.csv", rows)
    plot(curves, out / "regret")
    show("Rank correlation of the best log perplexity after some checkpoints with the best of the run", early)
    show("Regret in nats of log perplexity after 1 to 20 full trainings, and the gain on random search after 20", rows)
    return 0


def play(env: Any, corpus: str, agent: str, seeds: Any) -> Any:
    """(trials, budgets) regrets of an agent."""
    one = env.budget / sweep.TRAININGS[-1]
    played = runs.run(agent, f"NMTLC-{corpus}-v0", list(seeds))
    return np.array([analysis.at_budgets(run, env, [n * one for n in sweep.TRAININGS]) for run in played])


def plot(curves: dict[str, dict[str, Any]], path: Path) -> list[Path]:
    """Mean regret against the budget in full trainings, one panel per corpus."""
    columns = min(len(curves), 4)
    lines = -(-len(curves) // columns)
    figure, axes = axes_of(lines, columns, figsize=(3.2 * columns, 2.8 * lines), squeeze=False)
    for axis, (corpus, found) in zip(axes.flat, curves.items(), strict=False):
        for i, (agent, values) in enumerate(found.items()):
            mean, half = values.mean(axis=0), 1.96 * values.std(axis=0) / np.sqrt(len(values))
            axis.plot(sweep.TRAININGS, mean, marker="os^D"[i], markersize=4, color=COLOURS[i], label=agent)
            axis.fill_between(sweep.TRAININGS, mean - half, mean + half, color=COLOURS[i], alpha=0.15, linewidth=0)
        axis.set(title=corpus, xscale="log", xlabel="full trainings")
        axis.grid(alpha=0.25)
    axes[0, 0].set_ylabel("regret (nats)")
    axes[0, 0].legend(fontsize=7)
    return save(figure, path)
