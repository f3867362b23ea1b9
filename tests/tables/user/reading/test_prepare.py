"""Durations, mappings and missing values in the words of the tools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hpo_envs.tables.user.reading import prepare, sheet
from tests.helpers import raises


def cells(*values: Any) -> pa.ChunkedArray:
    return pa.chunked_array([list(values)])


def sheet_of(*rows: dict[str, Any]) -> sheet.Sheet:
    return sheet.of_rows("f", rows, "line", range(2, len(rows) + 2), "0")


def test_durations_are_seconds() -> None:
    found = prepare.seconds(cells("1.2min", "321ms", "2.1h", "0 days 00:01:02.5", "7", "soon", None))
    np.testing.assert_allclose(found, [72.0, 0.321, 7560.0, 62.5, 7.0, np.nan, np.nan])


def test_mappings_become_columns() -> None:
    made = prepare.expanded(
        sheet_of({"name": "a", "config": '{"lr": {"value": 0.1, "desc": null}}', "summary": "{'loss': nan}"})
    )
    assert {k: v.to_pylist() for k, v in made.columns.items()} == {
        "name": ["a"], "config.lr": ["0.1"], "summary.loss": ["nan"],
    }  # fmt: skip
    with raises("f: line 2, column config: must be a mapping, got '[1]'"):
        prepare.expanded(sheet_of({"config": "[1]", "summary": "{}"}))


def test_none_is_a_choice_where_scikit_learn_says_so() -> None:
    rows = [{"param_c": "1", "params": "{'c': 1}"}, {"param_c": "", "params": "{'c': None}"}]
    assert prepare.of_search(sheet_of(*rows)).columns["param_c"].to_pylist() == ["1", "none"]


def test_a_run_took_from_its_start_to_its_end() -> None:
    made = prepare.with_seconds(sheet_of({"start_time": "2024-02-11 10:00:01", "end_time": "2024-02-11 10:01:11"}))
    assert made.columns["seconds"].to_pylist() == pytest.approx([70.0])
