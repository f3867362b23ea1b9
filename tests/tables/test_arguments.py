"""Arguments that are names, of whatever type they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs.tables.arguments import one_of, shown


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError


def test_names_are_taken() -> None:
    assert one_of("cost", "seconds", ("evaluations", "seconds")) == "seconds"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (10**5000, "<int>"),
        ([1], r"\[1\]"),
        ({}, "{}"),
        (None, "None"),
        (np.ma.masked, "masked"),
        (Broken(), "<Broken>"),
        ("x" * 99, "'x{76}..."),
        ("secnds", "'secnds', did you mean 'seconds'\\?"),
    ],
    ids=["int", "list", "dict", "None", "masked", "broken", "long", "near"],
)
def test_others_are_refused_with_what_they_are(value: Any, told: str) -> None:
    with pytest.raises(ValueError, match=f"^cost must be one of evaluations, seconds or so, got {told}$"):
        one_of("cost", value, ["evaluations", "seconds"], " or so")


def test_values_are_shown_short() -> None:
    assert shown("a" * 78) == repr("a" * 78)
    assert len(shown([0] * 1000)) == 80
