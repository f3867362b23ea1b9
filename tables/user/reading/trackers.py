"""Recipes of experiment trackers: by which columns an export is recognised, and what its columns are."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from hpo_envs.tables.user.reading.cells import Text, absent, numbers, of_values, text
from hpo_envs.tables.user.reading.files import content_of
from hpo_envs.tables.user.reading.json_runs import flat
from hpo_envs.tables.user.reading.sheet import Sheet


@dataclass(frozen=True)
class Recipe:
    """The columns of a tool's export, each as a regular expression that its whole name matches.

    Attributes:
        tool: Whose export it is.
        signs: Each is the name of some column: then it is this tool's.
        settings: Hyperparameters; its group is their name without a prefix. Empty: all that nothing else explains.
        scores: What was measured; likewise.
        first: The score that is taken if nobody says which.
        cost: What a run cost, in seconds.
        level: The checkpoint, where a run has several lines.
        run: The name of a run.
        state: How it ended.
        noted: Bookkeeping, where settings have no prefix.
        goal: Whether all its scores are to be high or low, if the tool has a rule.
        prepare: Makes plain columns of what is not.
    """

    tool: str
    signs: tuple[str, ...]
    settings: str = ""
    scores: str = ""
    first: str = ""
    cost: str = ""
    level: str = ""
    run: str = ""
    state: str = ""
    noted: str = ""
    goal: Literal["max", "min"] | None = None
    prepare: Callable[[Sheet], Sheet] = lambda sheet: sheet


@dataclass(frozen=True)
class Reading:
    """An export and its columns, with their short names.

    Attributes:
        sheet: The columns.
        recipe: Of the tool; `PLAIN` where none is recognised.
        settings: The hyperparameters, None if the export does not mark them.
        scores: What was measured.
        names: Short name -> name in the file, where they differ.
        goals: Score -> max or min, where the export says so.
    """

    sheet: Sheet
    recipe: Recipe
    settings: tuple[str, ...] | None
    scores: tuple[str, ...]
    names: dict[str, str]
    goals: dict[str, Any]

    def one(self, pattern: str) -> str | None:
        """The first column of a pattern that has a value, None if there is none."""
        some = (n for n, c in self.sheet.columns.items() if re.fullmatch(pattern, n) and not absent(c).all())
        return next(some, None) if pattern else None


def read(sheet: Sheet) -> Reading:
    """Recognises whose export it is, and gives its columns their short names.

    Raises:
        ValueError: An export without hyperparameters.
    """
    if any(name.endswith("__MIN") for name in sheet.columns) and "Step" in sheet.columns:
        raise ValueError(
            f"{sheet.source}: must have hyperparameters, got the export of a Weights & Biases chart; export the table "
            "of runs instead"
        )
    if not _has(sheet, SKLEARN):
        sheet = expanded(sheet)
    recipe = next((r for r in RECIPES if _has(sheet, r)), PLAIN)
    sheet = recipe.prepare(sheet)
    short: dict[str, str] = {}
    matched: dict[str, list[str]] = {recipe.settings: [], recipe.scores: []}
    for pattern, found in matched.items():
        for name in sheet.columns:
            match = re.fullmatch(pattern, name) if pattern and name not in short else None
            if match:
                new = match[1]
                short[name] = name if not new or new in sheet.columns or new in short.values() else new
                found.append(short[name])
    renamed = {short.get(name, name): cells for name, cells in sheet.columns.items()}
    names = {new: old for old, new in short.items() if new != old}
    settings, scores = matched[recipe.settings], matched[recipe.scores] if recipe.scores else []
    goals = dict.fromkeys(scores, recipe.goal) if recipe.goal else {}
    sheet = dataclasses.replace(sheet, columns=renamed)
    return Reading(sheet, recipe, tuple(settings) or None, tuple(scores), names, goals)


def metadata(folder: Path) -> tuple[Path, dict[str, Any]]:
    """The results in a folder of Syne Tune, and what `metadata.json` beside them says; else the path itself.

    Raises:
        ValueError: Metadata of something else.
    """
    results = next((folder / n for n in ("results.csv.zip", "results.csv") if (folder / n).is_file()), folder)
    if results == folder or not (folder / "metadata.json").is_file():
        return results, {}
    try:
        facts = json.loads(content_of(folder / "metadata.json"))
        names, mode = facts["metric_names"], facts["metric_mode"]
        known = {"score": names, "goal": [mode] * len(names) if isinstance(mode, str) else list(mode)}
        level = facts.get("scheduler_kwargs", {}).get("time_attr")
        return results, known | ({"level": level} if isinstance(level, str) else {})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{folder / 'metadata.json'} must be the metadata of a Syne Tune experiment, got {error!r}"
        ) from None


def expanded(sheet: Sheet) -> Sheet:
    """A column of mappings, in JSON or as Python prints them, becomes a column for each key: `params.lr`.

    Raises:
        ValueError: A configuration or summary of which some cells are mappings, others not.
    """
    columns: dict[str, Any] = {}
    for name, cells in sheet.columns.items():
        first = next((t for t in cells.different if t), "") if isinstance(cells, Text) else ""
        if not (isinstance(cells, Text) and first.startswith("{") and _mapping(first)):
            columns[name] = cells
            continue
        different = [_mapping(t) for t in cells.different]
        if None in different:
            if name in ("config", "summary", "params"):
                i = int(np.flatnonzero(cells.codes == different.index(None))[0])
                raise ValueError(f"{sheet.source}: {sheet.complaint(i, name, 'a mapping')}")
            columns[name] = cells
            continue
        runs = [flat(_plain(different[c]), name) if c >= 0 else {} for c in cells.codes.tolist()]
        for key in dict.fromkeys(key for run in runs for key in run if key != name):
            columns[key] = of_values([run.get(key) for run in runs])
    return dataclasses.replace(sheet, columns=columns)


def _plain(run: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings of a run; the raw form of Weights & Biases has {"value": 3, "desc": null} for 3."""
    values = {k: v["value"] if isinstance(v, Mapping) and "value" in v else v for k, v in (run or {}).items()}
    return {k: v for k, v in values.items() if not str(k).startswith("_") or k == "_runtime"}


