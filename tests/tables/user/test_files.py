"""Files of all kinds become columns; invalid ones are named in errors."""

import contextlib
import gzip
import json
import os
import sqlite3
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from hpo_envs.tables import user
from hpo_envs.tables.files import unpacked
from hpo_envs.tables.user import frame
from hpo_envs.tables.user.reader import from_csv
from hpo_envs.tables.user.reading import files
from tests.helpers import rejects
from tests.tables.user.helpers import from_text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"PAR1", "a.parquet must be parquet, got another file"),
        ("a.arrow", b"x", "a.arrow must be arrow, got another file"),
        ("a.csv.gz", b"x,y", "must be a gzip file"),
        ("a.zip", b"x", "must be a zip file"),
        ("a.csv", b"a,b\n1,\xff\n", "must be UTF-8 text, got byte 0xff"),
        ("a.csv", b"a,b\nx\0y,1\n", "must be UTF-8 text without NUL characters"),
        ("a.csv", b"", "must have a header and at least one line below it, got nothing"),
    ],
)
def test_non_file_of_runs(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    rejects(message, files.of_path, tmp_path / name)


def test_zip_of_several_files_or_too_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n")
    (tmp_path / "B.JSON.ZIP").write_bytes((tmp_path / "a.zip").read_bytes())
    assert len(files.of_path(tmp_path / "a.zip").cells) == 1
    rejects("line 1: must be JSON", files.of_path, tmp_path / "B.JSON.ZIP")
    monkeypatch.setattr(unpacked, "SMALL", 5)
    monkeypatch.setattr(unpacked, "RATIO", 0)
    rejects("must be at most 5 bytes unpacked", files.of_path, tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
        archive.writestr("b.csv", "a")
    rejects("must hold one file, got 2", files.of_path, tmp_path / "a.zip")


@pytest.mark.hostile
def test_small_file_that_unpacks_to_large_one_is_rejected(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wb") as stream:
        stream.write(b"lr,acc\n")
        for _ in range(30):
            stream.write(b"0,0\n" * 250_000)
    assert (tmp_path / "a.csv.gz").stat().st_size < 50_000
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"a.csv.gz must be at most 10000000 bytes unpacked \(max_bytes=, --max-b"):
            user.from_csv(tmp_path / "a.csv.gz")
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    rejects("a.csv.gz must be at most 50 bytes unpacked", user.from_csv, tmp_path / "a.csv.gz", max_bytes=50)
    pd.DataFrame({"lr": np.zeros(700_000), "acc": 0.0}).to_parquet(tmp_path / "a.parquet")
    rejects("a.parquet must be at most 10000000 bytes unpacked .*, got 11200000", user.from_csv, tmp_path / "a.parquet")
    frame = pd.DataFrame({"lr": np.zeros(700_000), "acc": 0.0})
    frame.to_feather(tmp_path / "a.arrow", compression="zstd")
    rejects("a.arrow must be at most 10000000 bytes unpacked .*, got 1", user.from_csv, tmp_path / "a.arrow")
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):  # Python unpacks these beyond the size that it is asked
        with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
            archive.writestr("a.csv", "lr,acc\n0,1\n1,2\n")
        rejects("a.zip must be stored or deflated, got compression 1[24]", user.from_csv, tmp_path / "a.zip")


@pytest.mark.hostile
def test_pipes_and_devices_are_rejected(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    for path in (tmp_path / "a.csv", Path("/dev/zero"), Path("/dev/null")):
        rejects(f"{path} must be a regular file, got a pipe or a device", user.from_csv, path)
    rejects("b.csv", user.from_csv, tmp_path / "b.csv", error=FileNotFoundError)


def test_lines_are_counted_as_editor_counts_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('# made by hand\nlr,note,acc\n1,"two\nlines",3\n\n2,x,4\n')
    read = files.of_path(tmp_path / "a.csv")
    assert [read.where(i) for i in range(2)] == ["line 4", "line 6"]
    assert (read["note"].tolist(), read["lr"].tolist()) == (["two\nlines", "x"], [1, 2])


def test_frame_of_mixed_cells_and_levels() -> None:
    given = pd.DataFrame({("p", "lr"): [1, "x"], ("p", "n"): [1.5, None]})
    read = frame.of_frame(given, "frame")
    assert read["p.lr"].tolist() == ["1", "x"]
    assert np.array_equal(read["p.n"], [1.5, np.nan], equal_nan=True)
    assert read.digest != frame.of_frame(given.iloc[::-1], "frame").digest
    rejects("must have columns and at least one line", frame.of_frame, given[:0], "frame")


def test_quoted_file_is_read_as_plain_one(tmp_path: Path) -> None:
    lines = [f"0.{i},a{i % 3},2024-01-0{i % 9 + 1},{'nan' if i == 7 else i}\n" for i in range(40)]
    plain = "".join(["lr,opt,when,acc\n", *lines])
    same = {
        "plain": plain, "quoted": plain.replace("a1", '"a1"'), "blank": plain.replace("\n0.5,", "\n\n0.5,"),
        "open": plain[:-1], "windows": plain.replace("\n", "\r\n"), "spaced": plain.replace(",", " , "),
        "digits": plain.replace("0.3,", "0.30000000000000001,").replace("0.7,", "7e-1,"),
        "bars": plain.replace(",", "|"),
        "trailing": plain.replace("\n", ",,\n").replace("acc,,", "acc"),
    }  # fmt: skip
    made = {}
    for name, text in same.items():
        (tmp_path / f"{name}.csv").write_bytes(text.encode())
        table = from_csv(tmp_path / f"{name}.csv", "acc", "max", name="a")
        made[name] = table.provenance.sha256, table.provenance.notes
    assert made == dict.fromkeys(same, made["plain"])
    large = plain + f"0.1,a0,2024-01-01,{2**53 + 1}.5\n"
    assert np.nanmax(from_text(large.encode(), "acc", "max").values) == 2.0**53 + 2


@pytest.mark.parametrize("texts", [["3.1", "3.9", "3.10", "3.11"], ["1", "01", "001", "2"], ["3.9", "3.10", "3.20"]])
def test_texts_of_choices_are_kept_and_those_that_are_one_number_are_asked(texts: list[str]) -> None:
    lines = [f"{t},{lr},.{7 * i % 13}{i}\n" for t in texts for i, lr in enumerate([".10", "1e-2", "0.5", "1.0", "+2"])]
    text = "".join(["py,lr,acc\n", *lines]).encode()
    table = from_text(text, categorical=["py"], ask=True)
    assert ([*table.space[0].values], len(table), table.repeats) == (sorted(texts), 5 * len(texts), 1)
    different = len({*map(float, texts)})
    if different < len(texts):
        rejects(
            "are one number; uncertain, --categorical py, --log py or --linear py settles it", from_text, text, ask=True
        )
    table = from_text(text, log={"py": False}, ask=True)
    assert (len(table.space[0].values), len(table)) == (different, 5 * different)


@pytest.mark.hostile
def test_runs_without_common_keys_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{f"a{i}": 1} for i in range(9_000)]))
    rejects(
        "a.json must have keys in common, got 9000 in 9000 runs with 9000 values", user.from_csv, tmp_path / "a.json"
    )
    cells = ",".join(f'""a{i}"": 1' for i in range(9_000))
    lines = [f'"{{{cells}}}",.5\n', *[f'"{{""b"": {i}}}",.{i}\n' for i in range(2_000)]]
    rejects("must have keys in common, got 9001 in 2001 runs", from_text, "".join(["params,acc\n", *lines]).encode())


