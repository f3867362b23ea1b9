"""Expected costs: learned from what was paid, in factors."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.agents.models.costs import CostModel

X = np.random.default_rng(0).random((60, 2))
COSTS = 100.0 * np.exp(3.0 * X[:, 0])


def test_costs_are_predicted_where_nothing_was_paid() -> None:
    model = CostModel(X)
    for row in range(12):
        model.observe(row, COSTS[row])
    expected = model.expected()
    assert np.abs(np.log(expected[12:] / COSTS[12:])).max() < 0.4
    np.testing.assert_allclose(model.expected(np.array([3, 40])), expected[[3, 40]], rtol=1e-3)


def test_the_unit_of_costs_does_not_matter() -> None:
    seconds, hours = CostModel(X), CostModel(X)
    for row in range(8):
        seconds.observe(row, COSTS[row])
        hours.observe(row, COSTS[row] / 3600.0)
    assert seconds.expected() == pytest.approx(3600.0 * hours.expected(), rel=1e-6)


@pytest.mark.parametrize("costs", [[], [5.0], [1.0, 1.0, 1.0], [0.0, 2.0, 0.0]])
def test_all_candidates_cost_the_same_until_costs_differ(costs: list[float]) -> None:
    model = CostModel(X)
    for row, cost in enumerate(costs):
        model.observe(row, cost)
    assert (model.expected() == 1.0).all()
