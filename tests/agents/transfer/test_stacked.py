"""The stacked process beside one that is solved at once, from the formula in its docstring."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from hpo_envs.agents import Source, make
from hpo_envs.agents.transfer.stacked import LENGTHS, robust
from hpo_envs.pareto import pareto_front
from tests.agents.transfer.helpers import ALIKE, OTHER, TRUTH, X, problem, regret


def test_failures_are_cut_off() -> None:
    assert robust(np.array([0.0, 1.0, 2.0, -100.0])) == pytest.approx(robust(np.array([0.0, 1.0, 2.0, -1.75])))
    assert robust(np.ones(3)).tolist() == [0.0] * 3


def test_the_next_candidate_is_the_formulas() -> None:
    agent: Any = make("stacked-gp", problem(ALIKE, OTHER), 0)
    rows = [3, 17, 30]
    for row in rows:
        agent.tell(row, float(TRUTH[row]), {"cost": 1.0, "status": "ok"})
    s = agent.means[0]
    e, y = s.mean(axis=0), robust(TRUTH[rows])
    distances = np.sqrt(np.square(X[:, None] - X).sum(axis=-1))
    gains, evidence = [], []
    for length in LENGTHS:
        z = np.sqrt(5.0) * distances / length
        k = 0.5 * (1 + z + z**2 / 3) * np.exp(-z) + 1 + 0.25 * np.outer(e, e) + 0.5 / 2 * (s - e).T @ (s - e)
        seen = k[np.ix_(rows, rows)] + 0.02 * np.eye(3)
        solve = np.linalg.solve(seen, k[rows])
        mean = 0.7 * e + (y - 0.7 * e[rows]) @ solve
        deviation = np.sqrt(np.diag(k) - (k[rows] * solve).sum(axis=0))
        u = (mean - y.max()) / deviation
        gains.append((mean - y.max()) * norm.cdf(u) + deviation * norm.pdf(u))
        evidence.append(multivariate_normal.pdf(y, 0.7 * e[rows], seen))
    scores = np.array(evidence) @ np.array(gains)
    scores[rows] = -np.inf
    assert agent.ask() == int(np.argmax(scores))


def test_it_corrects_what_misleads() -> None:
    assert regret(make("stacked-gp", problem(ALIKE, OTHER), 1), 10) < 0.02


def test_two_objectives_are_both_learned_from_the_source() -> None:
    """Where one source has measured the problem itself, what is asked for lies on its front."""
    two = np.column_stack([TRUTH, -np.square(X - 0.6).sum(axis=1).round(6)])
    agent = make("stacked-gp", problem(Source("x", X, two, np.ones(36)), objectives=2), 0)
    for _ in range(4):
        row = agent.ask()
        agent.tell(row, two[row], {"cost": 1.0, "status": "ok"})
        assert pareto_front(two)[row]
