"""Published result files: decisions compared with those of a person and with pandas.

`corpus.tsv` pins each file by commit and hash, and has the kinds and scales of its hyperparameters by a person's
reading (`*`: either scale); other columns are not hyperparameters. The files do not ship: they are in the folder
`HPO_ENVS_CORPUS`, as OWNER+NAME/PATH.

    python -m tests.tables.user.corpus [--fetch]      the table of results; what is missing is downloaded first
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import pandas as pd

from hpo_envs.tables import table as tables
from hpo_envs.tables import user
from hpo_envs.tables.files.download import UPSTREAM
from hpo_envs.tables.table import Hyperparameter, Table

FOLDER = Path(os.environ.get("HPO_ENVS_CORPUS", ""))
FILES = pd.read_csv(Path(__file__).with_name("corpus.tsv"), sep="\t", keep_default_na=False)


class Outcome(NamedTuple):
    """Result of one file: columns that are right, asked or wrong, and whether numbers and runs equal pandas'."""

    right: list[str]
    asked: list[str]
    wrong: list[str]
    numbers: bool
    runs: bool


def fetch(file: Any, download: bool = False) -> Path:
    """Path of a file, which is downloaded if necessary.

    Raises:
        ValueError: The file has other bytes.
        OSError: The file is not there, or cannot be downloaded.
    """
    path = FOLDER / file.repository.replace("/", "+") / file.path
    if download and not path.is_file():
        url = UPSTREAM.format(repository=file.repository, commit=file.commit, path=quote(file.path))
        try:
            with urllib.request.urlopen(url, timeout=60) as reply:
                content = reply.read()
        except OSError as error:
            raise OSError(f"the corpus needs internet: {url} cannot be downloaded ({error})") from None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if not path.is_file():
        raise FileNotFoundError(
            f"HPO_ENVS_CORPUS must be the folder of the corpus, got no {path} (--fetch downloads it)"
        )
    if hashlib.sha256(path.read_bytes()).hexdigest() != file.sha256:
        raise ValueError(f"{path} must have sha256 {file.sha256}")
    return path


def raw(path: Path) -> pd.DataFrame:
    """A file as pandas or the standard library reads it, a line for each evaluation."""
    if path.suffix == ".db":
        with sqlite3.connect(path) as base:
            return pd.read_sql("SELECT value AS values_value FROM trial_values", base)
    if path.suffix != ".json":
        return pd.read_csv(path, sep=None, engine="python", encoding="utf-8-sig")
    document = json.loads(path.read_text())
    if isinstance(document, list):
        runs = pd.json_normalize(document)
        lists = [c for c in runs if isinstance(runs[c].iloc[0], list)]
        return runs.explode(lists) if lists else runs
    if "configs" in document:
        rows = [{"cost": outcome[0], **document["configs"][str(key[0])]} for key, outcome in document["data"]]
        return pd.DataFrame(rows).rename(columns=lambda c: c if c == "cost" else f"config.{c}")
    rows = []
    for key, trial in document["experiment"]["trials"].items():
        texts = [d["df"]["value"] for _, d in document["experiment"]["data_by_trial"][key]["value"]]
        metrics = {m: t["mean"][i] for t in map(json.loads, texts) for i, m in t["metric_name"].items()}
        arm = trial["generator_run"]["arms"][0]["parameters"]
        rows.append({f"metrics.{k}": v for k, v in metrics.items()} | {f"config.{k}": v for k, v in arm.items()})
    return pd.DataFrame(rows)


