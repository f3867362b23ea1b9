"""Regret against budget on learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.benchmarks.analysis.statistics import bootstrap_interval
from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.runs.episodes import seeds_of

Floats = npt.NDArray[np.float64]


def regret(run: Run, env: Any) -> tuple[Floats, Floats]:
    """Replay a run: (k,) budget spent and (k,) regret after each step.

    The regret is the best log perplexity at any checkpoint passed so far minus the lowest of the table.

    Args:
        run: On the environment's table.
        env: Unwrapped environment.
    """
    losses = env.table.values[:, 0, :, env.table.metric("log_perplexity")]
    lowest = float(np.nanmin(losses))
    env.reset(seed=seeds_of(run.header["env"], run.seed)[0])
    spent, values = np.empty(len(run)), np.empty(len(run))
    for k, action in enumerate(run.actions):
        env.step(action)
        spent[k], values[k] = env.total_cost, losses[env.best] - lowest
    return spent, values


def at_budgets(run: Run, env: Any, budgets: Sequence[float]) -> Floats:
    """(budgets,) regret once each budget is spent; before the first result, that of the worst first checkpoint.

    A training that a budget cuts off does not count.
    """
    spent, values = regret(run, env)
    losses = env.table.values[:, 0, 0, env.table.metric("log_perplexity")]
    worst = float(np.nanmax(losses) - np.nanmin(env.table.values[:, 0, :, env.table.metric("log_perplexity")]))
    last = np.searchsorted(spent, np.asarray(budgets) * (1 + 1e-9), side="right") - 1
    return np.where(last >= 0, values[np.maximum(last, 0)], worst)


def early_ranks(table: Any, checkpoints: Sequence[int] = (1, 3, 9, 27)) -> dict[str, str]:
    """Spearman correlation over rows of the best log perplexity after some checkpoints with the best of the run."""
    from scipy.stats import spearmanr

    losses = table.values[:, 0, :, table.metric("log_perplexity")]
    # A run that has ended keeps its best.
    so_far = np.fmin.accumulate(losses, axis=1)
    return {f"after {n}": f"{spearmanr(so_far[:, n - 1], so_far[:, -1])[0]:.2f}" for n in checkpoints}


def row(corpus: str, agent: str, found: Floats, random: Floats, trainings: Sequence[int]) -> dict[str, Any]:
    """One row of the summary.

    Args:
        corpus: Name.
        agent: Name.
        found: (trials, budgets) regrets of the agent.
        random: (trials, budgets) regrets of random search with the same seeds.
        trainings: Names of the budgets.
    """
    out: dict[str, Any] = {"corpus": corpus, "agent": agent, "trials": len(found)}
    for j, n in enumerate(trainings):
        out[f"regret at {n}"] = f"{found[:, j].mean():.4f}"
    low, high = bootstrap_interval(found[:, -1])
    out |= {"low": f"{low:.4f}", "high": f"{high:.4f}"}
    gain = random[:, -1] - found[:, -1]
    low, high = bootstrap_interval(gain) if np.ptp(gain) > 0 else (float(gain[0]),) * 2
    out |= {"gain on random": f"{gain.mean():.4f}", "gain low": f"{low:.4f}", "gain high": f"{high:.4f}"}
    return out
