"""A file or frame as columns of Arrow, before anybody has said what they mean."""

from __future__ import annotations

import codecs
import csv
import dataclasses
import hashlib
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

BYTES = 2_000_000_000
"""Largest file, unpacked."""

LARGE = 5_000_000
"""From so many bytes on, CSV is parsed by Arrow where it is plain."""

BLOCK = 1 << 22
"""Bytes of such a file that are in memory at a time."""

LINES = 20_000
"""Lines of text that are in memory as Python's strings at a time."""


@dataclass(frozen=True)
class Sheet:
    """What was read: one entry of each column a line.

    Attributes:
        source: What to call it in errors and in the provenance.
        columns: Name -> values.
        unit: What a line is called ("line", "row", "run").
        numbers: (lines,) number or name of each.
        digest: SHA-256 of the content.
        notes: What was done on the way, a sentence each.
    """

    source: str
    columns: dict[str, pa.ChunkedArray]
    unit: str
    numbers: npt.NDArray[Any]
    digest: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.numbers)

    def where(self, line: int) -> str:
        """What to call a line in an error."""
        return f"{self.unit} {self.numbers[line]}"

    def only(self, kept: npt.NDArray[np.bool_]) -> Sheet:
        """The lines of a mask (lines,)."""
        mask = pa.array(kept)
        columns = {name: column.filter(mask) for name, column in self.columns.items()}
        return dataclasses.replace(self, columns=columns, numbers=self.numbers[kept])


def of_frame(frame: Any, source: str) -> Sheet:
    """The columns of a pandas DataFrame or of an Arrow table; lines are counted from 2, as in a file.

    Numbers are not copied. Cells of a column that mixes types become text.
    """
    columns: dict[str, pa.ChunkedArray] = {}
    if isinstance(frame, pa.Table):
        named: Iterable[tuple[Any, Any]] = zip(frame.column_names, frame.columns, strict=True)
    else:
        named = ((name, frame.iloc[:, j]) for j, name in enumerate(frame.columns))
    digest = hashlib.sha256()
    for label, values in named:
        name = ".".join(str(part) for part in label if str(part)) if isinstance(label, tuple) else str(label)
        if name in columns:
            raise ValueError(f"{source}: columns must have names, each once, got {name!r} twice")
        column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([_array(values)])
        columns |= _flat(name, column)
        digest.update(name.encode(errors="replace"))
        for buffer in itertools.chain.from_iterable(chunk.buffers() for chunk in column.chunks):
            digest.update(buffer or b"")
    if not columns or len(frame) == 0:
        raise ValueError(f"{source} must have columns and at least one line, got {len(columns)} and {len(frame)}")
    return Sheet(source, columns, "line", np.arange(2, len(frame) + 2), digest.hexdigest())


def _array(values: Any) -> pa.Array:
    # Mappings in cells stay text: fields of a struct do not tell None from a key that is not there.
    if len(values) and isinstance(values.iloc[0], Mapping):
        return pa.array([None if v is None or v != v else str(v) for v in values], pa.string())
    try:
        made = pa.Array.from_pandas(values)
        return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([None if v is None or v != v else str(v) for v in values], pa.string())


