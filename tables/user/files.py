"""A file or folder of runs as columns: CSV, Parquet, Arrow, JSON, JSON lines, plain, in a zip or a gzip file.

JSON has a list, lines, columns or names of runs; a folder has a JSON file or a subfolder for each.
"""

import codecs
import csv
import functools
import hashlib
import io
import itertools
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from hpo_envs.tables.files import unpacked
from hpo_envs.tables.user.cells import UNNAMED
from hpo_envs.tables.user.sheet import Sheet, of_frame

EXACT: dict[str, Any] = {"float_precision": "round_trip"} if [*map(int, pd.__version__.split(".")[:2])] < [3, 1] else {}
"""Reads each number as the nearest float; pandas 3.1 always does."""

OPTION = " (max_bytes=, --max-bytes)"
"""How a user allows larger files."""

content_of = functools.partial(unpacked.content_of, option=OPTION)

DEPTH = 20
"""Deepest nesting that becomes columns."""

STATES = re.compile(r"(basic-variant|searcher|experiment)[-_]state.*|tuner.*")
"""Files of Ray Tune about the search, not about a run; some are pickles with the name of a JSON file."""

OVERRIDES = ".hydra/overrides.yaml"
"""File of Hydra in the folder of a run: lines of `- key=value`."""

Run = dict[str, Any]


def of_path(path: Path, most: int | None = None) -> Sheet:
    """Read a file of runs, or a folder of JSON.

    Args:
        path: The file or folder.
        most: Largest size in bytes, unpacked; default: see `content_of`.

    Raises:
        ValueError: A file of no known kind, or too large; lines are named.
        OSError: It cannot be read.
    """
    if path.is_dir():
        return of_folder(path, most)
    content = content_of(path, most)
    digest = hashlib.sha256(content).hexdigest()
    kind = next((s for s in reversed(path.suffixes) if s not in (".gz", ".zip")), "").lower()
    if kind in (".json", ".jsonl", ".ndjson"):
        frame = pd.DataFrame(of_json(str(path), content), dtype=object)
    elif kind in (".parquet", ".pq", ".arrow", ".feather", ".ipc"):
        frame = _arrow(path, content, kind, most or unpacked.limit_of(path))
    else:
        return of_csv(str(path), content, digest)
    return of_frame(frame, str(path), digest, "run" if "json" in kind else "row", range(1, len(frame) + 1))


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
    raise ValueError(unpacked.TOO_LARGE.format(path, limit, " unpacked" + OPTION, size))


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


def of_json(source: str, content: bytes) -> list[Run]:
    """The runs of a JSON document: a list, a mapping with one list, of columns, or of names to runs.

    Raises:
        ValueError: It lists no runs.
    """
    document = _parse(source, content)
    if isinstance(document, Mapping):
        document = _listed(document)
    if not isinstance(document, list) or not document or not all(isinstance(r, Mapping) for r in document):
        raise ValueError(f"{source} must list runs as objects, got {str(document)[:40]!r}")
    return [flat(r) for r in document]


def _listed(document: Mapping[str, Any]) -> Any:
    inner = list(document.values())
    lists = [v for v in inner if isinstance(v, list)]
    runs = any(isinstance(v, Mapping) for listed in lists for v in listed)
    if lists and not runs and len(lists) == len(inner) and len({len(v) for v in lists}) == 1:
        return [dict(zip(document, cells, strict=True)) for cells in zip(*lists, strict=True)]
    if len(lists) == 1:
        return lists[0]
    if not inner or not all(isinstance(v, Mapping) for v in inner):
        return [document]
    # pandas writes column -> line -> value; a mapping of runs has run -> column -> value.
    if all(list(v) == [str(i) for i in range(len(v))] for v in inner):
        return [{k: v.get(i) for k, v in document.items()} for i in inner[0]]
    return [{"name": k, **v} for k, v in document.items()]


