"""A file or folder of runs as columns: CSV, Parquet, Arrow, JSON, JSON lines, plain, in a zip or a gzip file."""

import codecs
import csv
import gzip
import hashlib
import io
import itertools
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from hpo_envs.tables.checks import regular
from hpo_envs.tables.user import json_runs
from hpo_envs.tables.user.cells import UNNAMED
from hpo_envs.tables.user.sheet import Sheet, of_frame

BYTES = 2_000_000_000
"""Largest plain file."""

SMALL, RATIO = 10_000_000, 50
"""A compressed file may hold so many bytes, or so many times its own: a tiny one may hold any number of lines."""

EXACT: dict[str, Any] = {"float_precision": "round_trip"} if [*map(int, pd.__version__.split(".")[:2])] < [3, 1] else {}
"""Reads each number as the nearest float; pandas 3.1 always does."""

TOO_LARGE = "{} must be at most {} bytes{} (max_bytes=, --max-bytes), got {}"


def of_path(path: Path, most: int | None = None) -> Sheet:
    """Read a file of runs, or a folder of JSON.

    Args:
        path: The file or folder.
        most: Largest size in bytes, unpacked; default: `BYTES`, less for compressed files, see `SMALL`.

    Raises:
        ValueError: A file of no known kind, or too large; lines are named.
        OSError: It cannot be read.
    """
    if path.is_dir():
        rows, names, digest = json_runs.of_folder(path, lambda file: content_of(file, most))
        return of_frame(pd.DataFrame(rows, dtype=object), str(path), digest, "run", names)
    content = content_of(path, most)
    digest = hashlib.sha256(content).hexdigest()
    kind = next((s for s in reversed(path.suffixes) if s not in (".gz", ".zip")), "").lower()
    if kind in (".json", ".jsonl", ".ndjson"):
        frame = pd.DataFrame(json_runs.of_text(str(path), content), dtype=object)
    elif kind in (".parquet", ".pq", ".arrow", ".feather", ".ipc"):
        frame = _arrow(path, content, kind, most or _unpacks(path))
    else:
        return of_csv(str(path), content, digest)
    return of_frame(frame, str(path), digest, "run" if "json" in kind else "row", range(1, len(frame) + 1))


def content_of(path: Path, most: int | None = None) -> bytes:
    """All of a regular file, unpacked.

    Raises:
        ValueError: A pipe or device, more bytes than allowed, or a damaged archive.
        OSError: It cannot be read.
    """
    packed = path.suffix in (".gz", ".zip")
    limit = most or (_unpacks(path) if packed else BYTES)
    try:
        with open(regular(path), "rb") as file, _unpacked(path, file) as stream:
            content: bytes = stream.read(limit + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} must be a {'zip' if path.suffix == '.zip' else 'gzip'} file, got {error}") from None
    if len(content) > limit:
        raise ValueError(TOO_LARGE.format(path, limit, " unpacked" if packed else "", "more"))
    return content


def _unpacks(path: Path) -> int:
    """How many bytes a compressed file may hold."""
    return min(BYTES, max(SMALL, RATIO * path.stat().st_size))


def _unpacked(path: Path, file: io.BufferedReader) -> Any:
    if path.suffix == ".gz":
        return gzip.GzipFile(fileobj=file)
    if path.suffix != ".zip":
        return file
    archive = zipfile.ZipFile(file)
    names = [n for n in archive.namelist() if not n.endswith("/")]
    if len(names) != 1:
        raise ValueError(f"{path} must hold one file, got {len(names)}")
    return archive.open(names[0])


def _arrow(path: Path, content: bytes, kind: str, limit: int) -> pd.DataFrame:
    """The frame of a Parquet or Arrow file; an index that pandas wrote is no column."""
    # On this thread and from memory: a thread of Arrow that outlives its stream brings Python down as it ends.
    from pyarrow import feather, parquet

    try:
        if kind not in (".parquet", ".pq"):
            return feather.read_table(pa.BufferReader(content), use_threads=False).to_pandas()
        file = parquet.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        size = 8 * file.metadata.num_rows * file.metadata.num_columns
        if size <= limit:
            return file.read(use_threads=False).to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} must be {kind[1:]}, got a file that is none: {str(error)[:80]}") from None
    raise ValueError(TOO_LARGE.format(path, limit, " unpacked", size))


