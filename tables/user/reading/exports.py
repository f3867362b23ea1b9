"""What other tools export, recognised by its columns: which are settings, scores, costs, states and bookkeeping."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hpo_envs.tables.user.reading import prepare
from hpo_envs.tables.user.reading.files import of_file
from hpo_envs.tables.user.reading.sheet import Sheet


@dataclass(frozen=True)
class Export:
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
        noted: Bookkeeping, where settings have no prefix that tells them apart.
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
        export: Whose they are; `PLAIN` where no tool is recognised.
        settings: The hyperparameters, None if the export does not mark them.
        scores: What was measured.
        names: Short name -> name in the file, where they differ.
        goals: Score -> max or min, where the export says so.
    """

    sheet: Sheet
    export: Export
    settings: tuple[str, ...] | None
    scores: tuple[str, ...]
    names: dict[str, str]
    goals: dict[str, Any]

    def one(self, pattern: str) -> str | None:
        """The first column of a pattern that has a value, None if there is none."""
        for name, cells in self.sheet.columns.items():
            if pattern and re.fullmatch(pattern, name) and cells.null_count < len(cells):
                return name
        return None


def read(sheet: Sheet) -> Reading:
    """Finds out whose export it is, and gives its columns their short names.

    Raises:
        ValueError: An export without hyperparameters.
    """
    if any(name.endswith("__MIN") for name in sheet.columns) and "Step" in sheet.columns:
        raise ValueError(
            f"{sheet.source}: must have hyperparameters, got the export of a Weights & Biases chart; export the table "
            "of runs instead"
        )
    export = next((e for e in EXPORTS if all(_some(sign, sheet) for sign in e.signs)), PLAIN)
    sheet = export.prepare(sheet)
    short: dict[str, str] = {}
    settings: list[str] = []
    scores: list[str] = []
    for pattern, matched in ((export.settings, settings), (export.scores, scores)):
        for name in sheet.columns:
            found = re.fullmatch(pattern, name) if pattern and name not in short else None
            if found:
                new = found[1]
                short[name] = name if new in sheet.columns or new in short.values() or not new else new
                matched.append(short[name])
    renamed = {short.get(name, name): cells for name, cells in sheet.columns.items()}
    names = {new: old for old, new in short.items() if new != old}
    goals = dict.fromkeys(scores, export.goal) if export.goal else {}
    return Reading(
        dataclasses.replace(sheet, columns=renamed), export, tuple(settings) or None, tuple(scores), names, goals
    )


def of_path(path: Path) -> tuple[Reading, dict[str, Any]]:
    """The export in a file or folder, and what the metadata of a Syne Tune experiment beside it settle."""
    known: dict[str, Any] = {}
    results = next((path / n for n in ("results.csv.zip", "results.csv") if (path / n).is_file()), path)
    if results != path and (path / "metadata.json").is_file():
        try:
            facts = json.loads((path / "metadata.json").read_text(encoding="utf-8"))
            names, mode = facts["metric_names"], facts["metric_mode"]
            modes = [mode] * len(names) if isinstance(mode, str) else list(mode)
            known = {"score": names, "goal": modes}
            if isinstance(facts.get("scheduler_kwargs", {}).get("time_attr"), str):
                known["level"] = facts["scheduler_kwargs"]["time_attr"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path / 'metadata.json'} must be the metadata of a Syne Tune experiment, got {error!r}"
            ) from None
    reading = read(of_file(results))
    return reading, {k: v for k, v in known.items() if k != "level" or v in reading.sheet.columns}


def _some(pattern: str, sheet: Sheet) -> bool:
    return any(re.fullmatch(pattern, name) for name in sheet.columns)


PLAIN = Export("", ())
"""A file of no tool that is known."""

EXPORTS = (
    Export(
        "Optuna", ("number", "state", "values?(_.*)?"), settings=r"params_(.+)", scores=r"values_(.+)|value",
        first="value", cost="duration", run="number", state="state",
    ),
    Export(
        "MLflow", ("run_id", r"(metrics|params)\..+"), settings=r"params\.(.+)", scores=r"metrics\.(.+)",
        cost="seconds", run="run_id", state="status", prepare=prepare.with_seconds,
    ),
    Export(
        "MLflow", ("Run ID", "Start Time", "Duration"), cost="Duration", run="Run ID", state="Status",
        noted="Start Time|Name|Source Type|Source Name|User|Version|Models|Dataset|Experiment( Name| ID)?|mlflow[.].*",
    ),
    Export(
        "Weights & Biases", ("summary", "config"), settings=r"config\.((?!_).+)", scores=r"summary\.((?!_).+)",
        cost=r"summary\._runtime", run="id|name", state="state", prepare=prepare.expanded,
    ),
    Export(
        "Weights & Biases", ("Name", "State"), cost="Runtime|_runtime", run="ID", state="State",
        noted="Name|Notes|User|Tags|Created|Updated|Sweep|Group|Job Type|GitHub.*|Git.*|Commit|Hostname|Host|Start.*|"
        r"Relative .*|GPU .*|Description|End Time|_step|_timestamp|_runtime|_wandb.*|Runtime|epoch|"
        r"(.*[./])?(global_)?step",
    ),
    Export(
        "Weights & Biases", ("_step", "_runtime"), cost="_runtime", level="epochs?|_step", run="(run_?)?(id|name)|run",
        noted="_.*|Unnamed.*",
    ),
    Export(
        "Ray Tune", ("trial_id", "training_iteration"), settings=r"config[/.](.+)", 
        cost="time_total_s", level="training_iteration", run="trial_id",
    ),
    Export(
        "Syne Tune", ("trial_id", "st_.+"), settings="config_(.+)", cost="st_worker_time",
        level="epochs?|st_worker_iter", run="trial_id",
    ),
    Export(
        "scikit-learn", ("mean_fit_time", "params?(_.+)?"), settings="param_(.+)", scores="(mean_test_.+)",
        cost="mean_fit_time", level="n_resources", goal="max", prepare=prepare.of_search,
    ),
    Export("Hydra", (r"override\..+",), settings=r"override\.(.+)", scores=r"((?!override\.).+)"),
    Export(
        "", (r"(config|args|params|hparams|hyperparameters|settings)[./].+",),
        settings=r"(?:config|args|params|hparams|hyperparameters|settings)[./](.+)",
        scores=r"(?:metrics?|results?|scores?|summary)[./](.+)", state="state|status",
    ),
)  # fmt: skip
"""The tools, those with more telling columns first; last whatever nests the settings of a run."""
