"""The generalised likelihood ratio against minimisers."""

import math

import numpy as np
import pytest

from hpo_envs.agents.bandits.best_arm import Belief
from hpo_envs.agents.bandits.glr import likelihood_ratio, transport


def believed(log: list[list[float]]) -> Belief:
    b = Belief(len(log))
    for arm, values in enumerate(log):
        for value in values:
            b.add(arm, value)
    return b


def test_transport_against_minimiser() -> None:
    from scipy.optimize import minimize_scalar

    rng = np.random.default_rng(8)
    b = believed([rng.normal(m, s, n).tolist() for m, s, n in ((0, 1, 4), (1, 3, 9), (2, 0.5, 20), (1.9, 2, 5))])
    for leader in range(4):
        cost = transport(b, leader)
        for j in range(4):
            if j == leader:
                assert cost[j] == np.inf
                continue
            if b.means[j] >= b.means[leader]:
                assert cost[j] == 0.0
                continue
            pair, variances = [j, leader], b.squares / b.counts
            best = min(
                minimize_scalar(
                    lambda u, pair=pair, variances=variances: sum(
                        b.counts[k] / 2 * math.log1p((b.means[k] - u) ** 2 / variances[k]) for k in pair
                    ),
                    bounds=bounds, method="bounded", options={"xatol": 1e-12},
                ).fun
                for bounds in np.lib.stride_tricks.sliding_window_view(np.linspace(*sorted(b.means[pair]), 20), 2)
            )  # fmt: skip
            assert best <= cost[j] <= best * 1.0005
    assert likelihood_ratio(b) == transport(b, int(b.means.argmax())).min()
    assert type(likelihood_ratio(b)) is float


def test_transport_is_these_numbers() -> None:
    """Stopping times depend on them."""
    b = believed([[0.0, 1.0, 2.0], [2.0, 3.0, 5.5, 4.0], [3.0, 3.5, 3.25]])
    assert transport(b, 1).tolist() == pytest.approx([3.07290682432145, np.inf, 0.1568807747617765], rel=1e-12)
    b = believed([[0.1, 0.7, 0.2], [2.0, 3.1, 5.5, 4.0], [3.0, 3.7, 3.25], [-9.0, 4.4, 2.0, 1.0], [3.6, 3.5, 3.4]])
    assert transport(b, 1).tolist() == pytest.approx(
        [4.069012831640255, np.inf, 0.12324463382326462, 0.9432420876626971, 0.027068689892983402], rel=1e-12
    )


def test_arms_without_deviation_cost_much_but_not_nan() -> None:
    b = believed([[1.0] * 3, [5.0] * 3, [5.0] * 3])
    cost = transport(b, 1)
    assert cost[1] == np.inf
    assert cost[2] == 0.0
    # Both variances are (1e-9 of the range of means)^2: T log(1 + 1/4 * 1e18) at the half, less at the ends.
    assert cost[0] == pytest.approx(1.5 * math.log1p(1e18), rel=1e-3)
    # Where the scores are large, a millionth of them stands in for their range.
    cost = transport(believed([[1e6] * 3, [1e6 + 0.1] * 3]), 1)
    assert cost[0] == pytest.approx(1.5 * math.log1p(1e16), rel=1e-3)
    same = transport(believed([[2.0] * 3, [2.0] * 3]), 0)
    assert same.tolist() == [np.inf, 0.0]
    assert transport(believed([[0.0] * 3, [0.0] * 3]), 0).tolist() == [np.inf, 0.0]
