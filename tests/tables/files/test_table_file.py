"""Built tables that are kept."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.files import cache
from hpo_envs.tables.table import Table

WT2 = "nasbenchnlp/wikitext2"


def test_kept_table_is_the_built_one_and_needs_no_building(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPO_ENVS_CACHE", str(tmp_path))
    store._measured.cache_clear()
    first = store.load(WT2)
    (file,) = tmp_path.iterdir()
    store._measured.cache_clear()
    monkeypatch.setattr(store._builder("nasbenchnlp"), "build", None)  # the kept table needs no builder
    again = store.load(WT2)
    monkeypatch.undo()
    monkeypatch.setenv("HPO_ENVS_CACHE", str(tmp_path))
    assert again is not first
    assert_equal(again, first)
    # A damaged file is not believed, nor one whose numbers were changed under a valid zip.
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    store._measured.cache_clear()
    assert_equal(store.load(WT2), first)
    with np.load(io.BytesIO(content[32:])) as data:  # the first 32 bytes are the hash of the others
        arrays = {k: data[k].copy() for k in data.files}
    arrays["values"][0] += 1.0
    changed = io.BytesIO()
    np.savez(changed, **arrays)
    file.write_bytes(hashlib.sha256(changed.getvalue()).digest() + changed.getvalue())
    store._measured.cache_clear()
    assert_equal(store.load(WT2), first)


def assert_equal(a: Table, b: Table) -> None:
    assert a.provenance == b.provenance
    assert a.keys == b.keys
    assert np.array_equal(a.values, b.values, equal_nan=True)
    assert np.array_equal(a.cost, b.cost, equal_nan=True)


def test_cache_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("HPO_ENVS_CACHE", str(blocked / "below"))
    table = store.load(WT2)
    assert cache.load("nasbenchnlp/x", 1, (), tmp_path, lambda: table) is table


def test_pack_and_unpack_are_inverse() -> None:
    table = store.load(WT2)
    again = cache.unpack(cache.pack(table))
    assert_equal(again, table)
    assert again.space == table.space
    assert again.metrics == table.metrics
