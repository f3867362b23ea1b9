"""Grids of learning rate and batch size for pretraining language models (Li et al. 2025), from upstream's two files.

A table belongs to a model and a number of training tokens, with one row per run of its grid, of which a few are
missing. Dense models have no times; their cost is 6 N D operations (N parameters, D tokens), the same for all rows of a
table. The repository states no licence, so nothing ships: `hpo-envs fetch steplaw`.
"""

import csv
from collections.abc import Callable, Mapping

import numpy as np

from hpo_envs.tables import catalogue
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.steplaw import GRIDS, HIGHEST, SIZES, TABLES
from hpo_envs.tables.table import Hyperparameter, Metric, Table, searched

NAMES = TABLES

DENSE, MIXTURE = "steplaw/dense_lr_bs_loss.csv", "steplaw/moe_lr_bs_loss.csv"

OPERATIONS = 6
"""Operations per parameter and token, forward and backward (Kaplan et al. 2020)."""

METRICS = (
    Metric("smoothed_loss", "nats", "min", 0.0, HIGHEST, "Training loss at the end, a moving average."),
    Metric("loss", "nats", "min", 0.0, HIGHEST, "Training loss of the last batch."),
)


def files(name: str) -> tuple[str, ...]:
    """Return the upstream file of a table, as a tuple of one."""
    return (DENSE if GRIDS[name.partition("/")[2]][0] in SIZES else MIXTURE,)


def build(name: str, read: Callable[[str], bytes]) -> Table:
    """Build the table of a grid; ValueError if the grid is unknown, or if the file has no run of it."""
    model, billions = GRIDS[one_of("table", name, TABLES).partition("/")[2]]
    (file,) = files(name)
    lines = list(csv.DictReader(read(file).decode().splitlines()))
    own = [i for i, run in enumerate(lines) if _is_of(run, model, billions)]
    if not own:
        raise ValueError(f"{file} must have runs of {name}, got {len(lines)} others")
    runs = [lines[i] for i in own]
    configs = np.array([[float(run["lr"]), float(run["bs"])] for run in runs])
    values = np.array([[float(run["smooth loss"]), float(run["loss"])] for run in runs])
    dense = model in SIZES
    cost = [OPERATIONS * SIZES[model] * billions * 1e-9 if dense else float(run["total_time"]) for run in runs]
    return Table(
        name, tuple(f"lr{run['lr']}-bs{run['bs']}" for run in runs), METRICS, values[:, None, None],
        np.array(cost)[:, None, None], catalogue.provenance("steplaw", "measured", file=file),
        "exaFLOP" if dense else "s", source_index=np.array(own), **searched(_space(configs), configs),
    )  # fmt: skip


def _is_of(run: Mapping[str, str], model: str, billions: float) -> bool:
    same = int(run["N"]) == SIZES[model] if model in SIZES else run["moe_name"] == model
    return same and float(run["D"]) == round(billions * 1e9)


def _space(configs: np.ndarray) -> tuple[Hyperparameter, ...]:
    rates, batches = (tuple(np.unique(column).tolist()) for column in configs.T)
    sizes = tuple(map(int, batches))
    return (
        Hyperparameter("learning_rate", "float", rates[0], rates[-1], True, rates, None, "Highest learning rate."),
        Hyperparameter(
            "batch_size", "int", sizes[0], sizes[-1], True, sizes, None, "Sequences of 2,048 tokens a batch."
        ),
    )
