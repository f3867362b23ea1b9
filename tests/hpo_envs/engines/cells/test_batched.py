"""Cells built side by side: episodes of different lengths, and actions outside the space."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.tables import cells


def make(num_envs: int, **kwargs: Any) -> Any:
    return gym.make_vec("NASBenchNLP-cell-v0", num_envs=num_envs, **kwargs)


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


def test_illegal_moves_are_told_as_by_the_scalar_form() -> None:
    moves = [[0, 0, 0, 0], [1, 1, 2, 0], [2, 1, 0, 0], [4, 0, 1, 2], [4, 9, 0, 0], [3, 1, 0, 28], [7, 0, 3, 1],
             [7, 5, 0, 9], [7, 6, 0, 0], [0, 1, 2, 0], [5, 5, 28, 28]]  # fmt: skip
    envs, one = make(len(moves), budget=99), gym.make("NASBenchNLP-cell-v0", budget=99)
    envs.reset(seed=0)
    said = envs.step(np.array([[4, 1, 0, 0]] * len(moves)))[4], *envs.step(np.array(moves))
    for i, move in enumerate(moves):
        one.reset(seed=i)
        one.step(np.array([4, 1, 0, 0]))
        observation, reward, _, _, info = one.step(np.array(move))
        assert said[-1]["error"][i] == info["error"]
        assert (said[1][i] == observation).all()
        assert said[2][i] == reward
    one.reset(seed=0)
    envs.reset(seed=0)
    for _ in range(24):
        one.step(np.array([4, 1, 0, 0]))
        envs.step(np.array([[4, 1, 0, 0]] * len(moves)))
    error = one.step(np.array([4, 1, 0, 0]))[4]["error"]
    assert error.startswith("nodes: ")
    assert set(envs.step(np.array([[4, 1, 0, 0]] * len(moves)))[4]["error"]) == {error}
