"""The mixture of Gaussian processes against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.agents.models.mixture import CONSTANT, Family, Hypotheses, MixturePosterior, basis

FAMILY = Family(np.array([0.5, 2.0, 1.0]), np.linspace(-1.0, 1.0, 10))


def candidates(n: int = 30, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, d)).round(2)


@pytest.mark.parametrize("family", [None, FAMILY], ids=["generic", "family"])
def test_posterior_is_that_of_dense_algebra(family: Family | None) -> None:
    x, rng = candidates(), np.random.default_rng(1)
    h = Hypotheses(x, family)
    assert len(h) == (6 if family is None else 8)
    posterior = MixturePosterior(h, 2, capacity=2)
    rows = np.array([[3, 9, 3, 20, 7], [1, 2, 4, 8, 16]])  # one candidate twice
    for t in range(5):
        posterior.observe(rows[:, t])
    z = rng.normal(size=(2, 5))
    means, variances, weights = posterior.predict(z)
    gram = h.gram()
    for r in range(2):
        log = np.empty(len(h))
        for g in range(len(h)):
            k = gram[g][np.ix_(rows[r], rows[r])] + h.noise[g] * np.eye(5)
            cross, prior = gram[g][:, rows[r]], h.slope[g] * h.expectation
            e = z[r] - prior[rows[r]]
            scale, shape = 0.5 * e @ np.linalg.solve(k, e) + 1.0, 3.5
            assert np.allclose(means[g, r], prior + cross @ np.linalg.solve(k, e))
            exact = np.diag(gram[g]) - np.einsum("ij,ji->i", cross, np.linalg.solve(k, cross.T))
            assert np.allclose(variances[g, r], exact * scale / shape, atol=1e-8)
            log[g] = h.log_weight[g] - 0.5 * np.linalg.slogdet(k)[1] - shape * np.log(scale)
        expected = np.exp(log - log.max())
        assert np.allclose(weights[:, r], expected / expected.sum())
    assert np.allclose(gram.diagonal(axis1=1, axis2=2), h.variance)


def test_hypotheses_cover_what_is_said_of_them() -> None:
    x = candidates()
    gram = Hypotheses(x, FAMILY).gram() - CONSTANT
    same = x.copy()
    same[:, 1] = 0.7  # what does not matter may be anything
    assert np.allclose(gram[4], Hypotheses(same, FAMILY).gram()[4] - CONSTANT)
    assert not np.allclose(gram[3], Hypotheses(same, FAMILY).gram()[3] - CONSTANT)
    assert len(Hypotheses(candidates(d=9), None)) == 3
    assert abs(FAMILY.expectation(x).mean()) < 1e-12
    assert FAMILY.expectation(x).std() == pytest.approx(1.0)
    assert basis(x).shape == (30, 10)
