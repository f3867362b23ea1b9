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
    read = files.of_path(tmp_path / "a.csv")
    assert [read.where(i) for i in range(2)] == ["line 4", "line 6"]
    assert read.text("note").different == ("two\nlines", "x")
    assert read.text("lr").different == ("1", "2")


def test_a_frame_of_mixed_cells_and_levels() -> None:
    frame = pd.DataFrame({("p", "lr"): [1, "x"], ("p", "n"): [1.5, None]})
    read = sheet.of_frame(frame, "frame")
    assert read.text("p.lr").different == ("1", "x")
    assert np.array_equal(read.columns["p.n"], [1.5, np.nan], equal_nan=True)
    assert read.digest != sheet.of_frame(frame.iloc[::-1], "frame").digest
    with pytest.raises(ValueError, match="must have columns and at least one line"):
        sheet.of_frame(frame[:0], "frame")


def test_lines_that_are_equal_in_every_cell_are_found() -> None:
    read = sheet.of_frame(pd.DataFrame({"a": [1.0, np.nan, 1.0, np.nan], "b": ["x", None, "x", "y"]}), "frame")
    assert read.twice(np.arange(4)).tolist() == [False, False, True, False]


def test_a_plain_file_is_read_as_an_odd_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"0.{i},a{i % 3},2024-01-0{i % 9 + 1},{'nan' if i == 7 else i}\n" for i in range(40)]
    plain = "".join(["lr,opt,when,acc\n", *lines])
    odd = {
        "quoted": plain.replace("a1", '"a1"'), "blank": plain.replace("\n0.5,", "\n\n0.5,"), "plain": plain,
        "ragged": plain.replace("a1,", "a1,,", 1), "large": plain + f"0.1,a0,2024-01-01,{2**53 + 1}.5\n",
        "evened": plain.replace("a1,", "a1,,", 1).replace("a2,", "a2", 1),
        "text": plain.replace("0.3,", "x,", 1), "open": plain[:-1], "times": plain.replace("2024-01-", "10:01:"),
        "flags": plain.replace("a0", "True").replace("a1", "0").replace("a2", "1"),
        "truth": plain.replace("a0", "True").replace("a1", "false").replace("a2", "true"),
        "hexadecimal": plain.replace(",a0", ",0x1").replace(",a1", ",0x2").replace(",a2", ",3"),
        "digits": plain.replace("0.3,", "0.30000000000000001,").replace("0.7,", "7e-1,"),
        "windows": plain.replace("\n", "\r\n"), "infinite": plain.replace(",5\n", ",inf\n"),
    }  # fmt: skip
    read = files._plain
    for name, text in odd.items():
        (tmp_path / f"{name}.csv").write_bytes(text.encode())
        told = []
        for plainly in (read, lambda content: None):
            monkeypatch.setattr(files, "_plain", plainly)
            try:
                table = from_csv(tmp_path / f"{name}.csv", "acc", "max", name="a")
                told.append((table.provenance.sha256, table.provenance.notes))
            except ValueError as error:
                told.append((str(error), ()))
        assert told[0] == told[1], name
    assert read(plain.encode()) is not None
    assert read(odd["quoted"].encode()) is None


@pytest.mark.parametrize("kind", [".parquet", ".feather", ".csv"])
def test_no_thread_keeps_a_file_that_is_read(kind: str, tmp_path: Path) -> None:
    """One that frees it as Python ends brings Python down: `terminate called without an active exception`."""
    frame, path = pd.DataFrame(np.zeros((3000, 20))).add_prefix("x"), tmp_path / f"a{kind}"
    if kind == ".parquet":
        frame.to_parquet(path, row_group_size=100)
    elif kind == ".feather":
        frame.to_feather(path, chunksize=100)
    else:
        frame.to_csv(path, index=False)
    content = files.content_of(path)
    for _ in range(20):
        before = sys.getrefcount(content)
        if kind == ".csv":
            files.of_csv("a", content, "")
        else:
            files._arrow(path, content, kind, files.BYTES)
        assert sys.getrefcount(content) == before
