"""Training logs as NAS-Bench-NLP released them: one JSON object per run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.cells.recipe import Cell, InvalidRecipe, parse
from hpo_envs.tables.datasets.nasbenchnlp.names import CAP, EPOCHS
from hpo_envs.tables.files import zips
from hpo_envs.tables.table import Metric

CURVES = ("val_losses", "test_losses", "train_losses")
"""Names of the curves in a log, in the order of the tables' metrics."""

METRICS = (
    Metric("validation_loss", "nats", "min", 0.0, CAP, "Log perplexity on the validation set; upper bound = cap."),
    Metric("test_loss", "nats", "min", 0.0, CAP, "Log perplexity on the test set; upper bound = cap."),
    Metric("train_loss", "nats", "min", 0.0, CAP, "Log perplexity on the training set; upper bound = cap."),
    Metric("parameters", "", "min", 0.0, 1e9, "Trainable parameters."),
)
"""What the logs record (section 3, evaluation). A run that diverged has no losses in its last epoch."""

FINAL_METRICS = (
    Metric("test_loss", "nats", "min", 0.0, CAP, "Log perplexity on the test set after the last epoch."),
    METRICS[3],
)
"""What another release lists of the Penn Treebank."""


@dataclass(frozen=True)
class Log:
    """One training run.

    Attributes:
        architecture: Upstream's recipe id; seeds of one architecture have different ids.
        experiment: Upstream's experiment id.
        started: Start time as text that sorts.
        recipe: The recipe as released, a JSON string.
        cell: The cell it describes.
        parameters: Trainable parameters as upstream counted them.
        losses: (epochs, 3) validation, test and training log perplexity; NaN where the loss was NaN.
        seconds: (epochs,) wall time of each epoch.
        diverged: Whether the run stopped because the loss became NaN.
    """

    architecture: int
    experiment: int
    started: str
    recipe: str
    cell: Cell
    parameters: int
    losses: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64]
    diverged: bool


def read_archive(content: bytes, file: str) -> list[Log]:
    """Reads all logs of an archive, sorted by architecture, start and experiment; an error names member and rule."""
    logs = [read_log(text, f"{file}: {name}") for name, text in zips.members(content, file, ".json")]
    if not logs:
        raise ValueError(f"{file} must contain training logs (.json), got none")
    return sorted(logs, key=lambda log: (log.architecture, log.started, log.experiment))


def read_acceptable(content: bytes, file: str) -> tuple[list[Log], list[str]]:
    """Reads the logs of an archive that are acceptable; returns them and the reasons against the others."""
    logs: list[Log] = []
    refused: list[str] = []
    for name, text in zips.members(content, file, ".json"):
        try:
            logs.append(read_log(text, f"{file}: {name}"))
        except ValueError as error:
            refused.append(str(error))
    if not logs:
        raise ValueError(f"{file} must contain training logs (.json), got none" + "".join(refused[:1]))
    return logs, refused


def read_log(content: bytes, where: str) -> Log:
    """Reads one log. Its JSON may have a literal NaN, as in runs that diverged, but no Infinity."""

    def constant(name: str) -> float:
        if name == "NaN":
            return math.nan
        _fail(where, f"numbers must be finite or NaN, got {name}")

    try:
        data = json.loads(content, parse_constant=constant)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        _fail(where, f"must be JSON: {error}")
    if not isinstance(data, dict):
        _fail(where, f"must be an object, got {type(data).__name__}")
    seconds = _numbers(data, "wall_times", where)
    curves = [_numbers(data, name, where) for name in CURVES]
    if any(len(c) != len(seconds) for c in curves):
        _fail(where, f"losses must be as long as wall_times, {len(seconds)}, got {[len(c) for c in curves]}")
    losses = np.stack(curves, axis=1)
    if not (seconds >= 0).all():
        _fail(where, "wall_times must be seconds >= 0")
    missing = np.asarray(np.isnan(losses).any(axis=1))
    if missing[:-1].any():
        _fail(where, f"only the last epoch's loss may be NaN, got NaN at epoch {int(missing.argmax()) + 1}")
    recipe = _field(data, "recepie", str, where)
    try:
        cell = parse(recipe)
    except InvalidRecipe as error:
        raise InvalidRecipe(error.rule, f"{where}: {error}") from None
    return Log(
        architecture=_field(data, "recepie_id", int, where),
        experiment=_field(data, "experiment_id", int, where),
        started=_field(data, "init_time", str, where),
        recipe=recipe,
        cell=cell,
        parameters=_field(data, "num_params", int, where),
        losses=losses,
        seconds=seconds,
        diverged=bool(missing[-1]),
    )


def _fail(where: str, rule: str) -> NoReturn:
    raise ValueError(f"{where}: {rule}")


def _field(data: dict[str, Any], name: str, kind: type, where: str) -> Any:
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, kind):
        _fail(where, f"{name} must be of type {kind.__name__}, got {value!r:.60}")
    return value


def _numbers(data: dict[str, Any], name: str, where: str) -> npt.NDArray[np.float64]:
    value = data.get(name)
    if not isinstance(value, Sequence) or isinstance(value, str) or not 1 <= len(value) <= EPOCHS:
        _fail(where, f"{name} must be a list of 1 to {EPOCHS} numbers, got {value!r:.60}")
    if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value):
        _fail(where, f"{name} must have numbers only")
    try:
        array = np.array(value, dtype=np.float64)
    except OverflowError:
        array = np.array([math.inf])
    if np.isinf(array).any():
        _fail(where, f"{name} must be finite or NaN, got a number beyond 64-bit floats")
    return array
