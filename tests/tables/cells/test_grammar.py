"""Cells as sequences of actions."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings

from hpo_envs import benchmarks
from hpo_envs.tables import cells
from tests.tables.cells.helpers import SEEDS, drawn


def make(**kwargs: Any) -> Any:
    return gym.make("NASBenchNLP-cell-v0", **{**kwargs}).unwrapped


def test_mutation_is_a_valid_other_cell_and_seeded() -> None:
    problem = benchmarks.problem_of(make())
    first = problem.mutate(None, np.random.default_rng(0))
    a, b = (problem.mutate(first, np.random.default_rng(1)) for _ in range(2))
    assert np.array_equal(a, b)
    assert cells.key(cells.cell_of(a)) != cells.key(cells.cell_of(first))
    with pytest.raises(ValueError, match=r"actions must be ints of shape \(steps, 4\)"):
        cells.cell_of(np.zeros(4, int))


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_actions_build_the_cell_that_they_are_of(seed: int) -> None:
    cell = drawn(seed)
    if all(len(inputs) <= 3 for _, inputs in cell.nodes):
        assert cells.key(cells.cell_of(cells.actions_of(cell))) == cells.key(cell)


@pytest.mark.parametrize("actions", [[], [[7, 5, 0]], [[7.0, 5.0, 0.0, 0.0]], [7, 5, 0, 0]])
def test_what_is_no_sequence_of_actions_is_refused(actions: Any) -> None:
    with pytest.raises(ValueError, match=r"actions must be ints of shape \(steps, 4\)"):
        cells.cell_of(actions)
