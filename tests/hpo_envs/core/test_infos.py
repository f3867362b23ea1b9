"""Batched infos: scattered, merged, blanked."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpo_envs.core import infos


def test_batched_infos() -> None:
    index = np.array([0, 2])
    value = {"a": np.array([1.0, 2.0]), "b": {"c": np.array(["x", "y"]), "o": np.array([{}, {}], object)}}
    whole = infos.scatter(value, index, 3)
    assert whole["a"].tolist() == [1.0, 0.0, 2.0]
    assert whole["b"]["c"].tolist() == ["x", "", "y"]
    assert whole["b"]["o"].tolist() == [{}, None, {}]
    same = np.array([1, 2])
    assert infos.scatter(same, index, 2) is same
    assert infos.scatter(np.ones((2, 4)), index, 3).shape == (3, 4)
    info: dict[str, Any] = {"a": np.array([9.0, 9.0, 9.0]), "_a": np.array([False, True, False])}
    old_mask = info["_a"]
    infos.merge(info, {**whole, "_a": np.zeros(3, bool)}, index)
    assert info["a"].tolist() == [1.0, 9.0, 2.0]
    assert info["_a"].tolist() == [True, True, True]
    assert old_mask.tolist() == [False, True, False]
    assert info["_b"].tolist() == [True, False, True]
    assert info["_b"].dtype == bool
    infos.merge(info, {"b": {"c": np.array(["p", "q", "r"]), "o": np.array([1, 2, 3], object)}}, np.array([1]))
    assert info["b"]["c"].tolist() == ["x", "q", "y"]
    assert info["_b"].tolist() == [True, True, True]
    copied = infos.copy_info(info["b"])
    infos.blank(info["b"], index)
    assert info["b"]["c"].tolist() == ["", "q", ""]
    assert info["b"]["o"].tolist() == [None, 2, None]
    assert copied["c"].tolist() == ["x", "q", "y"]


def test_what_is_scattered_keeps_its_type() -> None:
    for dtype in (np.int32, np.float32, bool):
        spread = infos.scatter(np.ones(2, dtype), np.array([0, 2]), 3)
        assert (spread.dtype, spread.tolist()) == (dtype, [1, 0, 1])
    words = infos.scatter(np.array(["failed"]), np.array([1]), 2)
    assert (words.dtype, words.tolist()) == (np.dtype("<U6"), ["", "failed"])
