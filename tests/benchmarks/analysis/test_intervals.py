"""Intervals and p-values compared with SciPy where it has them, and with the formulas by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hpo_envs.benchmarks.analysis import intervals, significance
from tests.helpers import raises

NAN = float("nan")


def symmetric(rng: np.random.Generator, *size: int) -> intervals.Floats:
    """Values without skewness around a random mean, in an order that differs between environments."""
    half = rng.standard_normal((*size[:-1], size[-1] // 2))
    both = np.concatenate([half, -half], axis=-1) + rng.standard_normal((*size[:-1], 1))
    return rng.permuted(both, axis=-1)


def test_one_environment_without_skewness_gives_a_t_test() -> None:
    d = symmetric(np.random.default_rng(0), 1, 12)
    e = intervals.fixed_tasks(d)
    ours, theirs = e, stats.ttest_1samp(d[0], 0)
    assert float(ours.p) == pytest.approx(theirs.pvalue)
    interval = theirs.confidence_interval()
    assert ([float(ours.low), float(ours.high)], float(ours.df)) == (pytest.approx([interval.low, interval.high]), 11)


def test_two_environments_have_the_degrees_of_freedom_of_welch() -> None:
    rng = np.random.default_rng(3)
    a, b = symmetric(rng, 1, 8)[0], 4 * symmetric(rng, 1, 14)[0]
    # The mean of m_1 and m_2 is half of their difference if the second environment changes its sign. The seeds of the
    # second are others, so that none is shared.
    d = np.full((2, 22), NAN)
    d[0, :8], d[1, 8:] = a, -b
    welch = stats.ttest_ind(a, b, equal_var=False)
    e = intervals.fixed_tasks(d)
    assert (float(e.df), float(e.p)) == (pytest.approx(welch.df), pytest.approx(welch.pvalue))
    assert float(e.mean) == pytest.approx((a.mean() - b.mean()) / 2)


@given(st.floats(-6, 6), st.floats(-2, 2))
def test_halls_transformation_and_its_inverse(t: float, g: float) -> None:
    x = intervals._hall(np.float64(t), np.float64(g))
    assert float(intervals._inverse(x, np.float64(g))) == pytest.approx(t, abs=1e-3)


def test_skewness_widens_one_side_only() -> None:
    d = np.random.default_rng(1).exponential(1.0, (1, 30))
    e, plain = intervals.fixed_tasks(d), stats.ttest_1samp(d[0], 0).confidence_interval()
    assert float(e.low) == pytest.approx(plain.low)
    assert float(e.high) > plain.high
    n, c = 30, d[0] - d.mean()
    variance = d[0].var(ddof=1) / n
    g = (c**3).sum() / ((n - 1) * (n - 2) * n) / variance**1.5
    assert g == pytest.approx(stats.skew(d[0], bias=False) / np.sqrt(n))
    q = stats.t.ppf(0.975, n - 1)
    inverse = 3 / g * (np.cbrt(1 + g * (-q - g / 6)) - 1)
    assert float(e.high) == pytest.approx(d.mean() - np.sqrt(variance) * inverse)


@pytest.mark.parametrize("runs", [1, 2, 5, 20])
def test_without_spread_only_the_number_of_runs_counts(runs: int) -> None:
    e = intervals.fixed_tasks(np.full((1, runs), -0.25))
    assert float(e.p) == (2.0 ** (1 - runs) if runs > 1 else 1.0)
    assert np.isnan([e.low, e.high]).all()
    assert float(intervals.fixed_tasks(np.zeros((1, runs))).p) == 1.0
    assert float(intervals.fixed_tasks(np.full((1, 5), 0.1) + 0.2 - 0.3).p) == 1.0
    many = intervals.across_tasks(np.full((runs, 3), -0.25))
    assert float(many.p) == (2.0 ** (1 - runs) if runs > 1 else 1.0)


def test_rounding_errors_are_no_spread() -> None:
    # A third of every run, computed in another order: the differences are rounding.
    d = np.array([[1e-17, 1e-17, 2e-17, 1e-17, 1e-17]])
    e = intervals.fixed_tasks(d)
    assert float(e.p) == 1.0
    assert np.isnan(e.low)


def test_seeds_that_were_not_run_do_not_count() -> None:
    rng = np.random.default_rng(2)
    d = rng.standard_normal((3, 6))
    padded = np.full((3, 9), NAN)
    padded[:, [0, 2, 3, 5, 6, 8]] = d
    for estimate in (intervals.fixed_tasks, intervals.across_tasks):
        a, b = estimate(d), estimate(padded)
        assert [float(x) for x in (a.mean, a.low, a.high, a.p)] == pytest.approx(
            [float(x) for x in (b.mean, b.low, b.high, b.p)]
        )
    short = padded.copy()
    short[1, 2:] = NAN
    assert float(intervals.fixed_tasks(short).p) == 1.0  # one run on an environment has no variance
    assert np.isnan(intervals.fixed_tasks(short).low)
    assert np.isfinite(intervals.across_tasks(short).low)


def test_leading_axes_are_treated_alike() -> None:
    d = np.random.default_rng(4).standard_normal((3, 2, 4, 6)) ** 3
    for estimate in (intervals.fixed_tasks, intervals.across_tasks):
        together = estimate(d)
        for i in np.ndindex(3, 2):
            alone = estimate(d[i])
            assert float(together.p[i]) == pytest.approx(float(alone.p))
            assert float(together.low[i]) == pytest.approx(float(alone.low))


def test_environments_are_a_sample_across_tasks() -> None:
    means = np.random.default_rng(5).standard_normal(7)
    # Seed s is lucky on some environments and unlucky on as many others, so that none is lucky on the whole.
    d = means[:, None] + np.array([(-1.0) ** (e + np.arange(8)) for e in range(7)])
    e, t = intervals.across_tasks(d), stats.ttest_1samp(means, 0)
    assert (float(e.p), float(e.df)) == (pytest.approx(t.pvalue), pytest.approx(6))


def test_variance_shared_by_all_environments_counts() -> None:
    rng = np.random.default_rng(7)
    luck = rng.standard_normal((1, 20))
    d = luck + 0.1 * rng.standard_normal((6, 20))
    block = d.mean(axis=0).var(ddof=1) / 20
    e = intervals.fixed_tasks(d)
    assert (float(e.se) ** 2, float(e.df)) == (pytest.approx(block), 19)
    within = (d.var(axis=1, ddof=1) / 20).sum() / 36
    assert float(intervals.across_tasks(d).se) ** 2 == pytest.approx(d.mean(axis=1).var(ddof=1) / 6 + block - within)


def test_each_cluster_is_one_observation() -> None:
    means = np.array([1.0, 3.0, 5.0, 2.0, 4.0])
    d = means[:, None] + np.array([-1.0, 1.0, 0.0, 0.0])
    e = intervals.across_tasks(
        np.array([row[np.argsort((i + np.arange(4)) % 4)] for i, row in enumerate(d)]), (0, 0, 1, 2, 2)
    )
    grouped = np.array([2.0, 5.0, 3.0])
    assert float(e.mean) == pytest.approx(grouped.mean())
    assert float(e.se) ** 2 >= grouped.var(ddof=1) / 3 - 1e-12
    one = intervals.across_tasks(d, (0, 0, 0, 0, 0))
    assert np.isnan(one.low)
    assert float(one.p) == 1.0
    with raises("groups must be one label for each environment (5), got 2"):
        intervals.across_tasks(d, (0, 1))


def test_weights_of_clusters_are_those_of_the_mean() -> None:
    m = np.random.default_rng(8).standard_normal(5)
    labels = ("b", "a", "b", "c", "b")
    assert float(intervals._weights(5, labels) @ m) == pytest.approx(float(intervals.grouped(m, labels).mean()))


def test_holm_correction_equals_values_by_hand() -> None:
    assert significance.holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert significance.holm([[0.6, 0.7], [0.5, 0.001]]).tolist() == [[1.0, 1.0], [0.5, 0.002]]


def test_sole_winner_needs_no_correction_and_its_rivals_do() -> None:
    sole, as_well = significance.leader([0.04, 0.04, 0.04])
    assert bool(sole)
    assert not as_well.any()
    sole, as_well = significance.leader([[0.04, 0.04, 0.06], [0.001, 0.01, 0.2]])
    assert (sole.tolist(), as_well.tolist()) == ([False, False], [[True, True, True], [False, False, True]])


@pytest.mark.parametrize("bad", [[1.0, 2.0], [[]], [[1.0, float("inf")]]])
def test_invalid_differences_are_rejected(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="differences must be"):
        intervals.fixed_tasks(bad)