def of_csv(source: str, content: bytes, digest: str) -> Sheet:
    """The columns of CSV text, with commas, semicolons, tabs or bars between cells, in UTF-8 or UTF-16.

    Raises:
        ValueError: Lines that are no CSV or have more or fewer cells than the header; they are named.
    """
    utf16 = content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    try:
        stream = io.StringIO(content.decode("utf-16" if utf16 else "utf-8-sig"), newline="")
    except UnicodeDecodeError as error:
        raise ValueError(f"{source} must be UTF-8 text, got byte {error.object[error.start]:#x}") from None
    comment = re.compile(r"\s*$|#|sep=", re.I)
    skipped, first = next(((i, line) for i, line in enumerate(stream) if not comment.match(line)), (0, ""))
    delimiter = max(",;\t|", key=first.count)
    lines = csv.reader(itertools.chain([first], stream), delimiter=delimiter, strict=True)
    numbers, kept, width = [], [], 0
    try:
        header = _header(source, lines, skipped)
        start = stream.tell()
        for cells in lines:  # whose structure is checked; pandas reads what they say
            kept.append(any(c.strip() for c in cells))
            numbers.append(skipped + lines.line_num)
            width = max(width, len(cells))
            if kept[-1] and (len(cells) < len(header) or any(c.strip() for c in cells[len(header) :])):
                got = f"must have {len(header)} cells like the header, got {len(cells)}"
                raise ValueError(f"{source}: line {numbers[-1]}: {got}")
    except csv.Error as error:
        raise ValueError(f"{source}: line {skipped + lines.line_num}: must be CSV, got {error}") from None
    if not any(kept):
        raise ValueError(f"{source} must have a header and at least one line, got 1 line(s)")
    frame = _cells(source, stream, start, delimiter, width)
    if len(frame) != len(kept):
        raise ValueError(f"{source} must be CSV without NUL characters, got {len(frame)} lines of {len(kept)}")
    frame = frame.iloc[:, : len(header)].set_axis(header, axis=1).set_axis(numbers)[kept]
    # What trails a line is no column: nothing has a name there, nor a value.
    nothing = [n for n in header if n.startswith(UNNAMED) and frame[n].isna().all()]
    return of_frame(frame.drop(columns=nothing), source, digest, "line", frame.index)


def _cells(source: str, stream: io.StringIO, start: int, delimiter: str, width: int) -> pd.DataFrame:
    def read(**options: Any) -> pd.DataFrame:
        stream.seek(start)
        return pd.read_csv(
            stream, sep=delimiter, header=None, names=range(width), index_col=False, skip_blank_lines=False,
            na_values=[""], keep_default_na=False, low_memory=False, **options,
        )  # fmt: skip

    try:
        frame = read(**EXACT)
        large = any(c.dtype.kind == "f" and c.abs().max() >= 2**53 for _, c in frame.items())
        return read(dtype=str) if large else frame  # digits that a float lacks
    except (pd.errors.ParserError, pd.errors.EmptyDataError, OverflowError) as error:
        raise ValueError(f"{source} must be CSV, got {error}") from None


def _header(source: str, lines: Any, skipped: int) -> list[str]:
    header = [c.strip() for c in next(lines, [])]
    if not any(header):
        raise ValueError(f"{source} must have a header and at least one line, got 0 line(s)")
    number = skipped + lines.line_num
    named = [c for c in header if c]
    if len(set(named)) < len(named):
        # A frame with two levels of columns has a second line under the first, with names where the first repeats.
        below = [c.strip() for c in next(lines, [])]
        if not all(below) and not any(c[:1].isdigit() for c in below):
            header = [f"{a}_{b}" if b else a for a, b in itertools.zip_longest(header, below, fillvalue="")]
    for j, column in enumerate(header):
        if column and column in header[:j]:
            got = f"columns must have names, each once, got {column!r} as column {j + 1}"
            raise ValueError(f"{source}: line {number}: {got}")
    return [c or f"{UNNAMED}{j}" for j, c in enumerate(header)]
