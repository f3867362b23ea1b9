"""Runs model selections through the run loop, in one process or several."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.fiesta.analysis import Selections
from hpo_envs.benchmarks.papers.fiesta.settings import ENOUGH, Setting
from hpo_envs.benchmarks.runs import run
from hpo_envs.tables import store
from hpo_envs.tables.frames import natural
from hpo_envs.tables.table import Table

CHUNK = 500
"""Runs per batch; more would only cost memory."""


def select(
    r: Reproduction,
    setting: Setting,
    usual: int,
    *,
    budget: int = ENOUGH,
    **hyperparameters: Any,
) -> Selections:
    """Play one setting once per seed.

    Args:
        r: The reproduction, which has the processes.
        setting: Agent and id.
        usual: How often the paper ran it.
        budget: Evaluations.
        **hyperparameters: Added to the setting's.

    Returns:
        Evaluations (less those that the published counts leave out), and whether the best arm was selected.
    """
    seeds = r.seeds(usual)
    size = min(CHUNK, -(-len(seeds) // r.jobs))
    chunks = [seeds[i : i + size] for i in range(0, len(seeds), size)]
    parts = r.map(_play, [(setting, chunk, budget, hyperparameters) for chunk in chunks], setting.name, "chunk")
    evaluations = np.concatenate([p[0] for p in parts]) - setting.uncounted
    return Selections(evaluations, np.concatenate([p[1] for p in parts]))


def _play(setting: Setting, seeds: range, budget: int, more: dict[str, Any]) -> tuple[Any, Any]:
    kwargs = dict(setting.env_kwargs)
    kwargs |= {"shuffle": False, "table": table_of(setting)}
    runs = run(
        setting.agent, setting.env, seeds, budget=budget, env_kwargs=kwargs, **{**setting.hyperparameters, **more}
    )
    best = best_arm(setting)
    chosen = np.array([int(np.ravel(r.recommended)[0]) for r in runs])
    return np.array([len(r) for r in runs]), chosen == best


def table_of(setting: Setting) -> Table | None:
    """The arms in upstream's order; arms with means of their own are made by the environment, in the order given."""
    if "means" in setting.env_kwargs:
        return None
    return natural(store.load(f"fiesta/{setting.env.split('-')[1]}"))


def best_arm(setting: Setting) -> int:
    """The arm with the largest mean over all its scores."""
    import gymnasium as gym

    env: Any = gym.make(setting.env, **{**setting.env_kwargs, "table": table_of(setting)}).unwrapped
    return int(np.argmax(env.table.final(env.objectives[0])))