@pytest.mark.parametrize("kind", [".parquet", ".feather", ".csv"])
def test_no_thread_keeps_file_that_is_read(kind: str, tmp_path: Path) -> None:
    """A thread that frees it at exit would crash Python: `terminate called without an active exception`."""
    made, path = pd.DataFrame(np.zeros((3000, 20))).add_prefix("x"), tmp_path / f"a{kind}"
    if kind == ".parquet":
        made.to_parquet(path, row_group_size=100)
    elif kind == ".feather":
        made.to_feather(path, chunksize=100)
    else:
        made.to_csv(path, index=False)
    content = files.content_of(path)
    for _ in range(20):
        before = sys.getrefcount(content)
        if kind == ".csv":
            files.of_csv("a", content, "")
        else:
            files._arrow(path, content, kind, unpacked.BYTES)
        assert sys.getrefcount(content) == before


@pytest.mark.hostile
def test_database_is_read_whatever_its_name_but_no_views(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna", reason="needs the extra optuna")
    study = optuna.create_study(study_name="a", storage=f"sqlite:///{tmp_path}/a.db")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), 3)
    content = (tmp_path / "a.db").read_bytes()
    names = ["a.db", "p%61.db", "q?b.db", "h#c.db"]
    for name in names:
        (tmp_path / name).write_bytes(content)
        assert len(user.from_csv(tmp_path / name)) == 3
    assert {p.name for p in tmp_path.iterdir()} == {*names}
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.execute("ALTER TABLE trials RENAME TO old")
        endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
        database.execute(f"CREATE VIEW trials AS {endless} SELECT old.* FROM old, r WHERE n < 0 /* INDEX x */")
    rejects("a.db must be a readable Optuna storage, got trials, which is not", user.from_csv, tmp_path / "a.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "h#c.db")) as database, database:
        database.execute("ALTER TABLE studies RENAME TO old")
        name = "study_name VARCHAR(512) GENERATED ALWAYS AS (hex(zeroblob(450000000)))"
        database.execute(f"CREATE TABLE studies (study_id INTEGER PRIMARY KEY, {name})")
        database.execute("INSERT INTO studies (study_id) VALUES (1)")
    rejects("c.db must be a readable Optuna storage, got studies, which", user.from_csv, tmp_path / "h#c.db")


@pytest.mark.hostile
@pytest.mark.parametrize("column", ["texts", "lists", "texts in lists"])
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_repeated_texts_and_long_lists_count_as_unpacked(suffix: str, column: str, tmp_path: Path) -> None:
    text = pa.DictionaryArray.from_arrays(np.zeros(200, np.int32), ["x" * 1_000_000])
    ends = pa.array([0, 100, 200] if column != "lists" else [0, 1, 20_000_000], pa.int32())
    values = pa.array(np.zeros(20_000_000, np.int8)) if column == "lists" else text
    cells = text if column == "texts" else pa.ListArray.from_arrays(ends, values)
    table = pa.table({"lr": np.arange(len(cells)) / len(cells), "v": cells, "acc": np.zeros(len(cells))})
    path = tmp_path / f"a{suffix}"
    (parquet.write_table if suffix == ".parquet" else feather.write_feather)(table, path, compression="zstd")
    assert path.stat().st_size < 50_000
    rejects("must be at most 10000000 bytes unpacked", user.from_csv, path)


def test_rows_of_arrow_file_are_counted_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, path = pa.table({"lr": np.zeros(2_000_000)}), tmp_path / "a.feather"
    feather.write_feather(table, path, compression="zstd", chunksize=len(table))
    monkeypatch.setattr(files, "_size", None)
    rejects("must be at most 10000000 bytes unpacked", user.from_csv, path)


@pytest.mark.hostile
def test_damaged_columns_end_in_one_error(tmp_path: Path) -> None:
    frame = pd.DataFrame({"lr": [0.1, 0.01, 0.001] * 3, "opt": ["adam", "sgd", "lamb"] * 3, "acc": np.arange(9) / 10})
    frame.to_parquet(tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    places = [place for place in range(len(content)) if content.startswith(b"lr", place)]
    for place in places:  # in the schema, in a column's facts, and in those of pandas
        (tmp_path / "a.parquet").write_bytes(content[:place] + b"lx" + content[place + 2 :])
        with contextlib.suppress(ValueError):
            user.from_csv(tmp_path / "a.parquet", "acc", "max")
    assert len(places) > 2
    columns = {"opt": ["a", "b", "c"], "acc": [0.1, 0.2, 0.3]}
    feather.write_feather(pa.table(columns), tmp_path / "a.feather", "uncompressed")
    offsets, beyond = (np.array([0, 1, 2, last], np.int32).tobytes() for last in (3, 10**9))
    content = (tmp_path / "a.feather").read_bytes()
    assert content.count(offsets) == 1
    (tmp_path / "a.feather").write_bytes(content.replace(offsets, beyond))
    rejects("a.feather must be feather, got another file", user.from_csv, tmp_path / "a.feather", "acc", "max")
