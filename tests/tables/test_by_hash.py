"""Tables as keys."""

from __future__ import annotations

import dataclasses

from hpo_envs.tables import store
from hpo_envs.tables.by_hash import ByHash


def test_equal_content_from_another_source_is_another_key() -> None:
    table = store.load("fiesta/gaussian")
    other = dataclasses.replace(table, provenance=dataclasses.replace(table.provenance, notes=("another",)))
    assert ByHash(table) == ByHash(dataclasses.replace(table))
    assert hash(ByHash(table)) == hash(ByHash(dataclasses.replace(table)))
    assert ByHash(table) != ByHash(other)
    assert ByHash(table) != table
