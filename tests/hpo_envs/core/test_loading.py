"""The tables that answer an environment."""

from __future__ import annotations

from typing import Any

import pytest

from hpo_envs.core.loading import load_tables, provenance_info
from hpo_envs.tables import store
from tests.helpers import raises

ONE = store.load("nmthpo/zhen")


def test_tables_of_names_or_as_they_are() -> None:
    names = ("nmthpo/zhen", "nmthpo/jaen")
    assert [t.name for t in load_tables(names, None)] == list(names)
    assert load_tables((), ONE) == (ONE,)
    assert load_tables(names, [ONE, ONE]) == (ONE, ONE)
    info = provenance_info((ONE, ONE), 1)
    assert (info["table"], info["kind"], info["sha256"]) == ("nmthpo/zhen", "measured", ONE.provenance.sha256)
    assert (info["table_code"], info["kind_code"]) == (1, 0)
    assert info["sha256_code"].tobytes().hex() == ONE.provenance.sha256


@pytest.mark.parametrize("given", [3, (), [1], "x"])
def test_what_is_no_table(given: Any) -> None:
    with raises(f"table must be a Table, got {given!r}"):
        load_tables((), given)


@pytest.mark.parametrize("given", ["auto", "measured", "surrogate"])
def test_kinds_of_tables_are_gone(given: str) -> None:
    with raises(f"table must be a Table or left out, since each id has one table, got {given!r}"):
        load_tables(("nmthpo/zhen",), given)
