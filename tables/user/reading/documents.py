"""JSON documents as lines of runs: nested values (depth), lists, curves, tables joined by a key; Ax, SMAC3, Trainer."""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hpo_envs.tables.checks import distinct, utf8
from hpo_envs.tables.user.frame import Decision

TABLES = 50
"""Largest number of tables that are compared, each with each, for a key that joins them."""

RunDocument = dict[str, Any]

SMAC = ("config_id", "instance", "seed", "budget", "cost", "time", "status", "starttime", "endtime", "additional_info")
"""Fields of a line in run histories of SMAC3 that do not name them."""


class Document(NamedTuple):
    """The content of a document.

    Attributes:
        lines: Runs or checkpoints as flat mappings.
        listed: Whether the document is a list of lines; else it is a record of one run.
        joined: Whether the lines were joined from several tables.
        decisions: Decisions on ignored or joined parts.
    """

    lines: list[RunDocument]
    listed: bool = True
    joined: bool = False
    decisions: tuple[Decision, ...] = ()


def of_json(source: str, content: bytes, alone: bool = True) -> Document:
    """Return the runs of a JSON document: a list, or a mapping with a list, columns, named runs, or several tables.

    If it is one of several files (not `alone`), a mapping is one run unless it has a list of lines or joined tables.

    Raises:
        ValueError: The document is not JSON, or has no runs.
    """
    document = parse(source, content)
    found = Document(document)
    if isinstance(document, Mapping):
        tool = None
        with contextlib.suppress(AttributeError, LookupError, TypeError, ValueError, RecursionError):  # another's
            tool = _of_ax(document) or _of_trainer(document) or _of_curves(document)
        found = tool or _of_tables(document, alone) or _of_mapping(document, alone)
    if not isinstance(found.lines, list) or not found.lines or not all(isinstance(r, Mapping) for r in found.lines):
        raise ValueError(f"{source} must list runs as objects, got {str(document)[:40]!r}")
    try:
        return found._replace(lines=[flat(r) for r in found.lines])
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def _of_mapping(document: Mapping[str, Any], alone: bool) -> Document:
    """Interpret a mapping as columns of lists or of mappings, as runs by name, or as the record of one run."""
    inner = list(document.values())
    if alone and inner and all(isinstance(v, list) for v in inner) and len({len(v) for v in inner}) == 1:
        return Document([dict(zip(document, cells, strict=True)) for cells in zip(*inner, strict=True)])
    if not alone or not inner or not all(isinstance(v, Mapping) for v in inner):
        return Document([dict(document)], listed=False)
    # pandas writes column -> line -> value; a mapping of runs has run -> column -> value.
    if all(list(v) == [str(i) for i in range(len(v))] for v in inner):
        return Document([{k: v.get(i) for k, v in document.items()} for i in inner[0]])
    if len(inner) > 1 and not set.intersection(*map(set, inner)):
        return Document([dict(document)], listed=False)
    return Document([{"name": k, **v} for k, v in document.items()])


def _of_tables(document: Mapping[str, Any], alone: bool) -> Document | None:
    """Return the table to which most others are joined by a key, else the longest list.

    None if there is no list, or if there are several and the document is not `alone`.
    """
    tables = {key: made for key, value in document.items() if (made := _table(value, document))}
    keys: dict[str, tuple[str, str]] = {}
    main = ""
    for each in tables if len(tables) <= TABLES else ():
        found = {key: pair for key in tables if key != each and (pair := _key(tables[each], key, tables[key]))}
        main, keys = (each, found) if len(found) > len(keys) else (main, keys)
    if main:
        lines = tables[main]
        for name, (field, key) in keys.items():
            short = re.sub(r"s$", "", name)
            parts = ((str(line.get(key)), line) for line in tables[name])
            more = {at: {f"{short}.{k}": v for k, v in line.items() if k != key} for at, line in parts}
            lines = [line | more.get(str(line.get(field)), {}) for line in lines]
        said = [Decision("file", (name,), f"joined to {main} by {field}") for name, (field, _) in keys.items()]
        others = tuple(key for key in document if key not in (main, *keys))
        said += [Decision("ignored", others, "neither lines nor joined to them: ignored")] if others else []
        return Document(lines, joined=True, decisions=tuple(said))
    listed = {key: lines for key, lines in tables.items() if isinstance(document[key], list)}
    if not listed or (len(listed) > 1 and not alone):
        return None
    main = max(listed, key=lambda key: len(listed[key]))
    others = tuple(key for key in document if key != main)
    text, option = f"beside the lines of {main}: ignored", ""
    if len(listed) > 1:
        text, option = "no key joins it", "a file of its own for another of its tables"
    return Document(listed[main], decisions=(Decision("ignored", others, text, option),) if others else ())


def _table(value: Any, document: Mapping[str, Any]) -> list[RunDocument]:
    """A value of a document as lines; empty unless it holds mappings, or lists whose columns are known."""
    if isinstance(value, Mapping) and value and all(isinstance(v, Mapping) for v in value.values()):
        return [{"": key, **line} for key, line in value.items()]
    if not isinstance(value, list) or not value:
        return []
    if all(isinstance(v, Mapping) for v in value):
        return [dict(v) for v in value]
    if not all(isinstance(v, list) for v in value):
        return []
    rows = [[cell for part in row for cell in (part if isinstance(part, list) else [part])] for row in value]
    names = document.get("columns")
    if not isinstance(names, list) and "configs" in document:  # the history of SMAC3; 2.1 also has the processor's time
        names = [*SMAC[:6], "cpu_time", *SMAC[6:]] if len(rows[0]) == 11 else [*SMAC]
    if not names or not isinstance(names, list) or any(len(row) != len(names) for row in rows):
        return []
    return [dict(zip(map(str, names), row, strict=True)) for row in rows]


