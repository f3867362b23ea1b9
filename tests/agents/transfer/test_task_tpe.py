"""Parzen densities, fronts and similarities of tasks, on numbers that can be counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from hpo_envs.agents import Source, make
from hpo_envs.agents.transfer.task_tpe import crowding, density, ranked, split
from tests.agents.transfer.helpers import ALIKE, OTHER, TRUTH, X, problem, regret


def test_densities_are_sums_of_kernels() -> None:
    x, at = np.array([[0.2, 0.9], [0.6, 0.1]]), np.array([[0.5, 0.5], [0.0, 1.0]])
    widths = np.maximum(x.std(axis=0) * 2 ** (-1 / 6), 0.1)
    kernels = [[np.prod(norm.pdf(a, o, widths)) * 2 * np.pi for o in x] for a in at]
    wide = [np.prod(norm.pdf(a, 0.5, 1.0)) * 2 * np.pi for a in at]
    assert density(x, at) == pytest.approx((np.array(wide) + np.sum(kernels, axis=1)) / 3)
    assert density(x[:0], at) == pytest.approx(wide)


def test_good_observations_of_two_objectives_are_the_first_fronts() -> None:
    rewards = np.array([[0.0, 3.0], [1.0, 2.0], [1.1, 1.9], [3.0, 0.0], [0.5, 0.5], [-1.0, -1.0]])
    assert crowding(rewards[:4]).tolist() == pytest.approx([np.inf, (1.1 + 1.1) / 3, (2.0 + 2.0) / 3, np.inf])
    assert ranked(rewards).tolist() == [0, 3, 2, 1, 4, 5]
    good, rest = split(rewards, 0.1)
    assert (set(good), rest.tolist()) == ({0, 1, 2, 3}, [4, 5])
    assert [part.tolist() for part in split(np.array([[1.0], [5.0], [3.0]]), 0.1)] == [[1], [2, 0]]


def test_a_task_like_the_problem_is_more_similar() -> None:
    agent: Any = make("tst-tpe", problem(ALIKE, OTHER), 0)
    assert regret(agent, 12) < 0.02
    alike, other = agent.similarities
    assert 0.0 <= other < alike <= 1.0


def test_two_objectives() -> None:
    two = np.column_stack([TRUTH, -np.square(X - 0.6).sum(axis=1)])
    agent = make("tst-tpe", problem(Source("x", X, two, np.ones(36)), objectives=2), 0)
    rows = []
    for _ in range(12):
        rows.append(agent.ask())
        agent.tell(rows[-1], two[rows[-1]], {"cost": 1.0, "status": "ok"})
    assert len(set(rows)) == 12
    good, _ = split(two, 0.1)
    assert len(set(rows) & set(good.tolist())) >= 3
