"""Gaussian processes averaged over random length-scales."""

import numpy as np
import pytest

from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.models.gp import averaged
from hpo_envs.agents.models.gp.averaged import AveragedGP, length_scales
from hpo_envs.agents.models.gp.kernels import of_square_distances, square_distances


def test_posteriors_are_evidence_weighted_means_of_dense_ones_in_episodes_of_any_width() -> None:
    rng, n, widths, t = np.random.default_rng(0), 30, np.array([3, 7]), 11
    x = np.zeros((2, n, 7))
    for e, width in enumerate(widths):
        x[e, :, :width] = rng.random((n, width))
    rows, z = np.stack([rng.permutation(n)[:t] for _ in widths]), rng.standard_normal((2, t))
    gp = AveragedGP(x, widths)
    for k in range(t):  # beyond the room that there is at first
        gp.observe(rows[:, k])
    means, deviations, gains = gp.posteriors(z)
    for e, width in enumerate(widths):
        log, mean, variance = [], [], []
        for scale in length_scales(int(width)):
            a = x[e, :, :width] / scale
            k = of_square_distances("matern52", square_distances(a, a)) + averaged.CONSTANT
            seen = k[np.ix_(rows[e], rows[e])] + averaged.NOISE_VARIANCE * np.eye(t)
            solved = np.linalg.solve(seen, k[rows[e]])
            mean.append(z[e] @ solved)
            variance.append(k.diagonal() - (k[rows[e]] * solved).sum(axis=0))
            log.append(-0.5 * z[e] @ np.linalg.solve(seen, z[e]) - 0.5 * np.linalg.slogdet(seen)[1])
        m, v, w = np.array(mean), np.array(variance), np.exp(np.array(log) - max(log))
        gain, start = expected_improvement(m, np.sqrt(v), z[e].max()), 0
        for i, count in enumerate(averaged.KINDS.values()):
            at = slice(start, start := start + count)
            share = w[at] / w[at].sum()
            np.testing.assert_allclose(means[i, e], share @ m[at], atol=2e-3)
            np.testing.assert_allclose(deviations[i, e] ** 2, share @ v[at], atol=2e-3)
            np.testing.assert_allclose(gains[i, e], share @ gain[at], atol=2e-3)
        np.testing.assert_allclose(gains[-1, e], w / w.sum() @ gain, atol=2e-3)


def test_typicality_is_standardised_and_largest_where_candidates_are_dense() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([0.5 + 0.02 * rng.standard_normal((20, 2)), rng.random((10, 2)), np.zeros((5, 2))])[None]
    valid = (np.arange(35) < 30)[None]
    found = AveragedGP(x, np.array([2])).typicality(valid)[0]
    assert found[:20].min() > found[20:30].mean()
    assert (found[:30].mean(), found[:30].std()) == (pytest.approx(0.0, abs=1e-5), pytest.approx(1.0, abs=1e-4))
    assert not found[30:].any()
