"""Cells become numbers or choices."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user import cells


def of(*values: Any) -> cells.Cells:
    return cells.of_series(pd.Series(list(values)))


def plain(made: cells.Cells) -> list[Any]:
    return made.astype(object).where(made.notna(), None).tolist() if cells.is_text(made) else made.tolist()


def test_text_is_numbers_if_most_of_it_is() -> None:
    made, bad = cells.column("a", of(" 1", "2", "3 ", "x", "5", "6", ""))
    assert made.choices is None
    assert made.whole
    assert (np.flatnonzero(bad).tolist(), made.values[:3].tolist()) == ([3], [1, 2, 3])
    assert np.isnan(made.values[[3, 6]]).all()
    assert cells.column("a", of("x", "y", "1"))[0].choices == ("1", "x", "y")
    assert cells.column("a", of("yes", "false", None))[0].choices == (False, True)
    assert cells.column("a", of(True, False, True))[0].values.tolist() == [1, 0, 1]
    assert cells.column("a", of(1.0, np.inf, 2.0))[1].tolist() == [False, True, False]


def test_many_texts_are_no_choice() -> None:
    assert len(cells.column("a", of(*[f"t{i % 50}" for i in range(2000)]))[0].choices or ()) == 50
    with pytest.raises(ValueError, match="column a: must be numbers or at most 50 different texts, got 51 such"):
        cells.column("a", of(*[f"t{i % 51}" for i in range(2000)]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), (" -2.5e3", -2500.0), ("+1.5", 1.5), ("-.5e-3", -0.0005), ("1.", 1.0), ("1_000", None), ("inf", None),
        ("nan", None), ("0x1", None), ("", None), ("1e999", None), ("9" * 30, int("9" * 30)),
    ],
)  # fmt: skip
def test_numbers(text: str, value: Any) -> None:
    assert cells.number(text) == value
    assert type(cells.number(text)) is type(value)
    for others in ((), ("3",), ("x", "4")):
        got = cells.numbers(of(text, *others))[0]
        assert np.isnan(got) if value is None else got == float(value)


def test_none_among_numbers_is_remembered_and_can_be_choice() -> None:
    made, _ = cells.column("a", of("3", "None", "5", ""))
    assert made.none is not None
    assert (made.none.tolist(), made.with_none().choices) == ([False, True, False, False], (3, 5, "none"))
    assert made.with_none().values.tolist() == [0, 2, 1, 2]


@pytest.mark.parametrize(
    ("h", "given", "values", "wrong"),
    [
        (Hyperparameter("a", "int", 1, 5), ("1", "2.5", "6", ""), [1, np.nan, np.nan, np.nan], [1, 2]),
        (Hyperparameter("a", "float", 0, 1, values=(0.1, 0.5)), ("0.10", "0.2"), [0.1, np.nan], [1]),
        (Hyperparameter("a", "categorical", 0, 1, values=("x", "none")), ("X", "", "y"), [0, 1, 1], [2]),
        (Hyperparameter("a", "categorical", 0, 1, values=("a", "A")), ("A", "a"), [1, 0], []),
        (Hyperparameter("a", "categorical", 0, 1, values=("null", "x ")), ("null", "x", ""), [0, 1, np.nan], []),
        (Hyperparameter("a", "categorical", 0, 1, values=(False, True)), ("yes", "false"), [1, 0], []),
        (Hyperparameter("a", "categorical", 0, 1, values=(3, "none")), ("3.0", "None"), [0, 1], []),
    ],
)
def test_what_definition_does_not_allow_is_found(
    h: Hyperparameter, given: tuple[str, ...], values: list[float], wrong: list[int]
) -> None:
    made, bad, _ = cells.within(of(*given), h)
    assert np.flatnonzero(bad).tolist() == wrong
    right = [i for i in range(len(given)) if i not in wrong]
    assert np.array_equal(made.values[right], np.array(values)[right], equal_nan=True)


def test_choices_that_are_one_text_are_rejected() -> None:
    for values in (("a", " a"), (True, "True")):
        with pytest.raises(ValueError, match="choices of a must differ as texts without outer spaces"):
            cells.within(of("a"), Hyperparameter("a", "categorical", 0, 1, values=values))
    with pytest.raises(ValueError, match=r"whole numbers must be at most 2\*\*53"):
        cells.within(of(str(2**60), "1"), Hyperparameter("a", "float", 0, 2.0**61))


def test_durations_are_seconds() -> None:
    found = cells.seconds(of("1.2min", "321ms", "2.1h", "0 days 00:01:02.5", "7", "soon", None))
    np.testing.assert_allclose(found, [72.0, 0.321, 7560.0, 62.5, 7.0, np.nan, np.nan])
    np.testing.assert_allclose(cells.seconds(of(*pd.to_timedelta([1.5, 2], unit="s"))), [1.5, 2.0])


def test_kinds_of_series() -> None:
    assert plain(of(1, "x", True, None)) == ["1", "x", "True", None]
    assert plain(cells.of_series(pd.Series([1, None, 3], dtype="Int64"))[[0, 2]]) == [1.0, 3.0]
    assert plain(cells.of_series(pd.Series(["b", " b", None, "a"], dtype="category"))) == ["b", "b", None, "a"]
    assert plain(cells.of_series(pd.to_datetime(pd.Series(["2024-01-02"])))) == ["2024-01-02 00:00:00"]
    assert plain(of("a", "b", None, "a")[np.array([False, True, True, False])]) == ["b", None]
