"""A folder as a frame: which files are runs, parts of a run, or bookkeeping.

The files of one folder are one run: records are joined, and so are lines, which are its checkpoints; records with a
key in common are a run each. A file that shares little with the runs is bookkeeping, and named. The folders of Hydra,
MLflow, Weights & Biases and of checkpoints within a run are parts of the folder above them.
"""

import collections
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from hpo_envs.tables.user.frame import Decision, Frame, of_frame
from hpo_envs.tables.user.reading.documents import Document, RunDocument, flat, of_json

BOOKKEEPING = re.compile(
    r"(basic-variant|searcher|experiment)[-_]state.*|tuner.*|(tokenizer|special_tokens|vocab|added_tokens).*|"
    r"(generation|model|adapter)_config.json|.*[-_.]index.json|wandb-metadata.json|requirements.*"
)
"""Files about a search or a model, not about a run; some are pickles with the name of a JSON file."""

PARTS = re.compile(r"checkpoint-\d+|files|params|metrics|\.hydra")
"""Folders that are parts of the one above."""

OVERRIDES = re.compile(r"^\s*-\s*['\"]?[+~]*([^=\n]+)=(.*?)['\"]?\s*$", re.M)
"""Lines of Hydra's overrides, `- key=value`."""

GENERAL = re.compile(r"(.*[._])?(id|name|timestamp|date|time|state|status|version|type|seed|_type|score|value)", re.I)
"""Keys that any document may have: they do not make it one of the runs."""

Read = Callable[[Path], bytes]


def of_folder(folder: Path, read: Read, csv: Callable[[str, bytes], Frame]) -> Frame:
    """The runs of a folder.

    Args:
        folder: The folder.
        read: Reads a file.
        csv: Makes a frame of the content of a CSV file.

    Raises:
        ValueError: No runs, or a file that is no JSON.
    """
    places: dict[Path, list[Path]] = collections.defaultdict(list)
    for path in sorted(folder.rglob("*"), key=_natural):
        inner = path.relative_to(folder).parts
        hidden = any(n.startswith(".") for n in inner[:-1] if n != ".hydra") or inner[-1].startswith(".")
        if not hidden and not BOOKKEEPING.fullmatch(path.name) and _is_part(path, inner) and path.is_file():
            place = path.parent
            while place != folder and PARTS.fullmatch(place.name):
                place = place.parent
            places[place].append(path)
    digest, rows, said = hashlib.sha256(), [], []
    for place in sorted(places, key=_natural):
        label = str(place.relative_to(folder))
        runs, ignored = _runs_in(label, _latest(places[place]), read, csv, digest.update)
        said += ignored
        whole = places[place][0].name if label == "." else label
        rows += [(f"{label}/{name}".removeprefix("./") if name else whole, run) for name, run in runs if run]
    if not rows:
        raise ValueError(f"{folder} must have JSON files, got none")
    rows, ignored = _without_bookkeeping(rows)
    frame = pd.DataFrame([run for _, run in rows], dtype=object)
    names = [name for name, _ in rows]
    return of_frame(frame, str(folder), digest.hexdigest(), names, unit="run", decisions=(*said, *ignored))


def _is_part(path: Path, inner: tuple[str, ...]) -> bool:
    """Whether a file may say something of a run."""
    if path.parent.name == ".hydra":
        return path.name == "overrides.yaml"
    stored = (
        len(inner) > 2 and path.parent.name in ("params", "metrics") and (path.parent.parent / "meta.yaml").exists()
    )
    return stored or path.suffix in (".json", ".jsonl") or path.name in ("metrics.csv", "progress.csv", "hparams.yaml",
                                                                        "config.yaml")  # fmt: skip


def _latest(paths: list[Path]) -> list[Path]:
    """Of the files in folders of checkpoints only the state of a trainer in the last: each has all before it."""
    steps = [p for p in paths if p.parent.name.startswith("checkpoint-")]
    states = [p for p in paths if p.name == "trainer_state.json"]
    kept = next((p for p in states if p not in steps), None) or next(reversed(states), None)
    return [p for p in paths if p == kept or (p not in steps and p not in states)]


def _document(path: Path, content: bytes, csv: Callable[[str, bytes], Frame]) -> Document:
    text = content.decode("utf-8", errors="replace")
    if path.name == "overrides.yaml":
        found = {f"override.{k}": v.strip("'\"") for k, v in OVERRIDES.findall(text) if not k.startswith("hydra")}
        return Document([found], listed=False)
    if path.parent.name in ("params", "metrics") and path.suffix not in (".json", ".csv", ".jsonl", ".yaml"):
        *_, last = [text.strip(), *text.strip().splitlines()[-1:]]
        value = last.split(" ")[1] if path.parent.name == "metrics" and " " in last else text.strip()
        return Document([{f"{path.parent.name}.{path.name}": value}], listed=False)
    if path.suffix == ".yaml":
        return Document([flat(of_yaml(text))], listed=False)
    if path.suffix == ".csv":
        cells = csv(str(path), content).cells.astype(object)
        if {"epoch", "step"} <= {*cells}:  # what Lightning logs at one step is several lines
            cells = cells.groupby(["epoch", "step"], sort=False, dropna=False, as_index=False).first()
        return Document([{k: v for k, v in line.items() if pd.notna(v)} for line in cells.to_dict("records")])
    return of_json(str(path), content, alone=False)