def outcome(file: Any) -> Outcome:
    """Read a file, and compare."""
    options = json.loads(file.options)
    found = user.decide(user.read(fetch(file)), **options)
    table, full = user.build(found, "corpus"), found.frame.names
    space = {full.get(h.name, h.name): h for h in found.space}
    expected = dict(entry.rsplit("=", 1) for entry in file.hyperparameters.split(" "))
    asked = {column for d in found.uncertain for column in d.columns} | ({file.score} if options else set())
    sorts: dict[str, list[str]] = {"right": [], "asked": [], "wrong": []}
    for column in (full.get(c, c) for c in user.read(fetch(file)).cells):
        kind, _, scale = expected.get(column.replace(" ", "_"), "").partition(":")
        h = space.get(column)
        same = (h is None) == (not kind) and (h is None or (_kind(h) == kind and scale in ("*", _scale(h))))
        same = same and (column == file.score) == (column == full.get(found.metrics[0].name, found.metrics[0].name))
        sorts["asked" if column in asked else "right" if same else "wrong"].append(column)
    lines = raw(fetch(file))
    return Outcome(**sorts, numbers=_numbers(table, lines, file, space), runs=_runs(found, file))


def _kind(h: Hyperparameter) -> str:
    return "cat" if h.kind == "categorical" else h.kind


def _scale(h: Hyperparameter) -> str:
    return "decay" if h.complement else "log" if h.log else ""


def _runs(found: Any, file: Any) -> bool:
    """Return whether the runs are complete; those of a fidelity in question are counted as lines."""
    runs = len(found.lines.drop_duplicates(["row", "repeat"]))
    return bool(runs == file.runs or ("=int" in file.hyperparameters and len(found.lines) == file.runs))


def _numbers(table: Table, lines: pd.DataFrame, file: Any, space: dict[str, Hyperparameter]) -> bool:
    """Return whether the table has all pairs of score and hyperparameter of the file, and its best score."""
    lines = lines.rename(columns=lambda c: str(c).strip()).fillna(json.loads(file.options).get("fill", {}))
    lost = np.isin(table.status, tables.LOST)[..., None] & (len(table.levels) == 1)  # curves end in it
    values = np.where(lost, np.nan, table.values[..., 0])
    row = np.broadcast_to(np.arange(len(table))[:, None, None], values.shape)[~np.isnan(values)]
    scores = values[~np.isnan(values)]
    known = pd.to_numeric(lines[file.score], errors="coerce")
    configs, active = [table.config(i) for i in range(len(table))], tables.active(table.space, table.configs)
    place = {h.name: j for j, h in enumerate(table.space)}
    best = known.max() if file.goal == "max" else known.min()
    good = bool(np.isclose(best, file.best, rtol=1e-12) and np.array_equal(np.sort(scores), np.sort(known.dropna())))
    for column, h in space.items():
        if column not in lines or h.kind == "categorical" or lines[column].dtype == object:
            continue
        own = [configs[i][h.name] if active[i, place[h.name]] else np.nan for i in row]
        mine = pd.DataFrame({"x": own, "y": scores}).dropna()
        theirs = pd.DataFrame({"x": lines[column], "y": known}).astype(float).dropna()
        mine, theirs = (f.astype(float).sort_values(["x", "y"]).to_numpy() for f in (mine, theirs))
        good = good and mine.shape == theirs.shape and np.allclose(mine, theirs, rtol=1e-9, atol=0)
    return good


def main() -> str | None:
    """Print the results; return why there are none."""
    try:
        for file in FILES.itertuples():
            fetch(file, download="--fetch" in sys.argv)
    except OSError as error:
        return str(error)
    total = np.zeros(3, int)
    print("| file | right | asked | wrong | numbers | runs |\n|---|---|---|---|---|---|")
    for file in FILES.itertuples():
        found = outcome(file)
        counts = [len(found.right), len(found.asked), len(found.wrong)]
        total += counts
        wrong = f" ({', '.join(found.wrong)})" if found.wrong else ""
        same = ["equal" if ok else "DIFFERENT" for ok in (found.numbers, found.runs)]
        print(
            f"| {file.repository} {file.path} | {counts[0]} | {counts[1]} | {counts[2]}{wrong} | {' | '.join(same)} |"
        )
    right, asked, wrong = total / total.sum()
    print(f"{total.sum()} columns: {right:.1%} right, {asked:.1%} asked, {wrong:.1%} wrong")
    return None


if __name__ == "__main__":
    sys.exit(main())
