"""Tables by name, and the bytes they are built from."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.nasbenchnlp.names import MULTI


def test_files_known_by_git_blob_ids_are_verified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A git blob id is the sha1 of "blob", the size, a zero byte and the content."""
    (tmp_path / "nasbenchnlp/train_logs_multi_runs").mkdir(parents=True)
    (tmp_path / MULTI).write_bytes(b"not the archive")
    with pytest.raises(store.CorruptFile, match="gitblob:7414e12600ecb30cf1f46431ca420f35484b4546"):
        store.read(MULTI, tmp_path)


def test_who_measured_a_table() -> None:
    owners = {
        "charmini/eng-lstm": "this project",
        "nmthpo/swen": "Este1le/hpo_nmt",
        "fiesta/gaussian": "",
        "user/mine": "the user",
        "function/f": "the user",
    }
    assert {name: store.owner(name) for name in owners} == owners
    assert [store.kinds(n) for n in list(owners)[:3]] == [("measured",), ("measured", "surrogate"), ("surrogate",)]
