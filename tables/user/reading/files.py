"""A file of runs as a frame: encoding, delimiter and header of CSV; Parquet, Arrow, JSON lines, Syne Tune, DEHB."""

import codecs
import csv
import functools
import hashlib
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from hpo_envs.tables.checks import utf8
from hpo_envs.tables.files import unpacked
from hpo_envs.tables.user.cells import CHOICES, UNNAMED
from hpo_envs.tables.user.cells import number as number_of
from hpo_envs.tables.user.frame import Decision, Frame, check_columns, of_frame, of_lines
from hpo_envs.tables.user.reading import documents, folders, studies

EXACT: dict[str, Any] = {"float_precision": "round_trip"} if [*map(int, pd.__version__.split(".")[:2])] < [3, 1] else {}
"""Option with which pandas reads each number as the nearest float; empty from pandas 3.1, where it is the default."""

RESULTS = ("results.csv.zip", "results.csv", "history.parquet.gzip")
"""Files that contain all runs of a folder: Syne Tune's and DEHB's."""

OPTION = " (max_bytes=, --max-bytes)"
"""Text for error messages that names the options for larger files."""

content_of = functools.partial(unpacked.content_of, option=OPTION)


_ZEROS = re.compile(rb"(?<![\d.eE+-])0\d|\.\d*[1-9]0+(?!\d)")
"""Pattern of numbers with zeros that a float does not keep: before a whole number, or after a fraction."""


_THOUSANDS = re.compile(r"[+-]?([1-9]\d{0,2}\.)?\d{3}|\d{1,2}")
"""Pattern of numbers below a million whose point may separate thousands, and of those below a thousand."""


def of_path(path: Path, most: int | None = None) -> Frame:
    """Read a file of runs, or a folder of files, each of at most `most` bytes unpacked; default: see `content_of`.

    Raises:
        ValueError: The file is not valid for its suffix, or too large; lines are named.
        OSError: The file cannot be read.
        ModuleNotFoundError: The file is an Optuna storage, and Optuna is not installed.
    """
    results = next((path / n for n in RESULTS if (path / n).is_file()), None)
    if results is not None:
        return replace(of_path(results, most), known=_metadata(path / "metadata.json"))
    if path.is_dir():
        return folders.of_folder(path, functools.partial(content_of, most=most), of_csv)
    content = content_of(path, most)
    digest = hashlib.sha256(content).hexdigest()
    kind = next((s for s in reversed(Path(path.name.lower()).suffixes) if s not in (".gz", ".zip", ".gzip")), "")
    if studies.is_storage(content):
        return studies.of_storage(path, content)
    if kind in (".json", ".jsonl", ".ndjson"):
        document = documents.of_json(str(path), content)
        frame = of_lines(str(path), document.lines)
        places = range(1, len(frame) + 1)
        return of_frame(frame, str(path), digest, places, unit="run", decisions=document.decisions)
    if kind in (".parquet", ".pq", ".arrow", ".feather", ".ipc"):
        frame = _arrow(path, content, kind, most or unpacked.limit_of(path))
        return of_frame(frame, str(path), digest, range(1, len(frame) + 1), unit="row")
    return of_csv(str(path), content, digest)


def _metadata(path: Path) -> dict[str, Any]:
    """Facts on the columns in the metadata of a Syne Tune experiment; empty if there is no file."""
    try:
        facts = json.loads(content_of(path)) if path.is_file() else None
        if facts is None:
            return {}
        names, mode = facts["metric_names"], facts["metric_mode"]
        goal = [mode] * len(names) if isinstance(mode, str) else list(mode)
        return {"score": names, "goal": goal, "level": facts.get("scheduler_kwargs", {}).get("time_attr")}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} must be the metadata of a Syne Tune experiment, got {error!r}") from None


def _arrow(path: Path, content: bytes, kind: str, limit: int) -> pd.DataFrame:
    """The frame of a Parquet or Arrow file; ValueError if it is damaged, or larger than `limit` when it is unpacked."""
    # On this thread and from memory: a thread of Arrow that outlives its stream brings Python down as it ends.
    from pyarrow import feather, parquet

    try:
        if kind in (".parquet", ".pq"):
            sizes, read = _parquet_sizes(content), parquet.ParquetFile(pa.BufferReader(content), pre_buffer=False).read
        else:
            sizes, read = _arrow_sizes(content), functools.partial(feather.read_table, pa.BufferReader(content))
        size = next((size for size in sizes if size > limit), 0)
        if not size:
            table = read(use_threads=False)
            table.validate(full=True)
            return table.to_pandas()
    except (pa.ArrowException, OSError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path} must be {kind[1:]}, got another file: {str(error)[:80]}") from None
    raise ValueError(unpacked.TOO_LARGE.format(path, limit, " unpacked" + OPTION, size))


