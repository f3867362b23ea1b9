"""A file or folder of runs as columns: CSV, Parquet, Arrow, JSON, JSON lines, plain, in a zip or a gzip file."""

from __future__ import annotations

import array
import codecs
import csv
import gzip
import hashlib
import io
import itertools
import stat
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from hpo_envs.tables.user.reading import json_runs
from hpo_envs.tables.user.reading.cells import Cells, Text
from hpo_envs.tables.user.reading.sheet import UNNAMED, Sheet, of_frame, of_rows

BYTES = 2_000_000_000
"""Largest plain file."""

UNPACKED = 100_000_000
"""Largest content of a compressed file: a small one may hold any number of lines."""


EXACT: dict[str, Any] = {"float_precision": "round_trip"} if [*map(int, pd.__version__.split(".")[:2])] < [3, 1] else {}
"""Reads each number as the nearest float; pandas 3.1 always does."""


def of_path(path: Path, most: int | None = None) -> Sheet:
    """Reads a file of runs, or a folder of JSON.

    Args:
        path: The file or folder.
        most: Largest size in bytes, unpacked; default: `BYTES`, of compressed files `UNPACKED`.

    Raises:
        ValueError: A file of no known kind, or too large; lines are named.
        OSError: It cannot be read.
    """
    if path.is_dir():
        rows, names, digest = json_runs.of_folder(path, lambda file: content_of(file, most))
        return of_rows(str(path), rows, "run", names, digest)
    content = content_of(path, most)
    digest = hashlib.sha256(content).hexdigest()
    kind = next((s for s in reversed(path.suffixes) if s not in (".gz", ".zip")), "").lower()
    if kind in (".json", ".jsonl", ".ndjson"):
        rows = json_runs.of_text(str(path), content)
        return of_rows(str(path), rows, "run", range(1, len(rows) + 1), digest)
    if kind in (".parquet", ".pq", ".arrow", ".feather", ".ipc"):
        return of_frame(_arrow(path, content, kind, most or BYTES), str(path), digest, "row", 1)
    return of_csv(str(path), content, digest)


