"""Statistics against values worked out by hand, published ones and SciPy; how often they are wrong in simulations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hpo_envs.benchmarks.analysis import power, statistics, targets
from hpo_envs.benchmarks.analysis import statistics as s
from tests.helpers import raises


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
def test_signed_ranks_are_exact(differences: list[int]) -> None:
    d = np.array([x for x in differences if x], dtype=float)
    p = s.wilcoxon(differences)
    if not len(d):
        assert p == 1.0
        return
    ranks = stats.rankdata(np.abs(d))
    observed = abs(ranks[d > 0].sum() - ranks.sum() / 2)
    extreme = 0
    for code in range(2 ** len(d)):
        plus = sum(r for i, r in enumerate(ranks) if code >> i & 1)
        extreme += abs(plus - ranks.sum() / 2) >= observed - 1e-9
    assert p == pytest.approx(extreme / 2 ** len(d))


def test_signed_ranks_of_many_pairs_equal_scipys_approximation() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(0.2, 1, 60).round(1), rng.normal(0, 1, 60).round(1)
    expected = stats.wilcoxon(x, y, method="asymptotic", correction=False)
    assert s.wilcoxon(x - y) == pytest.approx(expected.pvalue, rel=1e-6)
    less = stats.wilcoxon(x, y, method="asymptotic", correction=False, alternative="less")
    assert s.wilcoxon(x - y, "less") == pytest.approx(less.pvalue, rel=1e-6)


def test_signed_ranks_on_one_side() -> None:
    # Of the 8 signs of three ranks, one is as low as ---, and two as low as +-- with the plus on the least.
    assert s.wilcoxon([-1.0, -2.0, -3.0], "less") == pytest.approx(1 / 8)
    assert s.wilcoxon([1.0, -2.0, -3.0], "less") == pytest.approx(2 / 8)
    assert s.wilcoxon([1.0, 2.0, 3.0], "less") == 1.0
    with pytest.raises(ValueError, match="differences must be finite"):
        s.wilcoxon([1.0, float("nan")])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=40))
def test_interquartile_mean_is_the_trimmed_mean(values: list[float]) -> None:
    assert float(s.iqm(values)) == pytest.approx(float(stats.trim_mean(values, 0.25)), abs=1e-9)


def test_aggregates_by_hand_and_against_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.gamma(2.0, size=60), 10.0 + rng.gamma(2.0, size=60)
    one = s.aggregates([a], draws=4000)
    for name, function in (("mean", np.mean), ("median", np.median), ("iqm", lambda v, axis: s.iqm(v))):
        ours = one[name]
        theirs = stats.bootstrap(
            (a,), function, n_resamples=4000, method="percentile", rng=np.random.default_rng(1)
        ).confidence_interval
        width = theirs.high - theirs.low
        assert ours[0] == pytest.approx(float(function(a, axis=-1)))
        assert ours[1:] == pytest.approx((theirs.low, theirs.high), abs=0.1 * width)
    # Strata keep the two environments apart: their distance of 10 adds nothing to the interval.
    mean, low, high = s.aggregates([a, b])["mean"]
    expected = 1.96 * np.sqrt((a.var() + b.var()) / 60) / 2
    assert (high - mean, mean - low) == pytest.approx((expected, expected), rel=0.12)
    assert [float(x) for x in s.band([a, b])] == pytest.approx([mean, low, high], abs=0.05)


def test_a_band_is_the_interval_of_each_point() -> None:
    rng = np.random.default_rng(1)
    curves = [rng.normal(size=(30, 4)), rng.normal(size=(20, 4))]
    mean, low, high = s.band(curves)
    for j in range(4):
        assert [mean[j], low[j], high[j]] == pytest.approx([float(x) for x in s.band([c[:, j] for c in curves])])
    with pytest.raises(ValueError, match="scores must be finite"):
        s.band([np.array([1.0, np.inf])])
    with pytest.raises(ValueError, match="at least one run each"):
        s.band([np.array([])])


def test_wilcoxon_against_scipy_and_without_differences() -> None:
    rng = np.random.default_rng(3)
    for n in (6, 12, 40, 300):
        d = rng.normal(0.3, 1.0, n)
        method = "exact" if n <= 15 else "asymptotic"
        assert s.wilcoxon([*d, 0.0]) == pytest.approx(stats.wilcoxon(d, method=method).pvalue)
    # All of 5 differences negative: 2 / 2**5 by counting signs.
    assert s.wilcoxon([-1.0, -2.0, -3.0, -4.0, -5.0, 0.0]) == pytest.approx(2 / 32)
    assert s.wilcoxon([0.0, 1e-16]) == 1.0


def test_holm_by_hand() -> None:
    assert s.holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert s.holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    # Rejects exactly where stepping down does: 0.01 < 0.05/3, 0.02 < 0.05/2, 0.06 > 0.05.
    assert (s.holm([0.02, 0.06, 0.01]) < 0.05).tolist() == [True, False, True]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=9), st.lists(st.integers(0, 4), min_size=1, max_size=9))
def test_probability_of_improvement_counts_pairs(a: list[int], b: list[int]) -> None:
    wins = [(x < y) + 0.5 * (x == y) for x in a for y in b]
    x, y = np.array(a, float), np.array(b, float)
    assert s.probability_of_improvement([x], [y]) == pytest.approx(np.mean(wins))
    assert s.probability_of_improvement([x, x], [y, x]) == pytest.approx((np.mean(wins) + 0.5) / 2)


def test_pairs_say_who_wins_by_how_much_and_how_sure() -> None:
    rng = np.random.default_rng(2)
    luck = rng.normal(size=(3, 20))
    base = 0.5 + 0.1 * luck + 0.02 * rng.normal(size=(3, 20))
    better = 0.4 + 0.1 * luck + 0.02 * rng.normal(size=(3, 20))
    missing = base.copy()
    missing[:, 15:] = np.nan
    found = {(p.a, p.b): p for p in s.pairs({"better": better, "base": base, "missing": missing})}
    p = found["better", "base"]
    assert p.verdict == "better"
    assert p.low < -0.1 < p.high
    assert p.p_holm >= p.p
    # Pairing removes the luck that both share: the interval is far narrower than of two independent samples.
    assert p.high - p.low < 0.25 * 2 * 1.96 * np.sqrt((base.var() + better.var()) / 60)
    same = found["base", "missing"]
    assert (same.verdict, same.difference, same.p) == ("tie", 0.0, 1.0)
    assert found["better", "missing"].verdict == "better"
    with pytest.raises(ValueError, match="must share a seed on every environment"):
        s.pairs({"a": np.array([[1.0, np.nan]]), "b": np.array([[np.nan, 1.0]])})


def test_expected_running_time_and_ecdf_by_hand() -> None:
    # Two of three runs met the target, after 5 and 10; the third spent 15 in vain.
    assert s.expected_runtime([5, 10, 15], [True, True, False]) == 15.0
    assert s.expected_runtime([5, 10], [False, False]) == float("inf")
    assert s.ecdf([1.0, 2.0, np.inf, 4.0], [0.5, 1.0, 3.0, 100.0]).tolist() == [0.0, 0.25, 0.5, 0.75]


def test_attainment_by_hand() -> None:
    sets = [np.array([[1.0, 5.0], [3.0, 2.0]]), np.array([[2.0, 4.0]]), np.array([[4.0, 1.0]])]
    grid = [1.0, 2.0, 3.0, 4.0, 5.0]
    none = -np.inf
    # Best second reward by run: (5, 2, 2, -, -), (4, 4, -, -, -), (1, 1, 1, 1, -).
    assert targets.attainment(sets, grid, 0.5).tolist() == [4.0, 2.0, 1.0, none, none]
    assert targets.attainment(sets, grid, 1.0).tolist() == [1.0, 1.0, none, none, none]
    assert targets.attainment(sets, grid, 0.3).tolist() == [5.0, 4.0, 2.0, 1.0, none]


@pytest.mark.parametrize(("environments", "seeds"), [(1, 20), (6, 20)])
def test_two_identical_agents_are_called_a_tie(environments: int, seeds: int) -> None:
    assert power.called(1000, environments, seeds, 0.0) <= 0.05


def test_any_of_several_identical_agents_stands_out_as_rarely() -> None:
    # 5 % of studies, and two standard errors of 200 of them.
    assert power.called(200, 6, 20, 0.0, agents=4) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)


def test_a_true_difference_is_found_with_the_stated_power() -> None:
    # `python -m hpo_envs.benchmarks.analysis.power` prints the whole table.
    assert power.called(200, 6, 20, 0.5) >= 0.9
    assert power.called(200, 6, 100, 0.2) >= 0.85


NAN = float("nan")


def test_bootstrap_is_these_numbers() -> None:
    """Tables of results depend on them."""
    values = [1.0, 2.0, 4.0, 8.0]
    low, high = statistics.bootstrap_interval(values)
    assert (low, high) == (1.5, 6.5)
    assert statistics.bootstrap_interval(values, 0.5) == (2.75, 4.75)
    assert statistics.bootstrap_interval(values, seed=1, draws=50) == (1.6125000000000005, 6.887499999999999)
    assert statistics.bootstrap_interval([3]) == (3.0, 3.0)
    assert statistics.bootstrap_interval(["1", "1"]) == (1.0, 1.0)
    irregular = np.sqrt(np.arange(2.0, 20.0))
    assert statistics.bootstrap_interval(irregular) == statistics.bootstrap_interval(irregular, 0.95, 2000, 0)
    assert statistics.bootstrap_interval(irregular) != statistics.bootstrap_interval(irregular, seed=1)
    with raises("values must be finite and at least one, got array([], dtype=float64)"):
        statistics.bootstrap_interval([])
    with raises("values must be finite and at least one, got array([ 1., nan])"):
        statistics.bootstrap_interval([1.0, NAN])
