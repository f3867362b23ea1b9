"""JSON documents as lines of runs: lists, columns, names of runs, and tables that are joined by a key."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hpo_envs.tables.user.frame import Decision

DEPTH = 20
"""Deepest nesting that becomes columns."""

RunDocument = dict[str, Any]

SMAC = ("config_id", "instance", "seed", "budget", "cost", "time", "status", "starttime", "endtime", "additional_info")
"""Fields of a line of SMAC3's run history, where these have no names."""


class Document(NamedTuple):
    """The content of a document.

    Attributes:
        lines: Flat runs or checkpoints.
        listed: Whether it lists them; else it is a record of one run.
        joined: Whether they were joined of several tables.
        decisions: What of it was ignored or joined.
    """

    lines: list[RunDocument]
    listed: bool = True
    joined: bool = False
    decisions: tuple[Decision, ...] = ()


def of_json(source: str, content: bytes, alone: bool = True) -> Document:
    """The runs of a JSON document: a list, a mapping with a list, of columns, of names to runs, or of several tables.

    Args:
        source: What to call it in errors.
        content: Its bytes.
        alone: Whether it is all there is; beside other files, a mapping is one run unless it lists lines.

    Raises:
        ValueError: It lists no runs.
    """
    document = parse(source, content)
    for form in (_ax, _trainer) if isinstance(document, Mapping) else ():
        if (found := form(document)) is not None:
            return found
    found = _listed(document, alone) if isinstance(document, Mapping) else Document(document)
    if not isinstance(found.lines, list) or not found.lines or not all(isinstance(r, Mapping) for r in found.lines):
        raise ValueError(f"{source} must list runs as objects, got {str(document)[:40]!r}")
    return found._replace(lines=[flat(r) for r in found.lines])


def _listed(document: Mapping[str, Any], alone: bool) -> Document:
    inner = list(document.values())
    lists = [v for v in inner if isinstance(v, list)]
    runs = any(isinstance(v, Mapping) for listed in lists for v in listed)
    if alone and lists and not runs and len(lists) == len(inner) and len({len(v) for v in lists}) == 1:
        return Document([dict(zip(document, cells, strict=True)) for cells in zip(*lists, strict=True)])
    tables = {key: made for key, value in document.items() if (made := _table(value, document))}
    lined = [key for key in tables if isinstance(document[key], list)]
    if len(tables) > 1 and (found := _joined(document, tables)):
        return found
    if len(lined) == 1:
        others = [key for key in document if key != lined[0]]
        said = (Decision("ignored", tuple(others), f"beside the lines of {lined[0]}: ignored"),) if others else ()
        return Document(tables[lined[0]], decisions=said)
    if lined and alone:
        most = max(lined, key=lambda key: len(tables[key]))
        others = [key for key in document if key != most]
        hint = "a file of its own for another of its tables"
        return Document(tables[most], decisions=(Decision("ignored", tuple(others), "no key joins it", hint),))
    if not alone or not inner or not all(isinstance(v, Mapping) for v in inner):
        return Document([dict(document)], listed=False)
    # pandas writes column -> line -> value; a mapping of runs has run -> column -> value.
    if all(list(v) == [str(i) for i in range(len(v))] for v in inner):
        return Document([{k: v.get(i) for k, v in document.items()} for i in inner[0]])
    if len(inner) > 1 and not set.intersection(*map(set, inner)):
        return Document([dict(document)], listed=False)
    return Document([{"name": k, **v} for k, v in document.items()])


def _table(value: Any, document: Mapping[str, Any]) -> list[RunDocument]:
    """The lines of a part of a document; empty if it has none."""
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
        names = [*SMAC[:6], "cpu_time", *SMAC[6:]] if len(rows[0]) == 11 else SMAC
    fits = isinstance(names, (list, tuple)) and all(len(row) == len(names) for row in rows)
    return [dict(zip(names, row, strict=True)) for row in rows] if fits and names else []


