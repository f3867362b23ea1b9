"""Runs in JSON: a list, lines, columns or names of runs, or a folder that has a file or a subfolder for each."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

FILES = 200_000
"""Most files of a folder that are read."""

DEPTH = 20
"""Deepest nesting that becomes columns."""

STATES = re.compile(r"(basic-variant|searcher|experiment)[-_]state.*|tuner.*")
"""Files of Ray Tune about the search, not about a run; some are pickles with the name of a JSON file."""

Run = dict[str, Any]


def of_text(source: str, content: bytes) -> list[Run]:
    """The runs of a JSON document: a list, a mapping with one list, of columns, or of names to runs.

    Raises:
        ValueError: It lists no runs.
    """
    document = _parse(source, content)
    if isinstance(document, Mapping):
        lists = {k: v for k, v in document.items() if isinstance(v, list)}
        runs = any(isinstance(v, Mapping) for listed in lists.values() for v in listed)
        if not runs and len(lists) == len(document) and len({len(v) for v in lists.values()}) == 1:
            document = [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]
        elif len(lists) == 1:
            (document,) = lists.values()
        elif document and all(isinstance(v, Mapping) for v in document.values()):
            inner = list(document.values())
            # pandas writes column -> line -> value; a mapping of runs has run -> column -> value.
            if all(list(v) == [str(i) for i in range(len(v))] for v in inner):
                document = [{k: v.get(i) for k, v in document.items()} for i in inner[0]]
            else:
                document = [{"name": k, **v} for k, v in document.items()]
        else:
            document = [document]
    if not isinstance(document, list) or not document or not all(isinstance(r, Mapping) for r in document):
        raise ValueError(f"{source} must list runs as objects, got {str(document)[:40]!r}")
    return [flat(r) for r in document]


def of_folder(folder: Path, content_of: Callable[[Path], bytes]) -> tuple[list[Run], list[str], str]:
    """The runs of a folder, a name for each, and the SHA-256 of what was read.

    A folder of Hydra, Submitit or Ray Tune, or any with a JSON file or a subfolder for each run. Files of one folder
    are one run if they have no key in common, else a run each. The overrides of Hydra (`.hydra/overrides.yaml`) are
    part of a run's configuration, also where the run left nothing else.

    Raises:
        ValueError: No runs, or a file that is no JSON.
    """
    rows, names, digest = [], [], hashlib.sha256()

    def read(path: Path) -> bytes:
        content = content_of(path)
        digest.update(content)
        return content

    for place in sorted({p.parent for p in _files(folder)}, key=_natural):
        runs, inner, shared = _runs_in(place, read)
        label = str(place.relative_to(folder))
        for name, run in zip(inner, runs, strict=True):
            rows.append(shared | run)
            names.append(label if not name else name if label == "." else f"{label}/{name}")
    if not rows:
        raise ValueError(f"{folder} must have JSON files, got none")
    return rows, names, digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    found = []
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if parts[-2:] == (".hydra", "overrides.yaml"):
            found.append(path.parent)  # its folder stands for the run beside it
        elif _is_json(path) and not any(p.startswith(".") for p in parts):
            found.append(path)
        if len(found) > FILES:
            raise ValueError(f"{folder} must have at most {FILES} files, got more")
    return found


def _is_json(path: Path) -> bool:
    return path.suffix in (".json", ".jsonl") and not STATES.fullmatch(path.name) and path.is_file()


def _runs_in(place: Path, read: Callable[[Path], bytes]) -> tuple[list[Run], list[str], Run]:
    """Runs of the files directly in a folder, names for them ("" if the folder's will do), and what all share."""
    overrides = place / ".hydra" / "overrides.yaml"
    shared = _overrides(read(overrides).decode(errors="replace")) if overrides.is_file() else {}
    documents: dict[str, list[Run]] = {}
    for path in filter(_is_json, sorted(place.glob("*.json*"), key=_natural)):
        parsed = _parse(str(path), read(path))
        documents[path.name] = [flat(r) for r in parsed] if isinstance(parsed, list) else [flat(parsed)]
    if "params.json" in documents:  # Ray Tune's, whose results repeat the parameters as `config`
        shared |= {f"config.{k}": v for k, v in documents.pop("params.json")[0].items()}
    several = {name: d for name, d in documents.items() if len(d) != 1}
    same = set.intersection(*({k for r in d for k in r} for d in documents.values())) if documents else set()
    if len(documents) > 1 and same and not several:
        return [d[0] for d in documents.values()], [Path(n).stem for n in documents], shared
    for d in documents.values():
        shared |= d[0] if len(d) == 1 else {}
    lists = [d for d in several.values() if d]
    if len(lists) > 1:
        raise ValueError(f"{place} must have at most one JSON file that lists lines, got {', '.join(several)}")
    if lists:
        return lists[0], [f"line {i + 1}" for i in range(len(lists[0]))], shared
    return [{}], [""], shared


def _parse(source: str, content: bytes) -> Any:
    """A JSON document, or a list of those that stand on a line each."""
    try:
        text = content.decode("utf-8-sig")
        lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) > 1 and lines[0][1].rstrip().endswith("}"):
            try:
                return json.loads(text)
            except json.JSONDecodeError:
                return [_line(source, *line) for line in lines]
        return json.loads(text) if lines else []
    except json.JSONDecodeError as error:
        raise ValueError(f"{source}: line {error.lineno}: must be JSON, got {error.msg}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{source} must be UTF-8 text, got byte {error.object[error.start]:#x}") from None
    except RecursionError:
        raise ValueError(f"{source} must be JSON that is not nested beyond reason, got more") from None
    except ValueError as error:  # an int of thousands of digits
        raise ValueError(
            str(error) if str(error).startswith(source) else f"{source} must be JSON, got {error}"
        ) from None


def _line(source: str, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"{source}: line {number}: must be JSON, got {getattr(error, 'msg', error)}") from None


def flat(value: Any, prefix: str = "") -> Run:
    """A run's nested values under names with dots; a list, and what is nested too deep, stays one value."""
    if not isinstance(value, Mapping) or prefix.count(".") > DEPTH:
        return {prefix or "value": value}
    made: Run = {}
    for key, inner in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        made |= flat(inner, name) if isinstance(inner, Mapping) else {name: inner}
    return made


def _overrides(text: str) -> Run:
    """Hydra's overrides, lines of `- key=value`, under names that start with `override`."""
    made = {}
    for line in text.splitlines():
        found = re.fullmatch(r"\s*-\s*['\"]?[+~]*([^=]+)=(.*?)['\"]?\s*", line)
        if found and not found[1].startswith("hydra"):
            made[f"override.{found[1]}"] = found[2].strip("'\"")
    return made


def _natural(path: Path) -> list[Any]:
    """Sorts 2 before 10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", str(path))]