def content_of(path: Path, most: int | None = None) -> bytes:
    """All of a regular file, unpacked.

    Raises:
        ValueError: A pipe or device, more bytes than allowed, or a damaged archive.
        OSError: It cannot be read.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path} must be a regular file or a folder, got a pipe or a device")
    packed = path.suffix in (".gz", ".zip")
    limit = most or (UNPACKED if packed else BYTES)
    try:
        with open(path, "rb") as file, _unpacked(path, file) as stream:
            content = stream.read(limit + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} must be a {'zip' if path.suffix == '.zip' else 'gzip'} file, got {error}") from None
    if len(content) > limit:
        unpacked = " unpacked" if packed else ""
        raise ValueError(f"{path} must be at most {limit} bytes{unpacked} (max_bytes=, --max-bytes), got more")
    return content


def _unpacked(path: Path, file: io.BufferedReader) -> io.BufferedIOBase | zipfile.ZipExtFile:
    if path.suffix == ".gz":
        return gzip.GzipFile(fileobj=file)
    if path.suffix != ".zip":
        return file
    archive = zipfile.ZipFile(file)
    names = [n for n in archive.namelist() if not n.endswith("/")]
    if len(names) != 1:
        raise ValueError(f"{path} must hold one file, got {len(names)}")
    return archive.open(names[0])  # type: ignore[return-value]


def _arrow(path: Path, content: bytes, kind: str, limit: int) -> pd.DataFrame:
    """The frame of a Parquet or Arrow file; an index that pandas wrote is no column."""
    from pyarrow import feather, parquet

    freed = {"split_blocks": True, "self_destruct": True}  # columns that are converted
    try:
        # On this thread and from memory: a thread of Arrow that outlives its stream brings Python down as it ends.
        if kind not in (".parquet", ".pq"):
            return feather.read_table(pa.BufferReader(content), use_threads=False).to_pandas(**freed)
        file = parquet.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        if (size := 8 * file.metadata.num_rows * file.metadata.num_columns) > limit:
            raise ValueError(f"{path} must be at most {limit} bytes unpacked (max_bytes=, --max-bytes), got {size}")
        return file.read(use_threads=False).to_pandas(**freed)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, ValueError) and str(error).startswith(str(path)):
            raise
        raise ValueError(f"{path} must be {kind[1:]}, got a file that is none: {str(error)[:80]}") from None


def of_csv(source: str, content: bytes, digest: str) -> Sheet:
    """The columns of CSV text, with commas, semicolons, tabs or bars between cells, in UTF-8 or UTF-16.

    pandas reads a plain file. Any other one, with quotes, empty lines, two headers or lines of different lengths, is
    read line by line: its cells become text, and what is wrong is named.
    """
    try:
        if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            content = content.decode("utf-16").encode()
        content = content.removeprefix(codecs.BOM_UTF8)
        frame = _plain(content)
        if frame is not None:
            return of_frame(frame, source, digest)
        lines = _lines(source, content.decode())
    except UnicodeError as error:
        got = f"byte {error.object[error.start]:#x}" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ValueError(f"{source} must be UTF-8 text, got {got}") from None
    header = _header(source, lines)
    numbers, codes = array.array("q"), [array.array("q") for _ in header]
    different: list[dict[str, int]] = [{} for _ in header]
    for number, cells in lines:
        if len(cells) < len(header) or any(c.strip() for c in cells[len(header) :]):
            got = f"must have {len(header)} cells like the header, got {len(cells)}"
            raise ValueError(f"{source}: line {number}: {got}")
        numbers.append(number)
        for code, known, cell in zip(codes, different, cells, strict=False):
            code.append(known.setdefault(cell.strip(), len(known)))
    if not numbers:
        raise ValueError(f"{source} must have a header and at least one line, got 1 line(s)")
    columns: dict[str, Cells] = {
        name: Text(np.array(code, np.intp), tuple(known))
        for name, code, known in zip(header, codes, different, strict=True)
    }
    # What trails a line is no column: nothing has a name there, nor a value.
    columns = {
        n: c for n, c in columns.items() if not n.startswith(UNNAMED) or list(different[header.index(n)]) != [""]
    }
    return Sheet(source, columns, "line", np.array(numbers), digest)


def _plain(content: bytes) -> pd.DataFrame | None:
    """The frame of a file without quotes, marks, comments and empty or ragged lines; of any other one None."""
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    first = content[: content.find(b"\n") + 1].decode()
    delimiter = max(",;\t|", key=first.count)
    names = [n.strip() for n in first.split(delimiter)]
    odd = any(mark in content for mark in (b'"', b"\0", b"\n\n", b"\n\r", codecs.BOM_UTF8))
    ragged = content.count(delimiter.encode()) != lines * (len(names) - 1) or len(names) < 2
    if odd or ragged or content.count(b"\r") != content.count(b"\r\n") or _comment(first) or lines < 2:
        return None
    if not all(names) or len(set(names)) < len(names):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.DtypeWarning)
            frame = pd.read_csv(
                io.BytesIO(content), sep=delimiter, header=None, names=names, skiprows=1, index_col=False, quoting=3,
                na_values=[""], keep_default_na=False, encoding="utf-8", **EXACT,
            )  # fmt: skip
    except (pd.errors.ParserError, pd.errors.DtypeWarning, OverflowError):
        return None
    large = any(c.dtype.kind == "f" and c.abs().max() >= 2**53 for _, c in frame.items())  # digits that a float lacks
    return None if large or len(frame) != lines - 1 else frame


def _comment(line: str) -> bool:
    return not line.strip() or line.startswith("#") or line.lower().startswith("sep=")


def _lines(source: str, content: str) -> Iterator[tuple[int, list[str]]]:
    """(number of the line, cells) of every line that is not empty."""
    stream = io.StringIO(content, newline="")
    first, skipped = stream.readline(), 0
    while first and _comment(first):
        first, skipped = stream.readline(), skipped + 1
    reader = csv.reader(itertools.chain([first], stream), delimiter=max(",;\t|", key=first.count), strict=True)
    try:
        for cells in reader:
            if any(c.strip() for c in cells):
                yield skipped + reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"{source}: line {skipped + reader.line_num}: must be CSV, got {error}") from None


def _header(source: str, lines: Iterator[tuple[int, list[str]]]) -> list[str]:
    number, cells = next(lines, (1, []))
    if not cells:
        raise ValueError(f"{source} must have a header and at least one line, got 0 line(s)")
    header = [c.strip() for c in cells]
    named = [c for c in header if c]
    if len(set(named)) < len(named):
        # A frame with two levels of columns has a second line under the first, with names where the first repeats.
        below = [c.strip() for c in next(lines, (0, []))[1]]
        if not all(below) and not any(c[:1].isdigit() for c in below):
            header = [f"{a}_{b}" if b else a for a, b in itertools.zip_longest(header, below, fillvalue="")]
    for j, column in enumerate(header):
        if column and column in header[:j]:
            got = f"columns must have names, each once, got {column!r} as column {j + 1}"
            raise ValueError(f"{source}: line {number}: {got}")
    return [c or f"{UNNAMED}{j}" for j, c in enumerate(header)]