def _mapping(text: str) -> dict[str, Any] | None:
    if not text:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        try:
            # Python writes a number that is none without quotes.
            value = ast.literal_eval(re.sub(r"(?<=[:\[,(] )(-?)(nan|inf)\b", r"'\1\2'", text))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def with_seconds(sheet: Sheet) -> Sheet:
    """MLflow has when a run started and ended, not how long it took."""
    ends = [sheet.columns.get(name) for name in ("start_time", "end_time")]
    if any(e is None for e in ends):
        return sheet
    start, end = (
        pd.to_datetime(e.each(str, "") if isinstance(e, Text) else e, errors="coerce", utc=True, format="mixed")
        for e in ends
    )
    return dataclasses.replace(sheet, columns={**sheet.columns, "seconds": (end - start).total_seconds().to_numpy()})


def of_search(sheet: Sheet) -> Sheet:
    """scikit-learn: None is in `params` only, and halving repeats a configuration with more resources."""
    new = dict(sheet.columns)
    texts = sheet.text("params").each(str, "") if "params" in new else np.full(len(sheet), "")
    for name in (n for n in sheet.columns if n.startswith("param_")):
        says = np.array([f"'{name[6:]}': None" in t for t in texts])
        if says.any():
            new[name] = text(np.where(says, "none", sheet.text(name).each(str, "")).tolist())
    if "n_resources" in new:
        order = np.argsort(numbers(new["n_resources"]), kind="stable")
        cost = pd.Series(numbers(new["mean_fit_time"])[order])
        new["mean_fit_time"] = cost.groupby(texts[order]).cumsum().to_numpy()[np.argsort(order)]
    return dataclasses.replace(sheet, columns=new)


def _has(sheet: Sheet, recipe: Recipe) -> bool:
    return all(any(re.fullmatch(sign, name) for name in sheet.columns) for sign in recipe.signs)


PLAIN = Recipe("", ())
"""A file of no tool that is known."""

OPTUNA = Recipe(
    "Optuna", ("number", "state", "values?(_.*)?"), settings=r"params_(.+)", scores=r"values_(.+)|value",
    first="value", cost="duration", run="number", state="state",
)  # fmt: skip

SKLEARN = Recipe(
    "scikit-learn", ("mean_fit_time", "params?(_.+)?"), settings="param_(.+)", scores="(mean_test_.+)",
    cost="mean_fit_time", level="n_resources", goal="max", prepare=of_search,
)  # fmt: skip

RECIPES = (
    OPTUNA,
    Recipe(
        "MLflow", ("run_id", r"(metrics|params)\..+"), settings=r"params\.(.+)", scores=r"metrics\.(.+)",
        cost="seconds", run="run_id", state="status", prepare=with_seconds,
    ),
    Recipe(
        "MLflow", ("Run ID", "Start Time", "Duration"), cost="Duration", run="Run ID", state="Status",
        noted="Start Time|Name|Source Type|Source Name|User|Version|Models|Dataset|Experiment( Name| ID)?|mlflow[.].*",
    ),
    Recipe(
        "Weights & Biases", (r"summary\..+", r"config\..+", "name"), settings=r"config\.((?!_).+)",
        scores=r"summary\.((?!_).+)", cost=r"summary\._runtime", run="id|name", state="state",
    ),
    Recipe(
        "Weights & Biases", ("Name", "State"), cost="Runtime|_runtime", run="ID", state="State",
        noted="Name|Notes|User|Tags|Created|Updated|Sweep|Group|Job Type|GitHub.*|Git.*|Commit|Hostname|Host|Start.*|"
        r"Relative .*|GPU .*|Description|End Time|_step|_timestamp|_runtime|_wandb.*|Runtime|epoch|"
        r"(.*[./])?(global_)?step",
    ),
    Recipe(
        "Weights & Biases", ("_step", "_runtime"), cost="_runtime", level="epochs?|_step", run="(run_?)?(id|name)|run",
        noted="_.*|Unnamed.*",
    ),
    Recipe(
        "Ray Tune", ("trial_id", "training_iteration"), settings=r"config[/.](.+)",
        scores=r"((?!config[/.]|checkpoint|(experiment_|trial_)?(id|tag)$|perf[/.]|info[/.]|time_|.*since_restore|Unnamed)"
        r"(?!(timestamp|done|training_iteration|date|pid|hostname|node_ip|logdir|should_checkpoint)$|.*_total$).+)",
        cost="time_total_s", level="training_iteration", run="trial_id",
    ),
    Recipe(
        "Syne Tune", ("trial_id", "st_.+"), settings="config_(.+)", cost="st_worker_time",
        level="epochs?|st_worker_iter", run="trial_id",
    ),
    SKLEARN,
    Recipe("Hydra", (r"override\..+",), settings=r"override\.(.+)", scores=r"((?!override\.).+)"),
    Recipe(
        "", (r"(config|args|params|hparams|hyperparameters|settings)[./].+",),
        settings=r"(?:config|args|params|hparams|hyperparameters|settings)[./](.+)",
        scores=r"(?:metrics?|results?|scores?|summary)[./](.+)", state="state|status",
    ),
)  # fmt: skip
"""The tools, those with more telling columns first; last whatever nests the settings of a run."""
