"""Files of all kinds are read or named."""

from __future__ import annotations

import gzip
import os
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hpo_envs.tables import user
from hpo_envs.tables.user.reading import files


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
        files.of_path(tmp_path / name)


def test_a_zip_of_several_files_or_too_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n")
    assert len(files.of_path(tmp_path / "a.zip")) == 1
    monkeypatch.setattr(files, "UNPACKED", 5)
    with pytest.raises(ValueError, match="must be at most 5 bytes unpacked"):
        files.of_path(tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
        archive.writestr("b.csv", "a")
    with pytest.raises(ValueError, match="must hold one file, got 2"):
        files.of_path(tmp_path / "a.zip")


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wb") as stream:
        stream.write(b"lr,acc\n")
        for _ in range(110):
            stream.write(b"0,0\n" * 250_000)
    assert (tmp_path / "a.csv.gz").stat().st_size < 200_000
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=r"a.csv.gz must be at most 100000000 bytes unpacked \(max_bytes=, --max-b"
        ):
            user.from_csv(tmp_path / "a.csv.gz")
        assert tracemalloc.get_traced_memory()[1] < 300e6
    finally:
        tracemalloc.stop()
    with pytest.raises(ValueError, match="a.csv.gz must be at most 50 bytes unpacked"):
        user.from_csv(tmp_path / "a.csv.gz", max_bytes=50)
    pd.DataFrame({"lr": np.zeros(100_000), "acc": 0.0}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="a.parquet must be at most 1000000 bytes unpacked .*, got 1600000"):
        user.from_csv(tmp_path / "a.parquet", max_bytes=1_000_000)


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    for path in (tmp_path / "a.csv", Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(ValueError, match=f"{path} must be a regular file or a folder, got a pipe or a device"):
            user.from_csv(path)
    with pytest.raises(ValueError, match="must be a regular file"):
        user.from_frame(pd.DataFrame({"lr": [1, 2], "acc": [1, 2]}), schema="/dev/zero")
    with pytest.raises(FileNotFoundError, match="b.csv"):
        user.from_csv(tmp_path / "b.csv")
