"""Training logs released with NAS-Bench-NLP: one JSON object per run."""

import io
import json
import zipfile
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.cells.recipe import Cell, parse
from hpo_envs.tables.datasets.nasbenchnlp import CAP, EPOCHS
from hpo_envs.tables.table import Metric

CURVES = ("val_losses", "test_losses", "train_losses")
"""Names of the curves in a log, in the order of the tables' metrics."""

METRICS = (
    Metric("validation_loss", "nats", "min", 0.0, CAP, "Log perplexity on the validation set; upper bound = cap."),
    Metric("test_loss", "nats", "min", 0.0, CAP, "Log perplexity on the test set; upper bound = cap."),
    Metric("train_loss", "nats", "min", 0.0, CAP, "Log perplexity on the training set; upper bound = cap."),
    Metric("parameters", "", "min", 0.0, 1e9, "Trainable parameters."),
)
"""Metrics of the logs (section 3, evaluation). A diverged run has no losses in its last epoch."""

FINAL_METRICS = (
    Metric("test_loss", "nats", "min", 0.0, CAP, "Log perplexity on the test set after the last epoch."),
    METRICS[3],
)
"""Metrics of the final losses on the Penn Treebank (Serianni and Kalita 2023)."""


@dataclass(frozen=True)
class TrainingLog:
    """One training run.

    Attributes:
        architecture: Upstream's recipe id; seeds of one architecture have different ids.
        experiment: Upstream's experiment id.
        started: Start time as a sortable string.
        recipe: The released recipe, a JSON string.
        cell: The cell of the recipe.
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


def read_archive(content: bytes, file: str) -> list[TrainingLog]:
    """Read all logs of an archive, sorted by architecture, start and experiment; errors name member and rule."""
    logs, refused = read_acceptable(content, file)
    if refused:
        raise ValueError(refused[0])
    return sorted(logs, key=lambda log: (log.architecture, log.started, log.experiment))


def read_acceptable(content: bytes, file: str) -> tuple[list[TrainingLog], list[str]]:
    """Read the acceptable logs of an archive, sorted by name; return them and the errors of the others."""
    logs: list[TrainingLog] = []
    refused: list[str] = []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in sorted(archive.namelist()):
            # macOS adds hidden shadows of files.
            if name.endswith(".json") and not name.rpartition("/")[2].startswith("."):
                try:
                    logs.append(read_log(archive.read(name), f"{file}: {name}"))
                except ValueError as error:
                    refused.append(str(error))
    return logs, refused


def read_log(content: bytes, where: str) -> TrainingLog:
    """Read one log; ValueError if it breaks a rule. Its JSON may have a literal NaN, as in runs that diverged."""
    try:
        data = json.loads(content)
        seconds = np.array(data["wall_times"], float)
        losses = np.array([data[name] for name in CURVES], float).T
        missing = np.isnan(losses).any(axis=1)
        if len(losses) != len(seconds) or not 1 <= len(seconds) <= EPOCHS:
            raise ValueError(f"losses must be as long as wall_times, 1 to {EPOCHS}, got {len(losses)}, {len(seconds)}")
        if not ((seconds >= 0) & (seconds < np.inf)).all() or np.isinf(losses).any():
            raise ValueError("wall_times must be seconds >= 0, and losses finite or NaN")
        if missing[:-1].any():
            raise ValueError(f"only the last epoch's loss may be NaN, got NaN at epoch {int(missing.argmax()) + 1}")
        return TrainingLog(
            architecture=data["recepie_id"], experiment=data["experiment_id"], started=data["init_time"],
            recipe=recipe if isinstance(recipe := data["recepie"], str) else json.dumps(recipe),
            cell=parse(data["recepie"]), parameters=data["num_params"], losses=losses, seconds=seconds,
            diverged=bool(missing[-1]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error