def _joined(document: Mapping[str, Any], tables: Mapping[str, list[RunDocument]]) -> Document | None:
    """The table of a document to which others are joined by a key; what no key joins is ignored. None if none is."""
    best: tuple[int, str, dict[str, tuple[str, str]]] = (0, "", {})
    for main in tables:
        keys = {key: pair for key in tables if key != main and (pair := _key(tables[main], key, tables[key]))}
        if len(keys) > best[0]:
            best = len(keys), main, keys
    _, main, keys = best
    if not main:
        return None
    lines, said = tables[main], []
    for name, (field, key) in keys.items():
        short = re.sub(r"s$", "", name)
        found = {str(line[key]): {f"{short}.{k}": v for k, v in line.items() if k != key} for line in tables[name]}
        lines = [line | found.get(str(line.get(field)), {}) for line in lines]
        said.append(Decision("file", (name,), f"joined to {main} by {field}"))
    others = tuple(key for key in document if key not in (main, *keys))
    if others:
        said.append(Decision("ignored", others, "neither lines nor joined to them: ignored"))
    return Document(lines, joined=True, decisions=tuple(said))


def _key(lines: list[RunDocument], name: str, table: list[RunDocument]) -> tuple[str, str] | None:
    """Field of lines, and of a table where no value comes twice, by which the one names lines of the other."""
    stem = re.sub(r"s$", "", name.lower())
    for key in table[0]:
        known = {str(line.get(key)) for line in table}
        if len(known) < len(table):
            continue
        for field in lines[0]:
            low = str(field).lower()
            related = (not key and stem in low) or low in (f"{stem}_{key}".lower(), f"{stem}{key}".lower())
            related = related or (
                low == key.lower() and re.search("id|key|name|number|trial|run|config", low) is not None
            )
            values = {str(line.get(field)) for line in lines} if related else set()
            if values and values <= known:
                return str(field), key
    return None


def _ax(document: Mapping[str, Any]) -> Document | None:
    """The trials of an Ax experiment, whose data are tables in JSON, in text."""
    experiment = document.get("experiment", document)
    if not isinstance(experiment, Mapping) or not {"trials", "data_by_trial"} <= {*experiment}:
        return None
    lines = []
    for index, trial in experiment["trials"].items():
        run: RunDocument = trial.get("generator_run") or next(iter(trial.get("generator_runs", ())), {})
        arm = next(iter(run.get("arms", ())), trial.get("arm", {})) or {}
        line: RunDocument = {"trial_index": index, "trial_status": (trial.get("status") or {}).get("name")}
        line |= {f"config.{k}": v for k, v in (arm.get("parameters") or {}).items()}
        for data in _tables_of_ax(experiment["data_by_trial"].get(index)):
            line |= {f"metrics.{metric}": data["mean"][at] for at, metric in data["metric_name"].items()}
        lines.append(line)
    return Document(lines)


def _tables_of_ax(value: Any) -> Iterator[dict[str, Any]]:
    """The tables in a value, which are texts of JSON."""
    if isinstance(value, str) and value.startswith("{") and '"metric_name"' in value:
        yield json.loads(value)
    elif isinstance(value, (list, Mapping)):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _tables_of_ax(inner)


def _trainer(document: Mapping[str, Any]) -> Document | None:
    """The log of a Hugging Face Trainer; the rest of its state are outcomes, except the parameters of a trial."""
    history = document.get("log_history")
    if not isinstance(history, list) or not all(isinstance(line, Mapping) for line in history):
        return None
    shared = {f"trial_params.{k}": v for k, v in (document.get("trial_params") or {}).items()}
    merged: dict[Any, RunDocument] = {}
    for line in history:  # what was logged at one step is one line
        place = line.get("step", len(merged))
        merged[place] = merged.get(place, {}) | {
            k: v for k, v in line.items() if k not in ("total_flos", "train_runtime")
        }
    return Document([flat(shared | line) for line in merged.values()])


def parse(source: str, content: bytes) -> Any:
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
        raise ValueError(f"{source} must be JSON of moderate depth, got deeper nesting") from None
    except ValueError as error:  # also of an int of thousands of digits
        raise ValueError(f"{source}{at} must be JSON, got {getattr(error, 'msg', error)}") from None


def flat(value: Any, prefix: str = "") -> RunDocument:
    """A run's nested values under names with dots; lists and deeper levels stay one value."""
    if isinstance(value, Mapping) and [*value] == ["__enum__"]:
        value = value["__enum__"]
    if not isinstance(value, Mapping) or prefix.count(".") > DEPTH:
        return {prefix or "value": value}
    made: RunDocument = {}
    for key, inner in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        made |= flat(inner, name)
    return made