def _key(lines: list[RunDocument], name: str, table: list[RunDocument]) -> tuple[str, str] | None:
    """Field of lines and unique field of a table by which the lines refer to the table; None if they do not."""
    stem = re.sub(r"s$", "", name.lower())
    for key in table[0]:
        known = {str(line.get(key)) for line in table}
        if len(known) < len(table):
            continue
        for field in lines[0]:
            low = str(field).lower()
            same = low == key.lower() and re.search("id|key|name|number|trial|run|config", low)
            related = same or low in (f"{stem}_{key}".lower(), f"{stem}{key}".lower()) or (not key and stem in low)
            values = {str(line.get(field)) for line in lines} if related else set()
            if values and values <= known:
                return str(field), key
    return None


def _of_ax(document: Mapping[str, Any]) -> Document | None:
    """The trials of an Ax experiment, whose data are JSON tables stored as text; None for other documents."""
    experiment = document.get("experiment", document)
    if not isinstance(experiment, Mapping) or not {"trials", "data_by_trial"} <= {*experiment}:
        return None
    lines = []
    for index, trial in experiment["trials"].items():
        arm: RunDocument = next(_having("parameters", trial), {"parameters": {}})
        line: RunDocument = {"trial_index": index, "trial_status": (trial.get("status") or {}).get("name")}
        line |= {f"config.{k}": v for k, v in arm["parameters"].items()}
        for data in _having("metric_name", experiment["data_by_trial"].get(index)):
            line |= {f"metrics.{metric}": data["mean"][at] for at, metric in data["metric_name"].items()}
        lines.append(line)
    return Document(lines)


def _having(key: str, value: Any) -> Iterator[Any]:
    """Yield the nested mappings in which `key` holds a mapping; texts of JSON with the key are parsed."""
    if isinstance(value, str) and value.startswith("{") and f'"{key}"' in value:
        value = json.loads(value)
    if isinstance(value, Mapping) and isinstance(value.get(key), Mapping):
        yield value
    elif isinstance(value, (list, Mapping)):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _having(key, inner)


def _of_trainer(document: Mapping[str, Any]) -> Document | None:
    """The log of a Hugging Face Trainer, with a trial's parameters but no other state; None for other documents."""
    history = document.get("log_history")
    if not isinstance(history, list) or not all(isinstance(line, Mapping) for line in history):
        return None
    shared = {f"trial_params.{k}": v for k, v in (document.get("trial_params") or {}).items()}
    merged: dict[Any, RunDocument] = {}
    for line in history:  # what was logged at one step is one line
        place = line.get("step", len(merged))
        plain = {k: v for k, v in line.items() if k not in ("total_flos", "train_runtime")}
        merged[place] = merged.get(place, shared) | plain
    return Document([*merged.values()])


def _of_curves(document: Mapping[str, Any]) -> Document | None:
    """The checkpoints of curves stored as lists of steps and values, as by Sacred; None for other documents."""
    curves = [c for c in document.values() if isinstance(c, Mapping) and isinstance(c.get("steps"), list)]
    if not curves or len(curves) < len(document) or not all(isinstance(c.get("values"), list) for c in curves):
        return None
    lines: dict[str, RunDocument] = {}
    for name, curve in document.items():
        for step, value in zip(curve["steps"], curve["values"], strict=False):
            lines.setdefault(str(step), {"step": step})[name] = value
    return Document([*lines.values()])


def parse(source: str, content: bytes) -> Any:
    """Parse a JSON document, or JSON lines to a list, empty for blank content; NaN and infinities become texts.

    Raises:
        ValueError: The content is not JSON in UTF-8, or nested too deeply; the line of an error of syntax is named.
    """
    at, documents, text = "", [], utf8(source, content)
    try:
        lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
        try:
            return json.loads(text, parse_constant=str, object_pairs_hook=distinct) if lines else []
        except json.JSONDecodeError as error:
            if len(lines) < 2 or not lines[0][1].rstrip().endswith("}"):
                at = f": line {error.lineno}:"
                raise
        for number, line in lines:
            at = f": line {number}:"
            documents.append(json.loads(line, parse_constant=str, object_pairs_hook=distinct))
        return documents
    except RecursionError:
        raise ValueError(f"{source} must be JSON without deep nesting, got too many levels") from None
    except ValueError as error:  # also of an int of thousands of digits
        raise ValueError(f"{source}{at} must be JSON, got {getattr(error, 'msg', error)}") from None


def flat(value: Any, prefix: str = "") -> RunDocument:
    """Flatten a run's nested mappings to names with dots; lists, and mappings in very deep levels, stay as they are.

    ValueError if two values have one name.
    """
    if isinstance(value, Mapping) and [*value] == ["__enum__"]:
        value = value["__enum__"]
    if not isinstance(value, Mapping) or prefix.count(".") > 20:
        return {prefix or "value": value}
    made: RunDocument = {}
    for key, inner in value.items():
        more = flat(inner, f"{prefix}.{key}" if prefix else str(key))
        if twice := [name for name in more if name in made]:
            raise ValueError(f"names must be distinct when nested ones are joined by dots, got {twice[0]!r} twice")
        made |= more
    return made
