"""Observations of another table: lengths agree, columns are found by name, a digest says which."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hpo_envs.agents.models.source import Source

ONE = Source("x", np.eye(3), np.zeros((3, 1)), np.ones(3), ("a", "b", "c"))


def test_arrays_agree_and_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="must be equally long, got \\(2, 3, 2\\)"):
        Source("x", np.zeros((2, 1)), np.zeros((3, 1)), np.zeros(2))
    with pytest.raises(ValueError, match="read-only"):
        ONE.features[0, 0] = 2.0
    assert Source.of(ONE.plain(), ONE.arrays()).digest == ONE.digest
    assert dataclasses.replace(ONE, costs=np.zeros(3)).digest != ONE.digest


def test_columns_are_found_by_name() -> None:
    assert ONE.shared(("c", "z", "a")) == ([0, 2], [2, 0])
    kept = ONE.with_columns([0, 2], ("a", "z"))
    assert kept.feature_names == ("a",)
    assert kept.features.tolist() == [[1.0], [0.0], [0.0]]
    assert not ONE.with_columns([1, 2], ("b", "c")).feature_names
    same = dataclasses.replace(ONE, feature_names=())
    assert same.shared(("a", "b", "c")) == ([0, 1, 2], [0, 1, 2])
    assert same.with_columns([2], ("c",)).features[:, 0].tolist() == [0.0, 0.0, 1.0]
