"""Actions are an element of the space to the letter, or refused with the rule and the value."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks.runs import pool as actions

pytestmark = pytest.mark.hostile

ROWS = gym.spaces.Discrete(10)
PAIRS = gym.spaces.MultiDiscrete([10, 3])
BOX = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)


@pytest.mark.parametrize(
    "space, value, kept",
    [
        (ROWS, 0, 0),
        (ROWS, np.int32(9), 9),
        (ROWS, np.array(3), 3),
        (gym.spaces.Discrete(3, start=5), 7, 7),
        (PAIRS, np.array([9, 2]), [9, 2]),
        (PAIRS, [0, 1], [0, 1]),
        (gym.spaces.MultiBinary(2), np.array([0, 1], np.int8), [0, 1]),
        (BOX, np.array([0.5, -1.0], np.float32), [0.5, -1.0]),
        (BOX, [0, 1], [0, 1]),
    ],
)
def test_elements_are_kept(space: Any, value: Any, kept: Any) -> None:
    got = actions.checker(space)(value)
    assert np.array_equal(got, kept)
    if isinstance(value, np.ndarray) and value.ndim:
        assert got.dtype == value.dtype
        value[:] = 0
        assert np.array_equal(got, kept)  # a copy


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    "value",
    [1.99, "17", True, np.True_, -1, 10, 99, None, [1], np.array([1]), 2**70, np.float64(3), np.timedelta64(3), Odd()],
)
def test_non_row_is_rejected(value: Any) -> None:
    with pytest.raises(ValueError, match=r"must be an int in \[0, 10\), got "):
        actions.checker(ROWS)(value)


@pytest.mark.parametrize(
    "value",
    [
        *(
            1,
            None,
            "12",
            [1],
            [1, 2, 3],
            [[1], [2, 3]],
            [1.0, 2.0],
            [True, False],
            [10, 0],
            [0, 3],
            [-1, 0],
            [2**64, 0],
        ),
        *(np.ma.masked_array([1, 2], [True, False]), np.array([1, 2], "m8[s]"), [np.nan, 0]),
    ],
)
def test_non_pair_is_rejected(value: Any) -> None:
    with pytest.raises(ValueError, match="must be ints"):
        actions.checker(PAIRS)(value)


@pytest.mark.parametrize(
    "value", [0.5, None, "ab", [0.5], [0.5, np.nan], [0.5, np.inf], [0.5, 1.0001], [True, False], [[0.5, 0.5]], [1j, 0]]
)
def test_what_is_not_in_box_is_rejected(value: Any) -> None:
    with pytest.raises(ValueError, match="must be numbers"):
        actions.checker(BOX)(value)


def test_recommendations_may_be_all_actions_of_candidate_where_it_takes_several() -> None:
    check = actions.checker(PAIRS)
    both = np.array([[1, 2], [3, 0]])
    assert np.array_equal(actions.recommendation(check, both, several=True), both)
    for value, several in ((both, False), (np.array([[1, 2], [3, 9]]), True), (np.empty((0, 2), int), True)):
        with pytest.raises(ValueError, match="must be ints"):
            actions.recommendation(check, value, several=several)


def test_spaces_of_other_kinds_are_rejected() -> None:
    with pytest.raises(ValueError, match="action_space must be"):
        actions.checker(gym.spaces.Dict({"a": ROWS}))
