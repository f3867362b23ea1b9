"""Files of all kinds are read or named."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from hpo_envs.tables.user.reading import files, sheet


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"PAR1", "a.parquet must be parquet, got a file that is none"),
        ("a.arrow", b"x", "a.arrow must be arrow, got a file that is none"),
        ("a.csv.gz", b"x,y", "must be a gzip file"),
        ("a.zip", b"x", "must be a zip file"),
        ("a.csv", b"a,b\n1,\xff\n", "must be UTF-8 text, got byte 0xff"),
        ("a.csv", b"", "must have a header and at least one line, got 0"),
    ],
)
def test_what_is_no_file_of_runs(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        files.of_file(tmp_path / name)


def test_a_zip_of_several_files_or_too_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n")
    assert len(files.of_file(tmp_path / "a.zip")) == 1
    monkeypatch.setattr(sheet, "BYTES", 5)
    with pytest.raises(ValueError, match="must be at most 5 bytes, got more"):
        files.of_file(tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
        archive.writestr("b.csv", "a")
    with pytest.raises(ValueError, match="must hold one file, got 2"):
        files.of_file(tmp_path / "a.zip")