def _parquet_sizes(content: bytes) -> Iterator[int]:
    """Lower bounds of the unpacked size of a Parquet file: by what it states, then by its texts, read once each."""
    from pyarrow import parquet

    facts = parquet.read_metadata(pa.BufferReader(content))
    yield unpacked.parquet_size(facts)
    columns = (facts.schema.column(k) for k in range(facts.num_columns))
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    file = parquet.ParquetFile(pa.BufferReader(content), pre_buffer=False, read_dictionary=texts)
    size = 0
    for group in range(facts.num_row_groups if texts else 0):
        for column in file.read_row_group(group, texts, use_threads=False).columns:
            size += sum(int(_size(chunk)) for chunk in column.chunks)
        yield size


def _arrow_sizes(content: bytes) -> Iterator[int]:
    """Lower bounds of the unpacked size of an Arrow file: by its rows, then by what each column of each batch adds."""
    from pyarrow import dataset

    if content[:6] != b"ARROW1":
        yield len(content)  # the first version of Feather is not compressed
        return
    with pa.ipc.open_file(pa.BufferReader(content)) as whole:
        columns = len(whole.schema)
    yield 8 * columns * dataset.IpcFileFormat().make_fragment(pa.py_buffer(content)).count_rows()
    size = 0
    for k in range(columns):
        one = pa.ipc.IpcReadOptions(included_fields=[k], use_threads=False)
        with pa.ipc.open_file(pa.BufferReader(content), options=one) as file:
            for i in range(file.num_record_batches):
                column = file.get_batch(i).column(0)
                column.validate(full=True)  # damaged offsets would be followed to anywhere in memory
                size += _size(column)
                yield size


def _is_text(kind: Any) -> bool:
    large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return bool(large or pa.types.is_string(kind) or pa.types.is_binary(kind))


def _size(array: Any) -> int:
    """Unpacked size of an array of Arrow in bytes: at least 8 for each cell, also inside cells, and all its texts."""
    types: Any = pa.types
    kind, cells, size = array.type, len(array), int(max(8 * len(array), array.nbytes))
    if isinstance(array, pa.ExtensionArray):
        return _size(array.storage)
    if types.is_dictionary(kind):
        if _is_text(kind.value_type):
            size += int(pc.sum(pc.take(pc.binary_length(array.dictionary), array.indices)).as_py() or 0)
        return cells * _size(array.dictionary) if types.is_nested(kind.value_type) else size
    if types.is_string_view(kind):  # many may show one text
        return sum(int(_size(array[i : i + 100].cast(pa.large_string()))) for i in range(0, cells, 100))
    if types.is_map(kind):
        return size + _size(array.keys) + _size(array.items)
    if types.is_struct(kind) or types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = array.flatten()
        return size + sum(int(_size(part)) for part in (inner if isinstance(inner, list) else [inner]))
    plain = types.is_primitive(kind) or types.is_decimal(kind) or types.is_null(kind) or _is_text(kind)
    return size if plain else cells * size  # views, runs and unions may repeat what they hold


def of_csv(source: str, content: bytes, digest: str = "") -> Frame:
    """Return the frame of CSV text in UTF-8 or UTF-16, separated by commas, semicolons, tabs or vertical bars.

    Raises:
        ValueError: The text is in another encoding, or has no line below its header or too many columns; or a line,
            which is named, is not CSV, or has fewer cells than the header or more that are not empty.
    """
    encoding = "utf-16" if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    utf8(source, content, encoding)
    text = functools.partial(_text, content, encoding)
    comment = re.compile(r"\s*$|#|sep=", re.I)
    skipped, first = next(((i, line) for i, line in enumerate(text(0)) if not comment.match(line)), (0, ""))
    delimiter = max(",;\t|", key=first.count)
    lines = csv.reader(text(skipped), delimiter=delimiter, strict=True)
    head: list[tuple[list[str], int]] = []  # cells, number of the last line
    numbers, kept, width = [], [], 0
    try:
        head.extend(([c.strip() for c in cells], skipped + lines.line_num) for cells in itertools.islice(lines, 4))
        check_columns(source, max((len(cells) for cells, _ in head), default=0))
        header, rows = _header(source, [cells for cells, _ in head])
        skipped = head[rows - 1][1]
        lines = csv.reader(text(skipped), delimiter=delimiter, strict=True)
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
        raise ValueError(f"{source} must have a header and at least one line below it, got a header alone")
    plain = content.replace(b"\0", b"")
    commas = re.search(rb'"[^"\n]*\d,\d' if delimiter == "," else rb"\d,\d", plain)
    frame = _cells(source, functools.partial(text, skipped), delimiter, width, bool(commas), bool(_ZEROS.search(plain)))
    frame = frame.iloc[:, : len(header)].set_axis(header, axis=1).set_axis(numbers)[kept]
    # What trails a line is no column: nothing has a name there, nor a value.
    nothing = [n for n in header if n.startswith(UNNAMED) and frame[n].isna().all()]
    said = [Decision("file", (), f"{rows} lines of header, read as one")] if rows > 1 else []
    again = tuple(n for n in header if rows == 1 and n not in head[0][0] and not n.startswith(UNNAMED))
    note = "called so as an earlier column has the same name"
    said += [Decision("file", again, note, f"--drop {quote(again[0])} or other names")] if again else []
    frame = frame.drop(columns=nothing)
    return of_frame(frame, source, digest, frame.index, delimiter=delimiter, decisions=tuple(said))


