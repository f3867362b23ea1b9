"""A folder as a frame: which files are runs, parts of a run, or bookkeeping; YAML, Hydra, MLflow, W&B, Ray Tune.

The files of a folder are one run: records are joined, and lines are its checkpoints; records with a common key are one
run each. Runs that share few keys with the others are another experiment or bookkeeping, as is a record in a folder
above several runs. Folders of Hydra, MLflow, Weights & Biases and of checkpoints belong to the run of the folder above
them.
"""

import collections
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from hpo_envs.tables.table import is_number
from hpo_envs.tables.user.frame import Decision, Frame, of_frame, of_lines
from hpo_envs.tables.user.reading.documents import Document, RunDocument, of_json

BOOKKEEPING = re.compile(
    r"(basic-variant|searcher)[-_]state.*|(tokenizer|special_tokens|vocab|added_tokens).*|.*[-_.]index.json|"
    r"(generation|model|adapter)_config.json|wandb-metadata.json"
)
"""Pattern of the names of files about a search or a model, not a run; some are pickles named like JSON files."""

PARTS = re.compile(r"checkpoint-\d+|files|params|metrics|\.hydra")
"""Pattern of the names of folders that belong to the run of the folder above."""

TEXTS = {"metrics.csv", "progress.csv", "hparams.yaml", "config.yaml", "overrides.yaml"}
"""Names of files of runs that are not JSON, except those of MLflow."""

YAML = re.compile(r"^( *)([^\s#:'\"-][^:\n]*|'[^'\n]*'|\"[^\"\n]*\"):(?: +(.*))?$")
"""Pattern of a line of simple YAML, `key: value`, without spaces at its end."""

GENERAL = re.compile(
    r"(.*[._])?(id|name|timestamp|date|time|state|status|version|type|seed|_type|score|value|epoch|step)", re.I
)
"""Pattern of keys that any document may have, and that do not mark a run."""

MLFLOW = {1: "running", 2: "scheduled", 3: "finished", 4: "failed", 5: "killed"}
"""Code -> state of a run in MLflow's file store."""

Read = Callable[[Path], bytes]
Csv = Callable[[str, bytes], Frame]


class FolderRun(NamedTuple):
    """A run in a folder, or one of its checkpoints: its name, its folder and its values."""

    name: str
    place: Path
    values: RunDocument

    @property
    def keys(self) -> set[str]:
        """The keys of the run, except those that any document may have (`GENERAL`)."""
        return {key for key in self.values if not GENERAL.fullmatch(key)}


def of_folder(folder: Path, read: Read, csv: Csv) -> Frame:
    """Return the frame of a folder of runs; `read` reads a file, and `csv` makes a frame of a CSV file's content.

    Raises:
        ValueError: There are no runs, a file is invalid, or several files of a run list lines.
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
        runs, ignored = _runs_in(place, label, _latest(places[place]), read, csv, digest.update)
        said += ignored
        whole = places[place][0].name if label == "." else label
        named = (run._replace(name=f"{label}/{run.name}".removeprefix("./") if run.name else whole) for run in runs)
        rows += [run for run in named if run.values]
    if not rows:
        raise ValueError(f"{folder} must have JSON files, got none")
    rows, ignored = _experiment(rows)
    frame = of_lines(str(folder), [run.values for run in rows])
    names = [run.name for run in rows]
    return of_frame(frame, str(folder), digest.hexdigest(), names, unit="run", decisions=(*said, *ignored))


def _is_part(path: Path, inner: tuple[str, ...]) -> bool:
    """Return whether a file may describe a run."""
    if path.parent.name == ".hydra":
        return path.name == "overrides.yaml"
    stored = len(inner) > 2 and _is_stored(path) and (path.parent.parent / "meta.yaml").exists()
    stored = stored or (path.name == "meta.yaml" and any((path.parent / n).is_dir() for n in ("params", "metrics")))
    return stored or path.suffix in (".json", ".jsonl") or path.name in TEXTS


def _is_stored(path: Path) -> bool:
    """Return whether a file is a value of MLflow's file store."""
    return path.parent.name in ("params", "metrics") and path.suffix not in (".json", ".csv", ".jsonl", ".yaml")


