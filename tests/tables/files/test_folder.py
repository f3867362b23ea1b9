"""The data folder: installed files, and their complete installation."""

import hashlib
from pathlib import Path

import pytest

from hpo_envs.tables import catalogue
from hpo_envs.tables.files import folder

CONTENT = b"1\t2\n"
RECORD = catalogue.files_of("nmthpo")[0]._replace(
    file="a/b.tsv", bytes=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest()
)


def test_file_is_missing_corrupt_or_right(tmp_path: Path) -> None:
    path = tmp_path / RECORD.file
    assert not folder.is_installed(RECORD, tmp_path)
    path.parent.mkdir()
    for content in (CONTENT[::-1], CONTENT[:-1], CONTENT + b"3"):
        path.write_bytes(content)
        assert not folder.is_installed(RECORD, tmp_path)
    path.write_bytes(CONTENT)
    assert folder.is_installed(RECORD, tmp_path)
    assert "must have 5 bytes" in RECORD._replace(bytes=5).fault(CONTENT)


def test_unknown_data_sets_suggest_nearest() -> None:
    assert {r.dataset for r in folder.select("nmthpo")} == {"nmthpo"}
    with pytest.raises(ValueError, match="got 'nmtpho', did you mean 'nmthpo'"):
        folder.select(["nmtpho"])
