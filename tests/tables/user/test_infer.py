"""What a column is."""

from __future__ import annotations

from typing import Any

import pytest

from hpo_envs.tables.user import infer


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), (" -2.5e3", -2500.0), ("1_000", None), ("inf", None), ("0x1", None), ("", None), ("1e999", None)],
)
def test_numbers(text: str, value: Any) -> None:
    assert infer.number(text) == value
    assert type(infer.number(text)) is type(value)