def _latest(paths: list[Path]) -> list[Path]:
    """Return the files outside checkpoint folders and one trainer state: the run's own, else the last checkpoint's."""
    steps = [p for p in paths if p.parent.name.startswith("checkpoint-")]
    states = [p for p in paths if p.name == "trainer_state.json"]
    kept = next((p for p in states if p not in steps), None) or next(reversed(states), None)
    return [p for p in paths if p == kept or (p not in steps and p not in states)]


def _document(path: Path, content: bytes, csv: Csv) -> Document:
    text = content.decode("utf-8", errors="replace")
    if path.name == "overrides.yaml":
        lines = (line.strip().partition("=") for line in text.split("\n"))  # - key=value, or '- +key=value'
        pairs = ((k[1:].lstrip(" \t'\"").lstrip("+~"), v) for k, same, v in lines if same and k.startswith("-"))
        found = {f"override.{k}": v.strip("'\"") for k, v in pairs if k and not k.startswith("hydra")}
        return Document([found], listed=False)
    if _is_stored(path):
        value, points = text.strip(), [line.split(" ") for line in text.strip().split("\n")]
        if path.parent.name == "metrics" and all(len(line) > 1 for line in points):  # time, value, step
            value = max(points, key=lambda line: [int(n) if n.isdecimal() else 0 for n in (line[-1], line[0])])[1]
        return Document([{f"{path.parent.name}.{path.name}": value}], listed=False)
    if path.name == "meta.yaml":
        return Document([_of_mlflow(of_yaml(text), path.parent.name)], listed=False)
    if path.suffix == ".yaml":
        return Document([of_yaml(text)], listed=False)
    if path.suffix == ".csv":
        cells = csv(str(path), content).cells.astype(object)
        if {"epoch", "step"} <= {*cells}:  # what Lightning logs at one step is several lines
            cells = cells.groupby(["epoch", "step"], sort=False, dropna=False, as_index=False).first()
        return Document([{k: v for k, v in line.items() if pd.notna(v)} for line in cells.to_dict("records")])
    return of_json(str(path), content, alone=False)


def _of_mlflow(meta: RunDocument, run: str) -> RunDocument:
    """Return the id of a run in MLflow's file store, and its status and duration in seconds if `meta` has them."""
    start, end, code = (meta.get(key, "") for key in ("start_time", "end_time", "status"))
    times = {"seconds": (end - start) / 1000} if is_number(start) and is_number(end) else {}
    code = "deleted" if meta.get("lifecycle_stage") == "deleted" else code
    state = MLFLOW.get(code, code) if isinstance(code, int) else str(code)
    found = {"run_id": run} | ({"status": state} if code != "" else {})
    return found | times


def _runs_in(
    place: Path, label: str, paths: list[Path], read: Read, csv: Csv, digest: Callable[[bytes], Any]
) -> tuple[list[FolderRun], list[Decision]]:
    """Return the runs in the files of one folder, named "" if it is one run, and decisions on ignored files."""
    records: dict[Path, RunDocument] = {}
    lists: dict[str, Document] = {}
    for path in paths:
        content = read(path)
        digest(content)
        found = _document(path, content, csv) if content.strip() else Document([{}], listed=False)
        if found.listed and (len(found.lines) > 1 or b"log_history" in content[:200]):
            lists[path.name] = found
        else:
            records[path] = found.lines[0]
    said: list[Decision] = []
    shared: RunDocument = {}
    settings = place / "params.json"
    if settings in records and (place / "result.json" in paths or (place / "error.txt").is_file()):
        shared = {f"config.{k}": v for k, v in records.pop(settings).items()}  # Ray Tune's, whose results repeat it
    joined = [name for name, found in lists.items() if found.joined]
    if joined:  # of the tables beside one that is complete, none is a run's
        others = tuple(n for n in (*(p.name for p in records), *lists) if n not in joined)
        said += [Decision("ignored", others, f"beside the lines of {joined[0]}: ignored")] if others else []
        records, lists = {}, {name: lists[name] for name in joined}
    lists = _without_copies(lists)
    if len(lists) > 1:
        raise ValueError(f"{place} must have at most one file that lists lines, got {', '.join(lists)}")
    base = next((run for path, run in records.items() if path.name == "overrides.yaml"), {})
    own = {path: run for path, run in records.items() if path.name != "overrides.yaml"}
    if not lists and len(own) > 1 and set.intersection(*map(set, own.values())) and not shared:
        return [FolderRun(path.stem, place, base | run) for path, run in own.items()], said
    for run in records.values():
        shared |= run
    for found in lists.values():
        named = {} if found.joined or {"trial_id", "run_id", "id"} & found.lines[0].keys() else {"run": label}
        runs = [FolderRun(f"line {i + 1}", place, named | shared | line) for i, line in enumerate(found.lines)]
        return runs, [*said, *found.decisions]
    return [FolderRun("", place, shared)], said


