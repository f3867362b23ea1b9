"""Columns of Arrow become numbers or choices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user.infer import number
from hpo_envs.tables.user.reading import columns


def cells(*values: Any) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values)])


def test_text_is_numbers_if_most_of_it_is() -> None:
    made = columns.column("a", cells(" 1", "2", "3 ", "x", "5", "6", ""))
    assert made.choices is None
    assert made.whole
    assert made.bad.tolist() == [3]
    assert made.values[:3].tolist() == [1, 2, 3]
    assert np.isnan(made.values[[3, 6]]).all()
    assert columns.column("a", cells("x", "y", "1")).choices == ("1", "x", "y")
    assert columns.column("a", cells("yes", "false", None)).choices == (False, True)
    assert columns.column("a", cells(True, False, True)).values.tolist() == [1, 0, 1]


def test_many_texts_are_no_choice() -> None:
    assert not columns.many(cells(*[str(i % 50) for i in range(2000)]))
    assert columns.many(cells(*[str(i % 51) for i in range(2000)]))
    assert np.isnan(columns.column("a", cells(*[f"t{i}" for i in range(60)])).values).all()


@pytest.mark.parametrize("text", ["1", "+1.5", "-.5e-3", "1.", "inf", "nan", "0x1", "1_0", "1e999", "", "9" * 30])
def test_parsing_all_at_once_is_parsing_one(text: str) -> None:
    wanted = number(text.strip())
    for others in ((), ("3",), ("x", "4")):
        got = columns.parsed(columns.texts(cells(text, *others)))[0]
        assert np.isnan(got) if wanted is None else got == float(wanted)


def test_none_among_numbers_is_remembered_and_can_be_a_choice() -> None:
    made = columns.column("a", cells("3", "None", "5", ""))
    assert made.none is not None
    assert made.none.tolist() == [False, True, False, False]
    assert made.with_none().choices == (3, 5, "none")
    assert made.with_none().values.tolist() == [0, 2, 1, 2]
    assert columns.filled(cells("3", "None", ""), "7")[0].to_pylist() == ["3", "7", "7"]


def test_spellings_are_changed_only_where_all_cells_have_them() -> None:
    assert columns.respelled(cells("1,5", "2", None))[0].to_pylist() == ["1.5", "2", None]
    assert columns.respelled(cells("1,5", "2.5"))[1] == ""
    assert columns.respelled(cells("'-0.5", "2e-3", "'-1e-05"))[0].to_pylist() == ["-0.5", "2e-3", "-1e-05"]
    assert columns.respelled(cells("'-0.5", "-2"))[1] == ""
    assert columns.respelled(cells("71%", "80.5 %"))[0].to_pylist() == ["71", "80.5"]


@pytest.mark.parametrize(
    ("h", "given", "values", "wrong"),
    [
        (Hyperparameter("a", "int", 1, 5), ("1", "2.5", "6", ""), [1, np.nan, np.nan, np.nan], [1, 2]),
        (Hyperparameter("a", "float", 0, 1, values=(0.1, 0.5)), ("0.10", "0.2"), [0.1, np.nan], [1]),
        (Hyperparameter("a", "categorical", 0, 1, values=("x", "none")), ("X", "", "y"), [0, 1, 1], [2]),
        (Hyperparameter("a", "categorical", 0, 1, values=(False, True)), ("yes", "false"), [1, 0], []),
        (Hyperparameter("a", "categorical", 0, 1, values=(3, "none")), ("3.0", "None"), [0, 1], []),
    ],
)
def test_what_a_definition_does_not_allow_is_found(
    h: Hyperparameter, given: tuple[str, ...], values: list[float], wrong: list[int]
) -> None:
    made, lines, _ = columns.within(cells(*given), h)
    assert lines.tolist() == wrong
    right = [i for i in range(len(given)) if i not in wrong]
    assert np.array_equal(made.values[right], np.array(values)[right], equal_nan=True)
