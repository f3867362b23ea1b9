"""A problem of a few candidates with two other tables: one that ranks them alike, one that ranks them the other way."""

from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents import Problem, Source

X = np.stack(np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 1, 6)), axis=-1).reshape(-1, 2)
TRUTH = -np.square(X - 0.4).sum(axis=1).round(6)
ALIKE, OTHER = (Source(n, X, s * TRUTH[:, None] * 3.0 + 7.0, np.ones(36)) for n, s in (("alike", 1), ("other", -1)))


def problem(*sources: Source, objectives: int = 1) -> Problem:
    return Problem(gym.spaces.Discrete(36), X, ("a", "b"), objectives=objectives, budget=12, sources=sources)


def regret(agent: Any, steps: int) -> float:
    """How much worse than the best candidate the best of the first ones is."""
    found = []
    for _ in range(steps):
        row = agent.ask()
        found.append(TRUTH[row])
        agent.tell(row, float(TRUTH[row]), {"cost": 1.0, "status": "ok"})
    return float(TRUTH.max() - max(found))
