"""Exact random search: against all orders of small tables."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.agents.models.acquisition import pareto_front
from hpo_envs.benchmarks.comparison import targets
from hpo_envs.benchmarks.papers import random_search


def _moments(exact: random_search.Exact, values: list[float]) -> None:
    assert exact.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert exact.std == pytest.approx(np.std(values), abs=1e-6)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.integers(1, 5), st.integers(1, 4))
def test_targets_of_one_objective_equal_all_orders(values: list[int], budget: int, least: int) -> None:
    budget = min(budget, len(values))
    exact = random_search.of_values(values, 1.0, budget, least)
    orders = list(itertools.permutations(values))
    best = float(max(values))
    _moments(exact["ftb"], [max(least, targets.ftb(o, best)) for o in orders])
    _moments(exact["ftc"], [max(least, targets.ftc(o, best, 1.0)) for o in orders])
    _moments(exact["fb"], [targets.fb(o, best, budget) for o in orders])


@settings(max_examples=40)
@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5), st.integers(1, 4))
def test_targets_of_two_objectives_equal_all_orders(found: set[tuple[int, int]], least: int) -> None:
    points = np.array(sorted(found), dtype=float)
    front = points[pareto_front(points)]
    orders = [points[list(o)] for o in itertools.permutations(range(len(points)))]
    exact = random_search.of_points(points, 2, least)
    _moments(exact["fto"], [max(least, targets.fto(o, front)) for o in orders])
    _moments(exact["fta"], [max(least, targets.fta(o, front)) for o in orders])
    _moments(exact["fbp"], [targets.fbp(o, front, 2) for o in orders])


def test_selected_reports_draw_with_best_criterion() -> None:
    criterion, values = np.array([3.0, np.nan, 2.0, 5.0, 4.0]), np.array([10.0, 40.0, 20.0, 30.0, 50.0])
    rows = [0, 1, 2, 2, 3]
    draws = {0: [0], 1: [1], 2: [2, 3], 3: [4]}
    known = np.nan_to_num(criterion, nan=-1.0)
    for b in (1, 2, 3, 4):
        found = [
            np.mean([values[max(d, key=lambda i: known[i])] for d in itertools.product(*(draws[r] for r in s))])
            for s in itertools.combinations(range(4), b)
        ]
        assert random_search.selected(criterion, values, rows, b) == pytest.approx(np.mean(found))


def test_impossible_targets_are_rejected() -> None:
    with pytest.raises(ValueError, match="wanted must be in 1 to 5"):
        random_search.first_of(5, 6)
