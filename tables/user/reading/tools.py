"""Exports of tools, recognised by their columns: Optuna, scikit-learn, MLflow, W&B, Keras Tuner, SMAC3 and others."""

import ast
import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from hpo_envs.tables.user.cells import as_text, different, each, is_text, numbers, of_series, text
from hpo_envs.tables.user.frame import Frame, Recipe, of_lines
from hpo_envs.tables.user.reading.documents import flat


def recognised(frame: Frame) -> Frame:
    """Return the frame with the recipe of its tool, if recognised, columns of mappings expanded, and names shortened.

    Raises:
        ValueError: The export has no hyperparameters, or `config`, `summary` or `params` mixes mappings with others.
    """
    if any(f"{name}__MIN" in frame.cells and f"{name}__MAX" in frame.cells for name in frame.cells):
        raise ValueError(
            f"{frame.source}: must have hyperparameters, got the export of a Weights & Biases chart; export the table "
            "of runs instead"
        )
    frame = frame if _has(frame, SKLEARN) else _expanded(frame)
    recipe = next((r for r in RECIPES if _has(frame, r)), Recipe())
    cells = recipe.prepare(frame.cells)
    short: dict[str, str] = {}

    def matched(pattern: str) -> tuple[str, ...]:
        found = []
        for name in (n for n in cells if pattern and n not in short):
            if match := re.fullmatch(pattern, name):
                taken = not match[1] or match[1] in cells or match[1] in short.values()
                short[name] = name if taken else match[1]
                found.append(short[name])
        return tuple(found)

    settings, scores = matched(recipe.settings), matched(recipe.scores)
    if recipe.settings and not settings:
        raise ValueError(f"{frame.source}: must have hyperparameters, got an export of {recipe.tool} without")
    names = {new: old for old, new in short.items() if new != old}
    cells = cells.set_axis([short.get(n, n) for n in cells], axis=1)
    return replace(frame, cells=cells, recipe=recipe, settings=settings, scores=scores, names=names)


def _expanded(frame: Frame) -> Frame:
    """Expand columns that hold only mappings, in JSON or Python's notation, to one column per key, as `params.lr`."""
    columns: dict[str, Any] = {}
    for name, cells in frame.cells.items():
        made = {t: run for t in different(cells) if (run := _mapping(t)) is not None}
        others = {*different(cells)} - made.keys()
        if made and name in ("config", "summary", "params"):
            frame.require(~each(cells, others.__contains__, False), str(name), "a mapping")
        if others or not made:
            columns[str(name)] = cells
            continue
        plain = {t: flat(run, str(name)) for t, run in made.items()}
        made_of = of_lines(frame.source, [plain.get(t, {}) for t in cells.tolist()], frame.cells.index)
        columns |= {key: of_series(column) for key, column in made_of.items() if key != name}
    return replace(frame, cells=pd.DataFrame(columns, frame.cells.index, copy=False))


def _mapping(text: str) -> dict[str, Any] | None:
    """The settings of a run in a text, else None; the raw form of W&B has {"value": 3, "desc": null} for 3."""
    value = None
    if text.startswith("{"):
        try:
            value = json.loads(text, parse_constant=str)
        except (ValueError, RecursionError):
            with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                # Python writes a number that is none without quotes.
                value = ast.literal_eval(re.sub(r"(?<=[:\[,(] )(-?)(nan|inf)\b", r"'\1\2'", text))
    if not isinstance(value, dict):
        return None
    plain = {k: v["value"] if isinstance(v, Mapping) and "value" in v else v for k, v in value.items()}
    return {k: v for k, v in plain.items() if not str(k).startswith("_") or k == "_runtime"}


def with_seconds(frame: pd.DataFrame) -> pd.DataFrame:
    """Add a column `seconds`, the duration, to runs of MLflow if they have start and end times."""
    if not {"start_time", "end_time"} <= {*frame}:
        return frame
    ends = (frame[name].astype(object) for name in ("start_time", "end_time"))
    start, end = (pd.to_datetime(e, errors="coerce", utc=True, format="mixed") for e in ends)
    return frame.assign(seconds=(end - start).dt.total_seconds())