def _text(content: bytes, encoding: str, skipped: int) -> io.TextIOWrapper:
    """A stream of the text of a file after its first `skipped` lines."""
    stream = io.TextIOWrapper(io.BytesIO(content), encoding, newline="")
    for _ in range(skipped):
        stream.readline()
    return stream


def _cells(source: str, rows: Callable[[], Any], delimiter: str, width: int, texts: bool, zeros: bool) -> pd.DataFrame:
    """Read the cells of CSV; all as texts if `texts`, or if a number is too large to be exact as a float.

    If `zeros`, columns of few numbers are texts, too, where a float would lose the zeros of one, such as 3.10 or 007;
    and unless commas separate cells, so are those whose points may separate thousands.
    """

    def read(**options: Any) -> pd.DataFrame:
        return pd.read_csv(
            rows(), sep=delimiter, header=None, names=range(width), index_col=False, skip_blank_lines=False,
            na_values=[""], keep_default_na=False, low_memory=False, **options,
        )  # fmt: skip

    try:
        if texts:
            return read(dtype=str)
        frame = read(**EXACT)
        if any(c.dtype.kind == "f" and c.abs().max() >= 2**53 for _, c in frame.items()):
            return read(dtype=str)
        numbers = {j: c for j, c in frame.items() if c.dtype.kind in "if"}
        few = {j for j, c in numbers.items() if zeros and c.nunique() <= CHOICES}
        some = {j for j, c in numbers.items() if delimiter != "," and c.abs().dropna().between(1, 999.9995).all()}
        for j, cells in read(dtype=str, usecols=[*few | some]).items() if few | some else ():
            written = [t.strip() for t in cells.dropna().unique()]
            grouped = j in some and any("." in t for t in written) and all(map(_THOUSANDS.fullmatch, written))
            if grouped or (j in few and any(_ZEROS.search(t.encode()) for t in written)):
                frame[j] = cells
        return frame
    except (pd.errors.ParserError, pd.errors.EmptyDataError, OverflowError) as error:
        raise ValueError(f"{source} must be CSV, got {error}") from None


def _header(source: str, rows: list[list[str]]) -> tuple[list[str], int]:
    """The names of columns, and the number of lines of the header.

    If names repeat or are empty, a second line completes them, as in two-level headers of pandas and merged cells of
    spreadsheets; a third one may then name the index. If names are distinct, a second line may have units.
    """
    if not rows or not any(rows[0]):
        raise ValueError(f"{source} must have a header and at least one line below it, got nothing")
    first, below, after = ([*rows, *([[""]] * 2)])[:3]
    words = len(below) == len(first) and any(below) and not any(re.match(r"[+-]?[.,]?\d", c) for c in below)
    blank = any(b and not a for a, b in zip(first, below, strict=False))
    named, used = first, 1
    if words and (len({*filter(None, first)}) < len([*filter(None, first)]) or blank):
        filled = [next(filter(None, first[j::-1]), "") for j in range(len(first))] if blank else first
        named, used = [f"{a}.{b}" if a and b else a or b for a, b in zip(filled, below, strict=True)], 2
        if after[0] and not any(after[1:]) and len(after) > 2:
            named, used = [named[0] or after[0], *named[1:]], 3
    elif words and 2 * len([c for b, c in zip(below, after, strict=False) if b and number_of(c) is not None]) > max(
        2, len([*filter(None, below)])
    ):
        named, used = [f"{a} ({b})" if b.strip("-–") else a for a, b in zip(first, below, strict=True)], 2
    counted = [f"{c}.{n}" if c and (n := named[:j].count(c)) else c for j, c in enumerate(named)]
    return [c or f"{UNNAMED}{j}" for j, c in enumerate(counted)], used