def of_folder(folder: Path, most: int | None) -> Sheet:
    """The runs of a folder.

    A folder of Hydra, Submitit or Ray Tune, or any with a JSON file or a subfolder for each run. Files of one folder
    are one run if they have no key in common, else a run each. The overrides of Hydra (`.hydra/overrides.yaml`) are
    part of a run's configuration, also where the run left nothing else.

    Raises:
        ValueError: No runs, or a file that is no JSON.
    """
    rows, names, digest = [], [], hashlib.sha256()

    def read(path: Path) -> bytes:
        content = content_of(path, most)
        digest.update(content)
        return content

    places = {path.parent.parent for path in folder.rglob(OVERRIDES)}
    shown = (p for p in folder.rglob("*.json*") if not any(n.startswith(".") for n in p.relative_to(folder).parts))
    for place in sorted(places.union(path.parent for path in shown if _is_json(path)), key=_natural):
        label = str(place.relative_to(folder))
        for name, run in _runs_in(place, read):
            rows.append(run)
            names.append(label if not name else name if label == "." else f"{label}/{name}")
    if not rows:
        raise ValueError(f"{folder} must have JSON files, got none")
    return of_frame(pd.DataFrame(rows, dtype=object), str(folder), digest.hexdigest(), "run", names)


def _is_json(path: Path) -> bool:
    return path.suffix in (".json", ".jsonl") and not STATES.fullmatch(path.name) and path.is_file()


def _runs_in(place: Path, read: Callable[[Path], bytes]) -> list[tuple[str, Run]]:
    """Runs of the files directly in a folder, with names ("" if the folder's will do)."""
    overrides = place / OVERRIDES
    lines = read(overrides).decode(errors="replace") if overrides.is_file() else ""
    found = re.findall(r"^\s*-\s*['\"]?[+~]*([^=\n]+)=(.*?)['\"]?\s*$", lines, re.M)
    shared: Run = {f"override.{key}": value.strip("'\"") for key, value in found if not key.startswith("hydra")}
    documents: dict[str, list[Run]] = {}
    for path in filter(_is_json, sorted(place.glob("*.json*"), key=_natural)):
        parsed = _parse(str(path), read(path))
        documents[path.name] = [flat(r) for r in (parsed if isinstance(parsed, list) else [parsed])]
    if "params.json" in documents:  # Ray Tune's, whose results repeat the parameters as `config`
        shared |= {f"config.{k}": v for k, v in documents.pop("params.json")[0].items()}
    single = {name: d[0] for name, d in documents.items() if len(d) == 1}
    lists = {name: d for name, d in documents.items() if len(d) > 1}
    if len(single) == len(documents) > 1 and set.intersection(*map(set, single.values())):
        return [(Path(name).stem, shared | run) for name, run in single.items()]
    for run in single.values():
        shared |= run
    if len(lists) > 1:
        raise ValueError(f"{place} must have at most one JSON file that lists lines, got {', '.join(lists)}")
    runs = [(f"line {i + 1}", shared | run) for listed in lists.values() for i, run in enumerate(listed)]
    return runs or [("", shared)]


def _parse(source: str, content: bytes) -> Any:
    """A JSON document, or a list of those that stand on a line each; its NaN and infinities are texts."""
    at, documents = "", []
    try:
        text = content.decode("utf-8-sig")
        lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
        try:
            return json.loads(text, parse_constant=str) if lines else []
        except json.JSONDecodeError as error:
            if len(lines) < 2 or not lines[0][1].rstrip().endswith("}"):
                at = f": line {error.lineno}:"
                raise
        for number, line in lines:
            at = f": line {number}:"
            documents.append(json.loads(line, parse_constant=str))
        return documents
    except UnicodeDecodeError as error:
        raise ValueError(f"{source} must be UTF-8 text, got byte {error.object[error.start]:#x}") from None
    except RecursionError:
        raise ValueError(f"{source} must be JSON that is not nested beyond reason, got more") from None
    except ValueError as error:  # also of an int of thousands of digits
        raise ValueError(f"{source}{at} must be JSON, got {getattr(error, 'msg', error)}") from None


def flat(value: Any, prefix: str = "") -> Run:
    """A run's nested values under names with dots; lists and deeper levels stay one value."""
    if not isinstance(value, Mapping) or prefix.count(".") > DEPTH:
        return {prefix or "value": value}
    made: Run = {}
    for key, inner in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        made |= flat(inner, name) if isinstance(inner, Mapping) else {name: inner}
    return made


def _natural(path: Path) -> list[Any]:
    """Sort 2 before 10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", str(path))]