def _without_copies(lists: dict[str, Document]) -> dict[str, Document]:
    """Keep one of several lists with equally many lines and a common key, as Ray Tune writes; JSON rather than CSV."""
    kept: dict[str, Document] = {}
    for name, found in sorted(lists.items(), key=lambda pair: pair[0].endswith(".csv")):
        same = (k for k in kept.values() if len(k.lines) == len(found.lines) and {*k.lines[0]} & {*found.lines[0]})
        if not any(same):
            kept[name] = found
    return kept


def _experiment(rows: list[FolderRun]) -> tuple[list[FolderRun], list[Decision]]:
    """Return the runs of the largest experiment, all if it has fewer than two, and decisions on the others."""
    kinds = collections.Counter(frozenset(run.keys) for run in rows)
    kept = [run for run in rows if not _foreign(run, kinds.most_common(1)[0][0])]
    seen = collections.Counter(key for run in kept for key in run.keys)
    common = {key for key, times in seen.items() if times > 1 and times * 2 >= max(seen.values())}
    kept = [run for run in rows if not common or not _foreign(run, common)]
    inside = collections.Counter(above for place in {run.place for run in kept} for above in place.parents)
    kept = [run for run in kept if inside[run.place] < 2]  # what is above several runs is about their search
    other = [run for run in rows if run not in kept]
    if not other or len(kept) < 2:
        return rows, []
    again = {key for key, times in collections.Counter(k for r in other for k in r.keys).items() if times > 1}
    several = len({run.place for run in other if len(run.keys & again) > 1}) > 1
    text = "another experiment: left out" if several else "too little in common with the runs: ignored"
    option = "a folder of its own for another of its experiments" if several else ""
    names = dict.fromkeys(re.sub(r"/line \d+$", "", run.name) for run in other)
    return kept, [Decision("ignored", tuple(names), text, option)]


def _foreign(run: FolderRun, common: frozenset[str] | set[str]) -> bool:
    """Return whether a run has none of the common keys, or less than half of them and more keys of its own."""
    shared, own = common & run.keys, run.keys - common
    return not shared or (len(shared) * 2 < len(common) and len(own) > len(shared))


def of_yaml(text: str) -> RunDocument:
    """The values of simple YAML under names with dots, as loggers write settings; other lines are skipped."""
    made: RunDocument = {}
    above: list[tuple[int, str]] = []
    for found in filter(None, (YAML.match(line.rstrip()) for line in text.split("\n"))):
        indent, key, value = found.groups("")
        above = [*((depth, name) for depth, name in above if depth < len(indent)), (len(indent), key.strip("'\""))]
        if value and not value.startswith(("!!", "&", "|", ">")):
            made[".".join(name for _, name in above)] = _scalar(value)
    # Weights & Biases writes {value: 3, desc: null} for 3.
    plain = {re.sub(r"^([^.]+)\.value\b", r"\1", name): value for name, value in made.items()}
    noted = {f"{name.partition('.')[0]}.desc" for name in made if ".value" in name}
    return {k: v for k, v in plain.items() if k not in noted and not k.startswith(("_", "wandb_version"))}


def _scalar(value: str) -> Any:
    if value.lower() in ("null", "~", "none"):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value.strip("'\"")


def _natural(path: Path) -> list[Any]:
    """Return the sort key of a path, in which numbers are ordered by value: 2 before 10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", str(path))]
