"""Shared by tests of agents: problems with a few candidates and with a few arms."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs import agents
from hpo_envs.agents import Problem

Floats = np.ndarray


def solved(prior: Floats, rows: list[int], values: Floats, noise: float) -> tuple[Floats, Floats]:
    """Means and variances of equations 1 and 2 by a direct solve; the prior mean is that of the constant 1."""
    targets = np.column_stack([np.ones(len(rows)), values])
    weights = np.linalg.solve(prior[np.ix_(rows, rows)] + noise * np.eye(len(rows)), prior[rows])
    return targets.T @ weights, np.diag(prior) - np.einsum("ij,ij->j", prior[rows], weights)


def spread_labels(weights: Floats, nodes: list[int], labels: Floats) -> Floats:
    """Equation 7 by repeated averaging over neighbours; unreachable nodes keep the mean label."""
    n = len(weights)
    f = np.full(n, labels.mean())
    f[nodes] = labels
    reach = np.isin(np.arange(n), nodes)
    for _ in range(n):
        reach |= (weights[:, reach] > 0).any(axis=1)
    inner = [i for i in range(n) if reach[i] and i not in nodes]
    if inner:
        degrees = np.diag(weights.sum(axis=1))[np.ix_(inner, inner)]
        f[inner] = np.linalg.solve(degrees - weights[np.ix_(inner, inner)], weights[np.ix_(inner, nodes)] @ labels)
    return f


RNG = np.random.default_rng


def problem(features: np.ndarray, objectives: int = 1) -> Problem:
    return Problem(gym.spaces.Discrete(len(features)), features=features, objectives=objectives)


def grid(*shape: int) -> np.ndarray:
    return np.indices(shape).reshape(len(shape), -1).T / np.maximum(np.array(shape) - 1.0, 1.0)


def play(agent: agents.Agent, value: Callable[[Any], Any], steps: int) -> list[Any]:
    asked = []
    with np.errstate(all="raise", under="ignore"):
        for _ in range(steps):
            asked.append(agent.ask())
            agent.tell(asked[-1], value(asked[-1]), {"cost": 1.0, "status": "ok"})
    return asked
