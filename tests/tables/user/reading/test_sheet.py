"""Files of all kinds become columns; what is none is named."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hpo_envs.tables.user.csv_reader import from_csv
from hpo_envs.tables.user.reading import files, sheet


def test_lines_are_counted_as_an_editor_counts_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('# made by hand\nlr,note,acc\n1,"two\nlines",3\n\n2,x,4\n')
    read = files.of_file(tmp_path / "a.csv")
    assert [read.where(i) for i in range(2)] == ["line 4", "line 6"]
    assert read.columns["note"].to_pylist() == ["two\nlines", "x"]
    assert read.columns["lr"].to_pylist() == ["1", "2"]


def test_more_lines_than_fit_in_memory_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "LINES", 3)
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{i},x\n" for i in range(10)))
    read = files.of_file(tmp_path / "a.csv")
    assert read.columns["a"].to_pylist() == [str(i) for i in range(10)]
    assert read.where(9) == "line 11"


def test_a_frame_of_mixed_cells_and_levels() -> None:
    frame = pd.DataFrame({("p", "lr"): [1, "x"], ("p", "n"): [1.5, None]})
    read = sheet.of_frame(frame, "frame")
    assert read.columns["p.lr"].to_pylist() == ["1", "x"]
    assert read.columns["p.n"].to_pylist() == [1.5, None]
    with pytest.raises(ValueError, match="must have columns and at least one line"):
        sheet.of_frame(frame[:0], "frame")


def test_a_large_plain_file_is_read_as_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"0.{i},a{i % 3},2024-01-0{i % 9 + 1},{'nan' if i == 7 else i}\n" for i in range(40)]
    plain = "".join(["lr,opt,when,acc\n", *lines])
    odd = {
        "quoted": plain.replace("a1", '"a1"'), "blank": plain.replace("\n0.5,", "\n\n0.5,"), "plain": plain,
        "ragged": plain.replace("a1,", "a1,,", 1), "large": plain + f"0.1,a0,2024-01-01,{2**53 + 1}.5\n",
        "text": plain.replace("0.3,", "x,", 1), "open": plain[:-1], "times": plain.replace("2024-01-", "10:01:"),
        "flags": plain.replace("a0", "True").replace("a1", "0").replace("a2", "1"),
        "hexadecimal": plain.replace(",a0", ",0x1").replace(",a1", ",0x2").replace(",a2", ",3"),
    }  # fmt: skip
    for name, text in odd.items():
        (tmp_path / f"{name}.csv").write_text(text)
        told = []
        for large, block in ((10**9, 1), (0, 10**6), (0, 100)):
            monkeypatch.setattr(sheet, "LARGE", large)
            monkeypatch.setattr(sheet, "BLOCK", block)
            try:
                table = from_csv(tmp_path / f"{name}.csv", "acc", "max", name="a")
                told.append((table.provenance.sha256, table.provenance.notes))
            except ValueError as error:
                told.append((str(error), ()))
        assert told[0] == told[1] == told[2], name


@pytest.mark.parametrize("kind", [".parquet", ".feather", ".csv"])
def test_no_thread_keeps_a_file_that_is_read(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that closes it as Python ends brings Python down: `terminate called without an active exception`."""
    monkeypatch.setattr(sheet, "LARGE", 0)
    monkeypatch.setattr(sheet, "BLOCK", 10_000)
    frame, path = pd.DataFrame(np.zeros((3000, 20))).add_prefix("x"), tmp_path / f"a{kind}"
    if kind == ".parquet":
        frame.to_parquet(path, row_group_size=100)
    elif kind == ".feather":
        frame.to_feather(path, chunksize=100)
    else:
        frame.to_csv(path, index=False)
    for _ in range(20):
        with open(path, "rb") as file:
            before = sys.getrefcount(file)
            if kind == ".csv":
                sheet.of_csv("a", file, "")
            else:
                sheet.of_arrow("a", file, kind, "")
            assert sys.getrefcount(file) == before
