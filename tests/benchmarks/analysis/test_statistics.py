"""Statistics compared with values by hand, published ones and SciPy; error rates in simulations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.benchmarks.analysis import statistics as s


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=9), st.lists(st.integers(0, 4), min_size=1, max_size=9))
def test_probability_of_improvement_counts_pairs(a: list[int], b: list[int]) -> None:
    wins = [(x < y) + 0.5 * (x == y) for x in a for y in b]
    scores = np.full((2, 2, 9), np.nan)
    scores[0, :, : len(a)], scores[1, 0, : len(b)], scores[1, 1, : len(a)] = a, b, a
    found = s.probability_of_improvement(scores)
    assert found[0, 1] == pytest.approx((np.mean(wins) + 0.5) / 2)
    assert found + found.T == pytest.approx(np.ones((2, 2)))
    assert s.probability_of_improvement(scores[:, :1])[0, 1] == pytest.approx(np.mean(wins))


NAN = float("nan")


def test_interquartile_mean_by_hand() -> None:
    assert float(s.iqm([100, 1, 2, 3, -100, 6, 7, 8])) == 4.5  # without the two lowest and the two highest
    assert float(s.iqm([5, 1, 3])) == 3.0  # a quarter of three is none
    assert (float(s.iqm([9, 1, 3, 100])), s.iqm([[1, 2, 3, 50], [4, 0, 0, 9]]).tolist()) == (6.0, [2.5, 2.0])


def test_running_times_and_shares_by_hand() -> None:
    assert s.expected_runtime([3, 4, 5], [True, False, True]) == 6.0
    assert type(s.expected_runtime([3], [True])) is float
    assert s.expected_runtime([3, 4], [0, 0]) == float("inf")
    assert s.ecdf([[3.0, 1.0], [np.inf, 1.0]], ["1", "2.9", "3", "inf"]).tolist() == [0.5, 0.5, 0.75, 1.0]
    assert s.ecdf(["1", "10", "9"], [9.5]).tolist() == pytest.approx([2 / 3])
