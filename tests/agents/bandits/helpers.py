"""Shared by tests of bandits: a problem with a few arms, and a loop that returns Gaussian scores."""

from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents import Problem

BOUNDS = np.array([[0.0, 1.0]])


def problem(arms: int = 4, batch: int | None = None, budget: float | None = 60) -> Problem:
    space = gym.spaces.Discrete(arms) if batch is None else gym.spaces.MultiDiscrete([arms] * batch)
    return Problem(space, budget=budget, reward_bounds=BOUNDS)


def moments(scores: Any) -> Any:
    """Counts, means and sums of squared deviations of lists of scores, one per arm."""
    return np.array([(len(x), np.mean(x), np.square(np.subtract(x, np.mean(x))).sum()) for x in scores]).T


def play(agent: Any, means: list[float], deviation: float = 0.01, limit: int = 400, seed: int = 0) -> list[int]:
    """Pull Gaussian arms until the agent is done; return the pulled arms."""
    rng, pulled = np.random.default_rng(seed), []
    while not agent.done and len(pulled) < limit:
        action = agent.ask()
        assert action in agent.problem.action_space
        arms = np.atleast_1d(action)
        scores = np.clip(rng.normal(np.array(means)[arms], deviation), 0.001, 0.999)
        agent.tell(action, float(scores.mean()), {"scores": scores} if np.ndim(action) else {})
        pulled.extend(arms.tolist())
    return pulled