def of_search(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert a scikit-learn search: copy None from `params`, and sum fit times over the resources of halving."""
    frame = frame.copy()
    texts = as_text(frame["params"]) if "params" in frame else text([""] * len(frame), frame.index)
    for name in (n for n in frame if n.startswith("param_")):
        says = texts.astype(str).str.contains(f"'{name[6:]}': None", regex=False)
        if says.any():
            frame[name] = text(np.where(says, "none", as_text(frame[name]).astype(object)), frame.index)
    if "n_resources" in frame:
        order = np.argsort(numbers(frame["n_resources"]), kind="stable")
        spent = pd.Series(numbers(frame["mean_fit_time"])[order]).groupby(texts.cat.codes.to_numpy()[order]).cumsum()
        frame["mean_fit_time"] = spent.to_numpy()[np.argsort(order)]
    return frame


def of_smac(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert a SMAC3 export: name numeric states, drop invented costs of failed runs, and join instances to seeds."""
    codes = {"0": "running", "1": "success", "2": "crashed", "3": "timeout", "4": "memory out"}
    states = as_text(frame["status"]).astype(object).map(lambda t: codes.get(t, t.rpartition(".")[2].strip("'\"{} ")))
    made: dict[str, Any] = {"status": text(states, frame.index)}
    failed = states.str.lower().isin(["crashed", "timeout", "memory out", "memoryout"]).to_numpy()
    for name in (n for n in frame if re.fullmatch(r"cost(\.\d+)?", n)):
        made[name] = pd.Series(np.where(failed, np.nan, numbers(frame[name])), frame.index)
    if "instance" in frame and frame["instance"].nunique() > 1:
        parts = (as_text(frame[name]).astype(object) for name in ("instance", "seed") if name in frame)
        made["seed"] = text(("/".join(map(str, p)) for p in zip(*parts, strict=True)), frame.index)
    return frame.assign(**made)


def of_keras(frame: pd.DataFrame) -> pd.DataFrame:
    """Rename the score of Keras Tuner trials to its metric, which implies the goal; no change if it is not clear."""
    for name in frame:
        seen = re.fullmatch(r"metrics\.metrics\.(.+)\.observations", name)
        if seen and seen[1] not in frame and is_text(frame[name]):
            pairs = zip(as_text(frame["score"]).astype(object), frame[name].astype(object), strict=True)
            if all(not isinstance(score, str) or score in str(text) for score, text in pairs):
                return frame.rename(columns={"score": seen[1]})
    return frame


def _has(frame: Frame, recipe: Recipe) -> bool:
    return all(any(re.fullmatch(sign, name) for name in frame.cells) for sign in recipe.signs)


SETTINGS = "(?:config|args|params|hparams|hyperparameters|settings|trial_params)"

OPTUNA = Recipe(
    "Optuna", ("number", "state", "values?([_.].*)?"), settings=r"params[_.](.+)", scores=r"values[_.](.+)|value",
    cost="duration", run="number", state="state",
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
    Recipe(
        "SMAC3", ("config_id", "status", r"cost(\..+)?", r"config\..+"), settings=r"config\.(.+)",
        scores=r"(cost(?:\.\d+)?)", cost="time", level="budget", repeat="seed", state="status", goal="min",
        prepare=of_smac,
    ),
    Recipe(
        "Nevergrad", ("#loss", "#num-ask"), settings=r"((?!.*\.indices)[^#]+)", scores="#(loss.*)", run="#uid",
        goal="min",
    ),
    Recipe(
        "Ax", ("trial_index", "trial_status", r"metrics\..+"), settings=r"config\.(.+)", scores=r"metrics\.(.+)",
        run="trial_index", state="trial_status",
    ),
    Recipe(
        "Ax", ("trial_index", "arm_name", "trial_status"), run="trial_index", state="trial_status",
        noted="arm_name|generation_(node|method)",
    ),
    Recipe(
        "DEHB", ("config_id", r"config\.0", "fitness", "fidelity"), settings=r"(config\.\d+)", scores="(fitness)",
        cost="cost", level="fidelity", run="config_id", goal="min",
    ),
    Recipe(
        "Keras Tuner", (r"hyperparameters\.values\..+", "trial_id"),
        settings=r"hyperparameters\.values\.((?!tuner/(?!epochs)).+)",
        scores=r"(score|(?:val_)?[a-z]+)", run="trial_id", state="status", prepare=of_keras,
    ),
    Recipe("Hydra", (r"override\..+",), settings=r"override\.(.+)", scores=r"((?!override\.).+)"),
    Recipe(
        "", (SETTINGS + "[./].+",),
        settings=SETTINGS + "[./](.+)",
        scores=r"(?:metrics?|results?|scores?|summary)[./](.+)", state="state|status",
    ),
)  # fmt: skip
"""Recipes in the order in which they are tried; the last is a general one for nested settings."""
