"""Runs in JSON: a list, lines, columns or names of runs, or a folder that has a file or a subfolder for each."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

DEPTH = 20
"""Deepest nesting that becomes columns."""

STATES = re.compile(r"(basic-variant|searcher|experiment)[-_]state.*|tuner.*")
"""Files of Ray Tune about the search, not about a run; some are pickles with the name of a JSON file."""

OVERRIDES = ".hydra/overrides.yaml"
"""File of Hydra in the folder of a run."""

Run = dict[str, Any]


def of_text(source: str, content: bytes) -> list[Run]:
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


def of_folder(folder: Path, content_of: Callable[[Path], bytes]) -> tuple[list[Run], list[str], str]:
    """The runs of a folder, a name for each, and the SHA-256 of the files.

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

    places = {path.parent.parent for path in folder.rglob(OVERRIDES)}
    shown = (p for p in folder.rglob("*.json*") if not any(n.startswith(".") for n in p.relative_to(folder).parts))
    for place in sorted(places.union(path.parent for path in shown if _is_json(path)), key=_natural):
        label = str(place.relative_to(folder))
        for name, run in _runs_in(place, read):
            rows.append(run)
            names.append(label if not name else name if label == "." else f"{label}/{name}")
    if not rows:
        raise ValueError(f"{folder} must have JSON files, got none")
    return rows, names, digest.hexdigest()


def _is_json(path: Path) -> bool:
    return path.suffix in (".json", ".jsonl") and not STATES.fullmatch(path.name) and path.is_file()


def _runs_in(place: Path, read: Callable[[Path], bytes]) -> list[tuple[str, Run]]:
    """Runs of the files directly in a folder, with names ("" if the folder's will do)."""
    overrides = place / OVERRIDES
    shared = _overrides(read(overrides).decode(errors="replace")) if overrides.is_file() else {}
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


def _overrides(text: str) -> Run:
    """Hydra's overrides, lines of `- key=value`, under names that start with `override`."""
    found = re.findall(r"^\s*-\s*['\"]?[+~]*([^=\n]+)=(.*?)['\"]?\s*$", text, re.M)
    return {f"override.{key}": value.strip("'\"") for key, value in found if not key.startswith("hydra")}


def _natural(path: Path) -> list[Any]:
    """Sort 2 before 10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", str(path))]
