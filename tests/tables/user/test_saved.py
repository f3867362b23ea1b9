"""Saved tables."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import registry
from hpo_envs.tables import store, user
from hpo_envs.tables.table import Table


def test_a_saved_table_is_the_table(table: Table, tmp_path: Path) -> None:
    path = user.save(table, tmp_path / "here.npz")
    user.saved._remembered.clear()
    assert not user.exists("sweep")
    assert gym.make("TableHPO-v0", table=str(path)).unwrapped.table.provenance == table.provenance
    assert user.exists("sweep")  # known by name from now on, so that runs can be scored
    assert store.load("user/sweep").provenance.sha256 == table.provenance.sha256
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match="must be a table written by hpo-envs"):
        user.load(path)


def test_a_failed_save_leaves_the_old_table(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    path = user.save(table)
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(user.saved.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        user.save(user.renamed(table.subset([0, 1]), "sweep"), replace=True)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["sweep.npz"]


def test_replacing_a_table_is_seen_at_once(table: Table) -> None:
    user.save(table)
    assert len(store.load("user/sweep")) == 8
    user.save(table.subset([0, 1, 2]), replace=True)
    assert len(store.load("user/sweep")) == 3


def test_an_unreadable_table_hides_no_other(table: Table, folder: Path) -> None:
    user.save(table)
    (folder / "broken.npz").write_bytes(b"PK\x03\x04 not a table")
    with pytest.warns(UserWarning, match="saved table broken is left out"):
        assert [s.id for s in registry.own()] == ["TableHPO-sweep-v0"]


def test_a_file_that_promises_more_than_memory_is_refused_and_a_pipe_is_not_read(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in ("head", "values"):
            archive.writestr(f"{name}.npy", header.getvalue() + bytes(64))
    (tmp_path / "a.npz").write_bytes(hashlib.sha256(stream.getvalue()).digest() + stream.getvalue())
    with pytest.raises(
        ValueError, match="a.npz must be a table written by hpo-envs, got a file that is none: Unable to "
    ):
        user.load(tmp_path / "a.npz")
    os.mkfifo(tmp_path / "b.npz")
    with pytest.raises(ValueError, match="b.npz must be a regular file, got a pipe or a device"):
        user.load(tmp_path / "b.npz")
