"""Runs model selections through the run loop, in one process or several."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from hpo_envs.benchmarks.papers.fiesta.analysis import Selections
from hpo_envs.benchmarks.papers.fiesta.sweep import ENOUGH, Setting
from hpo_envs.benchmarks.runs import run

CHUNK = 500
"""Runs side by side; more would only cost memory."""


def select(
    setting: Setting,
    seeds: range,
    *,
    budget: int = ENOUGH,
    jobs: int = 1,
    table: str = "measured",
    progress: Callable[[int], object] | None = None,
    **hyperparameters: Any,
) -> Selections:
    """Plays one setting once per seed.

    Args:
        setting: Agent and id.
        seeds: One run each.
        budget: Evaluations.
        jobs: Processes.
        table: Kind of table; synthetic arms take their own.
        progress: Called with the number of runs finished since the last call.
        **hyperparameters: Added to the setting's.

    Returns:
        Evaluations (less those that the published counts leave out), and whether the best arm was selected.
    """
    size = min(CHUNK, -(-len(seeds) // jobs))
    chunks = [seeds[i : i + size] for i in range(0, len(seeds), size)]
    arguments = [(setting, chunk, budget, table, hyperparameters) for chunk in chunks]
    parts = []
    if jobs == 1 or len(chunks) == 1:
        for a in arguments:
            parts.append(_play(a))
            if progress is not None:
                progress(len(a[1]))
    else:
        with ProcessPoolExecutor(jobs) as pool:
            for a, part in zip(arguments, pool.map(_play, arguments), strict=True):
                parts.append(part)
                if progress is not None:
                    progress(len(a[1]))
    evaluations = np.concatenate([p[0] for p in parts]) - setting.uncounted
    return Selections(evaluations, np.concatenate([p[1] for p in parts]))


def _play(arguments: tuple[Setting, range, int, str, dict[str, Any]]) -> tuple[Any, Any]:
    setting, seeds, budget, table, more = arguments
    kwargs = dict(setting.env_kwargs)
    kwargs["table"] = "auto" if setting.env == "FIESTA-gaussian-v0" else table
    runs = run(
        setting.agent, setting.env, seeds, budget=budget, env_kwargs=kwargs, **{**setting.hyperparameters, **more}
    )
    best = best_arm(setting, kwargs["table"])
    chosen = np.array([int(np.ravel(r.recommended)[0]) for r in runs])
    return np.array([len(r) for r in runs]), chosen == best


def best_arm(setting: Setting, table: str = "measured") -> int:
    """The arm with the largest mean over everything that was measured (or planted)."""
    import gymnasium as gym

    env: Any = gym.make(setting.env, **{**setting.env_kwargs, "table": table}).unwrapped
    return int(np.argmax(env.table.final(env.objectives[0])))
