"""The stacked Gaussian process against dense algebra."""

import numpy as np
import numpy.typing as npt
import pytest

from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.models.gp import stacked
from hpo_envs.agents.models.gp.stacked import LENGTHS, START, StackedGP, Tables

RNG = np.random.default_rng(0)
N, D, J, T = 14, 3, 4, 6
X = RNG.random((N, D))
CORRELATIONS = np.stack([stacked.correlations(X, k, stacked.length_scales(D, None)) for k in range(N)], axis=1)


def tables(episodes: int) -> Tables:
    p = RNG.normal(size=(episodes, J, N))
    p = (p - p.mean(axis=2, keepdims=True)) / p.std(axis=2, keepdims=True)
    used = np.ones((episodes, J), bool)
    used[-1, -1] = False
    return Tables(p, RNG.random((episodes, J)), used, np.ones((episodes, N), bool))


def numbers(models: int) -> npt.NDArray[np.float64]:
    moved = np.array([*START.values()]) + 0.3 * RNG.normal(size=(models, len(START)))
    moved[:, [*START].index("similarity")] = np.arange(models) * 2.0
    return np.asarray(moved)


def columns(rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    return np.moveaxis(CORRELATIONS[:, rows], 0, 2)


@pytest.mark.parametrize("capacity", [2, 16])
def test_stacked_posteriors_equal_dense_algebra(capacity: int) -> None:
    theta, given = numbers(2), tables(3)
    model = StackedGP(theta, given, columns, capacity)
    y = RNG.normal(size=(2, 3, T))
    rows = np.stack([[RNG.permutation(N)[:T] for _ in range(3)] for _ in range(2)])
    for t in range(T):
        model.observe(rows[..., t])
    means, scales, weights, best = model.predict(y)
    logs = model.log_improvement(y, 0.25)
    for p, e in np.ndindex(2, 3):
        at, r = dict(zip(START, theta[p], strict=True)), rows[p, e]
        j = given.used[e]
        w = np.exp(-at["similarity"] * given.distances[e][j])
        w /= w.sum()
        raw = w @ given.predictions[e][j]
        m, deviations = (raw - raw.mean()) / raw.std(), given.predictions[e][j] - (raw - raw.mean())
        np.testing.assert_allclose(model.expected[p, e], m, atol=1e-9)
        z = stacked.standardised(y[p, e])
        shared = np.exp(at["log constant"]) + np.exp(at["log expectation"]) * np.outer(m, m)
        shared = shared + np.exp(at["log deviations"]) * (deviations.T * w) @ deviations
        evidence, gains = [], []
        for g in range(LENGTHS):
            k = shared + np.exp(at["log matern"]) * CORRELATIONS[g]
            c = k[np.ix_(r, r)] + np.exp(at["log noise"]) * np.eye(T)
            solve, mean, strength = np.linalg.inv(c), at["slope"] * m, np.exp(at["log strength"])

            def log_density(q: float) -> float:
                u = q * z - mean[r]  # noqa: B023
                return float((T + 2 * strength) * np.log(q) - 0.5 * u @ solve @ u - strength * q * q)  # noqa: B023

            q = scales[p, e, g]
            assert log_density(q) >= max(log_density(q * 1.01), log_density(q / 1.01))
            expected = mean + k[:, r] @ solve @ (q * z - mean[r])
            np.testing.assert_allclose(means[p, e, g], expected, atol=1e-8)
            variance = np.diag(k - k[:, r] @ solve @ k[r])
            np.testing.assert_allclose(model.variance[p, e, g], variance, atol=1e-8)
            evidence.append(log_density(q) - 0.5 * np.linalg.slogdet(c)[1] + at[f"log weight {g}"])
            deviation = np.sqrt(variance) * np.exp(at["log deviation"] + 0.25 * at["log deviation, early"])
            gap = expected - q * z.max() - at["incumbent"] - 0.25 * at["incumbent, early"]
            gains.append(expected_improvement(gap, deviation, 0.0) / q)
            assert best[p, e, g] == pytest.approx(q * z.max())
        share = np.exp(np.array(evidence) - max(evidence))
        share /= share.sum()
        np.testing.assert_allclose(weights[p, e], share, atol=1e-8)
        np.testing.assert_allclose(logs[p, e], np.log(np.maximum(share @ np.array(gains), 1e-300)), atol=1e-5)


def test_means_are_in_the_unit_of_the_rewards() -> None:
    theta, given = numbers(1), tables(1)
    theta[:, [*START].index("log noise")] = -14.0
    model = StackedGP(theta, given, columns)
    y = np.array([[[30.0, 31.0, 34.0, 32.0]]])
    for k in (0, 3, 5, 6):
        model.observe(np.array([[k]]))
    np.testing.assert_allclose(model.expected_rewards(y)[0, 0, [0, 3, 5, 6]], y[0, 0], atol=0.05)


def test_a_failed_training_does_not_set_the_scale() -> None:
    assert stacked.robust(np.array([1.0, 90.0, 91.0, 92.0, 93.0]))[0] == pytest.approx(91.0 - 1.5 * 2.0)
    np.testing.assert_array_equal(stacked.standardised(np.full(4, 7.3)), np.zeros(4))


def test_tables_with_similar_spaces_count_more() -> None:
    p = np.array([[[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]]])
    given = Tables(p, np.array([[0.1, 0.4]]), np.ones((1, 2), bool), np.ones((1, 4), bool))
    equal, near = given.expected(np.array([0.0, 100.0]))[0][:, 0]
    np.testing.assert_allclose(near, p[0, 0], atol=1e-6)
    np.testing.assert_allclose(equal, np.array([1.0, 0.0, 0.0, -1.0]) * np.sqrt(2.0))
    assert (stacked.distance(X, X), stacked.distance(X + 0.3, X)) == (0.0, pytest.approx(0.3))
