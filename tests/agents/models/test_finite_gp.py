"""Gaussian processes on a finite set: conditioning one by one, all at once, and by dense algebra."""

import math

import numpy as np
import pytest

from hpo_envs.agents.models import kernels
from hpo_envs.agents.models.kernels import FiniteGP
from tests.agents.helpers import solved

Floats = np.ndarray


def prior_of(n: int, d: int = 2, seed: int = 3) -> Floats:
    x = np.random.default_rng(seed).random((n, d))
    return 1.7 * kernels.gram("matern52", x, 0.5)


def test_conditioning_one_by_one_is_one_solve() -> None:
    prior = prior_of(9)
    variance = np.diag(prior).copy()
    bo = FiniteGP(lambda k: prior[k], variance, 0.05, outputs=2)
    assert (bo.count, bo.noise, bo.means.shape) == (0, 0.05, (3, 9))
    assert np.array_equal(bo.means, np.zeros((3, 9)))
    assert np.array_equal(bo.variances, variance)
    rng = np.random.default_rng(0)
    rows: list[int] = []
    values = rng.normal(size=(40, 2))
    for t in range(40):  # past the room for 16 and for 32, every candidate several times
        rows.append(int(rng.integers(9)))
        bo.observe(rows[-1], values[t] if t % 2 else values[t].tolist())
        means, variances = solved(prior, rows, values[: t + 1], 0.05)
        np.testing.assert_allclose(bo.means, means, atol=1e-10)
        np.testing.assert_allclose(bo.variances, variances, atol=1e-10)
        assert bo.count == t + 1
    assert np.array_equal(variance, np.diag(prior)), "the caller's array stays as it was"
    assert FiniteGP(lambda k: prior[k], variance, 1).means.shape == (2, 9)
    assert FiniteGP(lambda k: prior[k], np.ones(2, int), 1).variances.dtype == np.float64


def test_certain_candidates_stay_certain() -> None:
    """With hardly any noise round-off must not make a variance negative, nor a pivot NaN."""
    bo = FiniteGP(lambda k: np.ones(2), np.ones(2), 1e-18)
    for _ in range(5):
        bo.observe(0, [2.0])
        assert (bo.variances >= 0.0).all()
    assert bo.means[1] == pytest.approx([2.0, 2.0])
    bo.variances[:] = -1e-9
    bo.observe(1, [2.0])
    assert np.isfinite(bo.means).all()


@pytest.mark.parametrize("t", [3, 20])
def test_loading_at_once_is_conditioning_one_by_one(t: int) -> None:
    prior, noise = prior_of(30), 0.01
    rng = np.random.default_rng(1)
    rows = rng.permutation(30)[:t]
    values = rng.normal(size=(t, 1))
    bo = FiniteGP(lambda k: prior[k], np.diag(prior), noise)
    bo.load(rows, prior[rows], np.linalg.cholesky(prior[np.ix_(rows, rows)] + noise * np.eye(t)), values)
    said, known = rows.tolist(), values[:, 0].tolist()
    for k in range(25):  # more come in one by one, past the room that was made
        means, variances = solved(prior, said, np.array(known)[:, None], noise)
        np.testing.assert_allclose(bo.means, means, atol=1e-9)
        np.testing.assert_allclose(bo.variances, variances, atol=1e-9)
        assert bo.count == t + k
        said.append(k)
        known.append(float(k % 5))
        bo.observe(k, [known[-1]])


def test_certain_candidates_stay_certain_when_loaded() -> None:
    bo = FiniteGP(lambda k: np.ones(2), np.full(2, 1.0 - 1e-12), 1e-18)
    bo.load(np.array([0]), np.ones((1, 2)), np.ones((1, 1)), np.ones((1, 1)))
    assert bo.variances.tolist() == [0.0, 0.0]


def test_draw_follows_matherons_rule() -> None:
    prior, noise = prior_of(8), 0.3
    bo = FiniteGP(lambda k: prior[k], np.diag(prior), noise)
    draw = np.random.default_rng(5).normal(size=8)
    assert np.array_equal(bo.sample(draw, [], np.empty(0), np.random.default_rng(0)), draw)
    rows, values = [4, 1, 4, 6], np.array([1.0, -2.0, 0.5, 3.0])
    for k, value in zip(rows, values, strict=True):
        bo.observe(k, [value])
    eps = np.random.default_rng(7).standard_normal(4)
    residual = values - draw[rows] - math.sqrt(noise) * eps
    expected = draw + prior[:, rows] @ np.linalg.solve(prior[np.ix_(rows, rows)] + noise * np.eye(4), residual)
    np.testing.assert_allclose(bo.sample(draw, rows, values, np.random.default_rng(7)), expected, atol=1e-10)
    factor = bo._factor(np.array(rows))
    np.testing.assert_allclose(factor, np.linalg.cholesky(prior[np.ix_(rows, rows)] + noise * np.eye(4)), atol=1e-10)
