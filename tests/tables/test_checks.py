"""Names, values and fronts: what several rooms check."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.agents.models.acquisition import pareto_front
from hpo_envs.tables.checks import nearest, one_of, shown
from tests.helpers import raises


def test_nearest_suggests_names_of_same_family_first() -> None:
    assert nearest("scroe", ("score", "scored")) == ", did you mean 'score'?"
    assert nearest("q", ["score"]) == ""
    assert nearest("abcd", ["abxy"]) == ", did you mean 'abxy'?"  # half of the letters
    assert nearest("abcd", ["axyz"]) == ""
    ids = ["NMTHPO-swen-v0", "NMTLC-swen-v0", "NMTLC-ft-fren-v0"]
    assert nearest("NMTLC-fren-v0", ids) == ", did you mean 'NMTLC-ft-fren-v0'?"
    assert nearest("nmtlc-swe-v0", ids) == ", did you mean 'NMTLC-swen-v0'?"  # of the family, whatever the case
    assert nearest("bo-learned", ["learned", "bo-spread", "graph-ei"]) == ", did you mean 'bo-spread'?"
    assert nearest(3, ["score"]) == ""  # type: ignore[arg-type]


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError


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
def test_others_are_rejected_with_what_they_are(value: Any, told: str) -> None:
    with pytest.raises(ValueError, match=f"^cost must be one of evaluations, seconds or so, got {told}$"):
        one_of("cost", value, ["evaluations", "seconds"], " or so")


def test_values_are_shown_short() -> None:
    assert shown("a" * 78) == repr("a" * 78)
    assert len(shown([0] * 1000)) == 80


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_pareto_front_equals_definition(points: list[tuple[int, int]]) -> None:
    r = np.array(points, dtype=float)
    naive = [not any((q >= p).all() and (q > p).any() for q in r) for p in r]
    assert pareto_front(r).tolist() == naive
    three = np.c_[r, np.zeros(len(r))]
    assert pareto_front(three).tolist() == naive


def test_no_points_have_empty_front() -> None:
    assert pareto_front(np.empty((0, 2))).tolist() == pareto_front(np.empty((0, 3))).tolist() == []


def test_fronts_by_hand() -> None:
    with raises("rewards must be a (n, m) matrix without NaN, got shape (3,)"):
        pareto_front([1.0, 2.0, 3.0])
    with raises("rewards must be a (n, m) matrix without NaN, got shape (1, 2)"):
        pareto_front([[1.0, np.nan]])
    assert pareto_front([[1, 1], [1, 1], [0, 2], [0, 1], [2, 0], [2, -1]]).tolist() == [1, 1, 1, 0, 1, 0]
    assert pareto_front([[1.0], [2.0], [2.0]]).tolist() == [False, True, True]
    assert pareto_front([["1", "2"], ["2", "1"]]).all()
