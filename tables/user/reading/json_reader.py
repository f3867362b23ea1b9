"""JSON as columns: a list of runs, lines of them, or a folder that has a file or a subfolder for each run."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpo_envs.tables.user.reading import sheet
from hpo_envs.tables.user.reading.sheet import Sheet

FILES = 200_000
"""Most files of a folder that are read."""

DEPTH = 20
"""Deepest nesting that becomes columns."""

Run = dict[str, Any]


def of_text(source: str, content: bytes, digest: str) -> Sheet:
    """The columns of a JSON document that lists runs.

    Raises:
        ValueError: It is none.
    """
    rows = _rows(source, _parse(source, content))
    return sheet.of_rows(source, rows, "run", range(1, len(rows) + 1), digest)


def of_folder(folder: Path) -> Sheet:
    """The runs of a folder: of Hydra, Submitit or Ray Tune, or any with a JSON file or a subfolder for each.

    Files of one folder are one run if they have no key in common, else a run each. What Hydra was told for a run
    (`.hydra/overrides.yaml`) is part of its configuration, also where the run left nothing else.

    Raises:
        ValueError: No runs, or a file that is no JSON.
    """
    rows, numbers, digest = [], [], hashlib.sha256()
    for place in sorted({p.parent for p in _files(folder)}, key=_natural):
        runs, names, told = _runs_in(place, digest)
        label = str(place.relative_to(folder))
        for name, run in zip(names, runs, strict=True):
            rows.append(told | run)
            numbers.append(label if not name else name if label == "." else f"{label}/{name}")
    if not rows:
        raise ValueError(f"{folder} must have JSON files, got none")
    return sheet.of_rows(str(folder), rows, "run", numbers, digest.hexdigest())


def _files(folder: Path) -> list[Path]:
    found = []
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if parts[-2:] == (".hydra", "overrides.yaml"):
            found.append(path.parent)  # its folder stands for the run beside it
        elif path.suffix in (".json", ".jsonl") and not any(p.startswith(".") for p in parts) and path.is_file():
            found.append(path)
        if len(found) > FILES:
            raise ValueError(f"{folder} must have at most {FILES} files, got more")
    return found


def _runs_in(place: Path, digest: Any) -> tuple[list[Run], list[str], Run]:
    """Runs of the files directly in a folder, names for them ("" if the folder's will do), and what all share."""
    told: Run = {}
    overrides = place / ".hydra" / "overrides.yaml"
    if overrides.is_file():
        told = _overrides(_read(overrides, digest).decode(errors="replace"))
    documents: dict[str, list[Run]] = {}
    for path in sorted(place.glob("*.json*"), key=_natural):
        if path.suffix in (".json", ".jsonl") and path.is_file():
            parsed = _parse(str(path), _read(path, digest))
            if path.name == "params.json":  # Ray Tune's, whose results repeat it as `config`
                parsed = {"config": parsed}
            documents[path.name] = [_flat(r) for r in parsed] if isinstance(parsed, list) else [_flat(parsed)]
    shared = set.intersection(*({k for r in d for k in r} for d in documents.values())) if documents else set()
    several = {name: d for name, d in documents.items() if len(d) != 1}
    if len(documents) > 1 and shared and not several:
        return [d[0] for d in documents.values()], [Path(n).stem for n in documents], told
    for d in documents.values():
        if len(d) == 1:
            told |= d[0]
    lists = [d for d in several.values() if d]
    if len(lists) > 1:
        raise ValueError(f"{place} must have at most one JSON file that lists lines, got {', '.join(several)}")
    if lists:
        return lists[0], [f"line {i + 1}" for i in range(len(lists[0]))], told
    return [{}], [""], told


def _read(path: Path, digest: Any) -> bytes:
    with open(path, "rb") as stream:
        content = stream.read(sheet.BYTES + 1)
    if len(content) > sheet.BYTES:
        raise ValueError(f"{path} must be at most {sheet.BYTES} bytes, got more")
    digest.update(content)
    return content


def _parse(source: str, content: bytes) -> Any:
    """A JSON document, or a list of those that stand on a line each."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{source} must be UTF-8 text, got byte {error.object[error.start]:#x}") from None
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    try:
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            if len(lines) < 2 or not lines[0].rstrip().endswith("}"):
                raise ValueError(f"{source}: line {error.lineno}: must be JSON, got {error.msg}") from None
        for number, line in enumerate(lines, 1):
            try:
                json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(f"{source}: line {number}: must be JSON, got {error.msg}") from None
        return [json.loads(line) for line in lines]
    except RecursionError:
        raise ValueError(f"{source} must be JSON that is not nested beyond reason, got more") from None


def _rows(source: str, document: Any) -> list[Run]:
    """Runs of a document: a list, a mapping with one list, of columns, or of names to runs."""
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
    return [_flat(r) for r in document]


def _flat(value: Any, prefix: str = "") -> Run:
    """A run's nested values under names with dots; a list, and what is nested too deep, stays one value."""
    if not isinstance(value, Mapping) or prefix.count(".") > DEPTH:
        return {prefix or "value": value}
    flat: Run = {}
    for key, inner in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        flat |= _flat(inner, name) if isinstance(inner, Mapping) else {name: inner}
    return flat


def _overrides(text: str) -> Run:
    """What a run was told on Hydra's command line, lines of `- key=value`, under names that start with `override`."""
    told = {}
    for line in text.splitlines():
        found = re.fullmatch(r"\s*-\s*['\"]?[+~]*([^=]+)=(.*?)['\"]?\s*", line)
        if found and not found[1].startswith("hydra"):
            told[f"override.{found[1]}"] = found[2].strip("'\"")
    return told


def _natural(path: Path) -> list[Any]:
    """Sorts 2 before 10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", str(path))]