def _flat(name: str, column: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    """Columns of the fields of a struct, else the column."""
    if not pa.types.is_struct(column.type):
        return {name: column}
    parts = pa.table({name: column}).flatten()
    return {k: v for n, c in zip(parts.column_names, parts.columns, strict=True) for k, v in _flat(n, c).items()}


def of_rows(source: str, rows: Sequence[Mapping[str, Any]], unit: str, numbers: Sequence[Any], digest: str) -> Sheet:
    """The columns of mappings, None where a mapping lacks one."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: pa.chunked_array([_plain([row.get(name) for row in rows])]) for name in names}
    return Sheet(source, columns, unit, np.array(numbers), digest)


def _plain(values: list[Any]) -> pa.Array:
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {int, float} or kinds == {bool}:
        try:
            return pa.array(values)
        except (OverflowError, pa.ArrowInvalid):
            pass
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def of_arrow(source: str, stream: BinaryIO, kind: str, digest: str) -> Sheet:
    """The columns of a Parquet or Arrow file, by its suffix; an index that pandas wrote is no column."""
    from pyarrow import feather, parquet

    try:
        # A thread of Arrow that reads ahead lets the stream go a moment late: as Python ends, that brings it down.
        # Nothing reads ahead without a buffer, nor in memory, where columns of an Arrow file stay as they are.
        if kind in (".parquet", ".pq"):
            table = parquet.ParquetFile(stream, pre_buffer=False).read(use_threads=False)
        else:
            table = feather.read_table(pa.BufferReader(stream.read()), use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{source} must be {kind[1:]}, got a file that is none: {str(error)[:80]}") from None
    table = table.drop_columns([c for c in table.column_names if c.startswith("__index_level_")])
    sheet = of_frame(table, source)
    return dataclasses.replace(sheet, unit="row", numbers=np.arange(1, len(sheet) + 1), digest=digest)


def of_csv(source: str, stream: BinaryIO, digest: str) -> Sheet:
    """The columns of CSV text, with commas, semicolons, tabs or bars between cells, in UTF-8 or UTF-16."""
    fast = _of_large_csv(source, stream, digest)
    if fast is not None:
        return fast
    head = stream.read(4)
    stream.seek(0)
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = io.TextIOWrapper(stream, encoding, newline="")
    try:
        lines = _lines(source, text)
        header = _header(source, lines)
        parts: list[list[pa.Array]] = [[] for _ in header]
        numbers: list[npt.NDArray[np.int64]] = []
        while batch := list(itertools.islice(lines, LINES)):
            numbers.append(np.array([n for n, _ in batch], np.int64))
            cells = [_cells(source, n, c, len(header)) for n, c in batch]
            for part, column in zip(parts, zip(*cells, strict=True), strict=True):
                part.append(pa.array(column, pa.string()))
    except UnicodeDecodeError as error:
        raise ValueError(f"{source} must be UTF-8 text, got byte {error.object[error.start]:#x}") from None
    finally:
        text.detach()
    if not numbers:
        raise ValueError(f"{source} must have a header and at least one line, got 1 line(s)")
    columns = {name: pa.chunked_array(part) for name, part in zip(header, parts, strict=True)}
    # What trails a line is no column: nothing has a name there, nor a value.
    columns = {n: c for n, c in columns.items() if not n.startswith(UNNAMED) or c.unique().to_pylist() != [""]}
    return Sheet(source, columns, "line", np.concatenate(numbers), digest)


def _of_large_csv(source: str, stream: BinaryIO, digest: str) -> Sheet | None:
    """A large file of nothing but plain cells, parsed by Arrow; None where something asks for a closer look."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    if size < LARGE:
        return None
    try:
        first = stream.readline()
        head = first.decode("utf-8-sig").strip()
        delimiter = max(",;\t|", key=head.count)
        names = [n.strip() for n in head.split(delimiter)]
        odd = b'"' in first or first[:1] == b"#" or head.lower().startswith("sep=")
        if odd or not all(names) or len(set(names)) < len(names):
            return None
        try:
            read = _in_blocks(stream, names, delimiter, BLOCK)
        except pa.ArrowInvalid:  # cells of another type than those of the first block: all are looked at
            stream.seek(len(first))
            read = _in_blocks(stream, names, delimiter, size)
    except (UnicodeDecodeError, pa.ArrowException):
        return None
    finally:
        stream.seek(0)
    # Times of day are text elsewhere, and large numbers have digits that a float has not.
    if read is None or any(
        pa.types.is_time(c.type) or (pa.types.is_floating(c.type) and (pc.max(pc.abs(c)).as_py() or 0) >= 2**53)
        for c in read.columns
    ):
        return None
    return Sheet(source, dict(zip(names, read.columns, strict=True)), "line", np.arange(2, len(read) + 2), digest)


def _in_blocks(stream: BinaryIO, names: list[str], delimiter: str, size: int) -> pa.Table | None:
    """Lines without a header, cells as in the first block; None with quotes, marks, empty lines or hexadecimals."""
    parts: list[pa.Table] = []
    while block := stream.read(size):
        block += stream.readline()
        # From memory, on one thread: see `of_arrow`.
        part = arrow_csv.read_csv(
            pa.BufferReader(block),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(block), column_names=names),
            arrow_csv.ParseOptions(delimiter=delimiter, quote_char=False),
            arrow_csv.ConvertOptions(
                null_values=[""],
                true_values=["true", "True", "TRUE"],  # and no 1 beside them
                false_values=["false", "False", "FALSE"],
                strings_can_be_null=False,
                column_types=parts[0].schema if parts else None,
            ),
        )
        lines = block.count(b"\n") + (not block.endswith(b"\n"))
        # Arrow reads 0x1F as 31.
        if len(part) != lines or any(mark in block for mark in (b'"', codecs.BOM_UTF8, b"0x", b"0X")):
            return None
        parts.append(part)
    return pa.concat_tables(parts).combine_chunks() if parts else None


UNNAMED = "Unnamed: "
"""Start of the names of columns without one, as pandas calls them: most are the index of a frame."""


def _lines(source: str, text: io.TextIOWrapper) -> Iterator[tuple[int, list[str]]]:
    """(number of the line, cells) of every line that is not empty."""
    first, skipped = text.readline(), 0
    while first and (not first.strip() or first.startswith("#") or first.lower().startswith("sep=")):
        first, skipped = text.readline(), skipped + 1
    reader = csv.reader(itertools.chain([first], text), delimiter=max(",;\t|", key=first.count), strict=True)
    try:
        for cells in reader:
            if any(cells) and any(c.strip() for c in cells):
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
        _, below = next(lines, (0, []))
        below = [c.strip() for c in below] + [""] * (len(header) - len(below))
        joined = [f"{a}_{b}" if b else a for a, b in zip(header, below, strict=False)]
        if not all(below) and not any(c[:1].isdigit() for c in below):
            header = joined
    for j, column in enumerate(header):
        if column and column in header[:j]:
            raise ValueError(
                f"{source}: line {number}: columns must have names, each once, got {column!r} as column {j + 1}"
            )
    return [c or f"{UNNAMED}{j}" for j, c in enumerate(header)]


def _cells(source: str, number: int, cells: list[str], width: int) -> list[str]:
    if len(cells) == width or (len(cells) > width and not any(c.strip() for c in cells[width:])):
        return cells[:width]
    raise ValueError(f"{source}: line {number}: must have {width} cells like the header, got {len(cells)}")
