"""A table as the bytes of a file."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.files import packs as table_file


@pytest.mark.parametrize("name", ["nmthpo/zhen", "nmtlc/ft-zhen", "fiesta/ner"])
def test_pack_and_unpack_are_inverse(name: str) -> None:
    table = store.load(name)
    again = table_file.unpack(table_file.pack(table))
    assert again.provenance == table.provenance
    assert (again.keys, again.space, again.metrics) == (table.keys, table.space, table.metrics)
    for array in ("values", "cost", "configs", "features", "status", "source_index"):
        assert np.array_equal(getattr(again, array), getattr(table, array), equal_nan=array in ("values", "cost"))
