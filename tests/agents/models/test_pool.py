"""Costs, pools of candidates and sources."""

import dataclasses

import numpy as np
import pytest

from hpo_envs.agents import candidates as pool
from hpo_envs.agents.models.source import Source
from hpo_envs.agents.search.posterior_search import CostModel

X = np.linspace(0.0, 1.0, 100)[:, None]
FREE = np.ones(100, bool)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools of two incumbents with four neighbours each, and three random candidates."""
    for name, value in (("INCUMBENTS", 2), ("NEIGHBOURS", 4), ("RANDOM", 3)):
        monkeypatch.setattr(pool, name, value)


def test_neighbours_of_best_and_random_ones_are_scored() -> None:
    near = [*range(48, 53), *range(8, 13)]
    for seed in range(5):
        drawn = pool.CandidatePool(X).draw(
            [90, 50, 10, 50], np.array([0.0, 2.0, 1.0, 1.5]), FREE, np.random.default_rng(seed)
        )
        assert sorted(set(drawn)) == drawn.tolist()
        assert set(near) <= set(drawn)
        assert len(near) < len(drawn) <= len(near) + 3


def test_random_ones_are_free_and_as_many_as_there_are() -> None:
    free = FREE.copy()
    free[2:] = False
    drawn = pool.CandidatePool(X).draw([50], np.array([1.0]), free, np.random.default_rng(0))
    assert drawn.tolist() == [0, 1, *range(48, 53)]


def test_neighbours_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    nearest = pool.CandidatePool._nearest
    monkeypatch.setattr(pool.CandidatePool, "_nearest", lambda self, k: looked.append(k) or nearest(self, k))
    candidates = pool.CandidatePool(X)
    rng = np.random.default_rng(0)
    for rows in ([5], [5, 60], [5, 60, 7]):
        candidates.draw(rows, np.arange(len(rows), dtype=float), FREE, rng)
    assert looked == [5, 60, 7]
    assert list(candidates._near) == [7, 60], "what is no incumbent any more is forgotten"


PAID = np.random.default_rng(0).random((60, 2))
COSTS = 100.0 * np.exp(3.0 * PAID[:, 0])


def test_costs_are_predicted_where_nothing_was_evaluated() -> None:
    model = CostModel(PAID)
    for row in range(12):
        model.observe(row, COSTS[row])
    expected = model.expected()
    assert np.abs(np.log(expected[12:] / COSTS[12:])).max() < 0.4
    np.testing.assert_allclose(model.expected(np.array([3, 40])), expected[[3, 40]], rtol=1e-3)


def test_unit_of_costs_does_not_matter() -> None:
    seconds, hours = CostModel(PAID), CostModel(PAID)
    for row in range(8):
        seconds.observe(row, COSTS[row])
        hours.observe(row, COSTS[row] / 3600.0)
    assert seconds.expected() == pytest.approx(3600.0 * hours.expected(), rel=1e-6)


@pytest.mark.parametrize("costs", [[], [5.0], [1.0, 1.0, 1.0], [0.0, 2.0, 0.0]])
def test_all_candidates_cost_the_same_until_costs_differ(costs: list[float]) -> None:
    model = CostModel(PAID)
    for row, cost in enumerate(costs):
        model.observe(row, cost)
    assert (model.expected() == 1.0).all()


ONE = Source("x", np.eye(3), np.zeros((3, 1)), np.ones(3), ("a", "b", "c"))


def test_arrays_agree_and_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="must be equally long, got \\(2, 3, 2\\)"):
        Source("x", np.zeros((2, 1)), np.zeros((3, 1)), np.zeros(2))
    with pytest.raises(ValueError, match="read-only"):
        ONE.features[0, 0] = 2.0


def test_columns_are_found_by_name() -> None:
    assert ONE.shared(("c", "z", "a")) == ([0, 2], [2, 0])
    kept = ONE.with_columns([0, 2], ("a", "z"))
    assert (kept.feature_names, kept.features.tolist()) == (("a",), [[1.0], [0.0], [0.0]])
    assert not ONE.with_columns([1, 2], ("b", "c")).feature_names
    same = dataclasses.replace(ONE, feature_names=())
    assert same.shared(("a", "b", "c")) == ([0, 1, 2], [0, 1, 2])
    assert same.with_columns([2], ("c",)).features[:, 0].tolist() == [0.0, 0.0, 1.0]
