"""The authors' sample submissions: their formulas term by term, and runs."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.papers.nmthpo import released
from hpo_envs.tables import store


def cell_by_cell(mu: list[float], s: list[float], front: np.ndarray, r: np.ndarray) -> float:
    """The sum of the starting kit for one candidate, written as its description in the module says."""
    k, a, b = len(front), np.sort(front[:, 0]), np.sort(front[:, 1])

    def psi(high: float, edge: float, j: int) -> float:
        return float(s[j] * norm.pdf((edge - mu[j]) / s[j]) + (high - mu[j]) * norm.cdf((edge - mu[j]) / s[j]))

    total = 0.0
    low, up = [np.r_[-np.inf, a], np.r_[-np.inf, b]], [np.r_[a, r[0]], np.r_[b, r[1]]]
    for i in range(k + 1):
        for j in range(k + 1 - i):
            high = up[0][k - i], up[1][k - j]
            inside = [(x, y) for x, y in zip(a, b, strict=True) if up[0][j] <= x and up[1][i] <= y]
            known, top = 0.0, high[1]
            for x, y in inside:
                known, top = known + (high[0] - x) * (top - y), y
            gain = [psi(high[d], up[d][e], d) - psi(high[d], low[d][e], d) for d, e in ((0, j), (1, i))]
            mass = [
                norm.cdf((up[d][e] - mu[d]) / s[d]) - norm.cdf((low[d][e] - mu[d]) / s[d]) for d, e in ((0, j), (1, i))
            ]
            total += max(0.0, gain[0] * gain[1] - known * mass[0] * mass[1])
    return total


def test_cells_are_summed_as_in_the_kit() -> None:
    rng = np.random.default_rng(0)
    for k in (1, 2, 4):
        front = np.column_stack([np.sort(rng.normal(size=k)), np.sort(rng.normal(size=k))[::-1]])
        reference = front.max(axis=0) + 1.0
        mean, deviation = rng.normal(size=(2, 6)), rng.uniform(0.2, 2.0, size=(2, 6))
        found = released.summed_cells(mean, deviation, front, reference)
        one = [cell_by_cell(list(m), list(s), front, reference) for m, s in zip(mean.T, deviation.T, strict=True)]
        assert np.allclose(found, one, rtol=1e-9)


def test_fronts_are_peeled() -> None:
    assert released.fronts(np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])).tolist() == [0, 0, 2, 1]


def test_both_submissions_run_and_repeat_no_model() -> None:
    points = released.scaled(store.load("nmthpo/soen"))
    assert points[:, 1:].min() == -0.5
    assert np.isclose(points.max(), 1.0)
    for cls in (released.ReleasedEHVI, released.ReleasedCMAES):
        found = runs.run(
            lambda problem, seed, cls=cls: cls(problem, seed, points),
            "NMTHPO-soen-mo-v0",
            range(2),
            budget=20,
            env_kwargs={"shuffle": False},
        )
        assert all(len(set(r.actions.tolist())) == 20 for r in found)
        assert not np.array_equal(found[0].actions, found[1].actions)