def _runs_in(
    label: str, paths: list[Path], read: Read, csv: Callable[[str, bytes], Frame], digest: Callable[[bytes], Any]
) -> tuple[list[tuple[str, RunDocument]], list[Decision]]:
    """Runs of the files of one place, with names ("" if the folder's will do), and what was ignored."""
    records: dict[str, RunDocument] = {}
    lists: dict[str, Document] = {}
    for path in paths:
        content = read(path)
        digest(content)
        found = _document(path, content, csv) if content.strip() else Document([{}], listed=False)
        if found.listed and (len(found.lines) > 1 or "log_history" in str(content[:200])):
            lists[path.name] = found
        else:
            records[str(path)] = found.lines[0]
    said: list[Decision] = []
    shared: RunDocument = {}
    settings = next((name for name in records if Path(name).name == "params.json"), None)
    if settings and "result.json" in {path.name for path in paths}:
        shared = {f"config.{k}": v for k, v in records.pop(settings).items()}  # Ray Tune's, whose results repeat it
    joined = [name for name, found in lists.items() if found.joined]
    if joined:  # of the tables beside one that is complete, none is a run's
        others = [Path(name).name for name in (*records, *(n for n in lists if n not in joined))]
        said += [Decision("ignored", tuple(others), f"beside the lines of {joined[0]}: ignored")] if others else []
        records, lists = {}, {name: lists[name] for name in joined}
    lists = _without_copies(lists)
    if len(lists) > 1:
        raise ValueError(f"{paths[0].parent} must have at most one file that lists lines, got {', '.join(lists)}")
    keys = [set(run) for name, run in records.items() if not name.endswith("overrides.yaml")]
    if not lists and len(keys) > 1 and set.intersection(*keys) and not shared:
        base = next((run for name, run in records.items() if name.endswith("overrides.yaml")), {})
        runs = [(name, run) for name, run in records.items() if not name.endswith("overrides.yaml")]
        return [(Path(name).stem, base | run) for name, run in runs], said
    for run in records.values():
        shared |= run
    for found in lists.values():
        said += found.decisions
        named = {} if found.joined or {"trial_id", "run_id", "id"} & found.lines[0].keys() else {"run": label}
        return [(f"line {i + 1}", named | shared | run) for i, run in enumerate(found.lines)], said
    return [("", shared)], said


def _without_copies(lists: dict[str, Document]) -> dict[str, Document]:
    """One of the files that have the same lines, as Ray Tune writes them."""
    kept: dict[str, Document] = {}
    for name, found in sorted(lists.items(), key=lambda pair: pair[0].endswith(".csv")):
        same = (k for k in kept.values() if len(k.lines) == len(found.lines) and {*k.lines[0]} & {*found.lines[0]})
        if not any(same):
            kept[name] = found
    return kept


def _without_bookkeeping(rows: list[tuple[str, RunDocument]]) -> tuple[list[tuple[str, RunDocument]], list[Decision]]:
    """The runs that share a key with others, which is a setting or a score, and a decision on the others."""
    seen = collections.Counter(key for _, run in rows for key in run if not GENERAL.fullmatch(key))
    most = max(seen.values(), default=0)
    common = {key for key, times in seen.items() if times > 1 and times * 2 >= most}
    lost = [name for name, run in rows if common and _foreign(run, common, seen)]
    if not lost or len(rows) - len(lost) < 2:
        return rows, []
    said = Decision("ignored", tuple(lost), "too little in common with the runs: ignored")
    return [(name, run) for name, run in rows if name not in lost], [said]


def _foreign(run: RunDocument, common: set[str], seen: Mapping[str, int]) -> bool:
    """Whether a record has none of the keys of runs, or less than half of them and mostly keys of its own."""
    shared, own = common & run.keys(), [key for key in run if seen[key] == 1]
    return not shared or (len(shared) * 2 < len(common) and len(own) > len(shared))


def of_yaml(text: str) -> dict[str, Any]:
    """The mappings of scalars and lists in simple YAML, as loggers write settings; all else is skipped."""
    made: dict[str, Any] = {}
    stack: list[tuple[int, dict[str, Any]]] = [(-1, made)]
    for match in re.finditer(r"^( *)([^\s#:'\"-][^:\n]*|'[^'\n]*'|\"[^\"\n]*\"):(?: +(.*?))? *$", text, re.M):
        depth, key, value = len(match[1]), match[2].strip("'\""), (match[3] or "").strip()
        while stack[-1][0] >= depth:
            stack.pop()
        if value and not value.startswith(("!!", "&", "|", ">")):
            stack[-1][1][key] = _scalar(value)
        else:
            inner: dict[str, Any] = {}
            stack[-1][1][key] = inner
            stack.append((depth, inner))
    return _values(made)


def _scalar(value: str) -> Any:
    if value.lower() in ("null", "~", "none"):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value.strip("'\"")


def _values(made: dict[str, Any]) -> dict[str, Any]:
    """Weights & Biases writes {value: 3, desc: null} for 3."""
    plain = {k: v["value"] if isinstance(v, dict) and "value" in v else v for k, v in made.items()}
    return {k: v for k, v in plain.items() if not k.startswith(("_", "wandb_version")) and v != {}}


def _natural(path: Path) -> list[Any]:
    """Sort 2 before 10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", str(path))]
