"""Cells built side by side: episodes of different lengths, and actions outside the space."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.tables import cells


def make(num_envs: int, **kwargs: Any) -> Any:
    return gym.make_vec("NASBenchNLP-cell-v0", num_envs=num_envs, table="surrogate", **kwargs)


def test_cells_of_different_sizes_are_built_side_by_side() -> None:
    envs = make(2, budget=3)
    envs.reset(seed=0)
    plans = [cells.actions_of(cells.EXAMPLES[name]) for name in ("RNN", "GRU")]
    short, long = map(len, plans)
    assert short < long
    for t in range(short):
        info = envs.step(np.array([plan[t] for plan in plans]))[4]
    assert info["finished"].tolist() == [True, False]
    assert info["key"].tolist() == [cells.key(cells.EXAMPLES["RNN"]), ""]
    assert envs.action_masks().shape == (2, 95)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.zeros((2, 3), int), r"actions must be ints of shape \(2, 4\), got shape \(2, 3\)"),
        (np.zeros((2, 4)), "actions must be ints of shape .* and dtype float64"),
        (np.array([[0, 1, 2, 0], [8, 0, 0, 0]]), r"actions must be ints in .*, got \[8, 0, 0, 0\]"),
        (np.array([[0, 1, 2, 0], [0, -1, 0, 0]]), r"actions must be ints in .*, got \[0, -1, 0, 0\]"),
    ],
)
def test_actions_outside_the_space_are_refused(actions: Any, message: str) -> None:
    envs = make(2)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        envs.step(actions)
