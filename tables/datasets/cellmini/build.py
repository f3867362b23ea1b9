"""CellMini: 300 recurrent cells as character language models on 100,000 characters, trained by this project.

`cellmini/shakespeare` has the cells of `drawn`, each trained twice for 15 epochs by `benchmarks.study.measure`. The
results ship. Losses are rounded to 1e-6 nats.
"""

from pathlib import Path

import numpy as np

from hpo_envs.tables import cells
from hpo_envs.tables.cells.features import NAMES as FEATURE_NAMES
from hpo_envs.tables.datasets.cellmini import DRAWN, EPOCHS, SEEDS, cost, drawn
from hpo_envs.tables.datasets.trained import UNIT, Packing, TrainingArrays, by_epoch, provenance, table
from hpo_envs.tables.table import GRAPHS, Metric, Table

TABLE = "cellmini/shakespeare"

NAMES = (TABLE,)

COMMIT = "93bb48bd846630747638cd99483b9f99d67e79e7"
"""Commit of this project since which the training code (`families/cellmini/training` and what it uses) is unchanged."""

CAP = 50.0
"""Nats at which a loss is capped, as in NAS-Bench-NLP's tables."""

METRICS = (
    Metric("validation_loss", "nats", "min", 0.0, CAP, "Mean -log probability of a development character."),
    Metric("train_loss", "nats", "min", 0.0, CAP, "The same of the training text in the epoch, dropout included."),
    Metric("test_loss", "nats", "min", 0.0, CAP, "The same of the test text."),
    Metric("parameters", "", "min", 0.0, 1e6, "Parameters of the model."),
)

HELD_OUT = ("test_loss",)
"""Metrics that agents must not see."""

_LOSSES = ("development", "loss", "test")

PACKING = Packing(
    file=Path(__file__).with_name("measured.npz"), axes=(range(DRAWN), range(SEEDS)), epochs=EPOCHS, fields=_LOSSES,
    counts=(), losses=_LOSSES,
)  # fmt: skip
"""Layout of the trainings, which ship; fields are those of `EpochLosses` in `families/cellmini/training/run.py`."""

GRAPHS["cellmini"] = lambda key: cells.graph(cells.Cell.from_text(key))


def shipped(name: str) -> Table:
    """Build the table from the measured results that ship."""
    return assemble(PACKING.load())


def assemble(arrays: TrainingArrays) -> Table:
    """Build the table from the measured results of the drawn cells before the first that lacks a training."""
    (rows,) = PACKING.complete(arrays).values()
    part = {key: value[:rows] for key, value in arrays.items() if key != "machines"}
    of_rows = drawn.drawn()[:rows]
    return table(
        TABLE, tuple(cell.text() for cell in of_rows), METRICS, np.minimum(part["losses"] * UNIT, CAP), part,
        by_epoch([cost.epoch(cell) for cell in of_rows], EPOCHS),
        provenance("cellmini", COMMIT, arrays, part["machine"]),
        feature_names=FEATURE_NAMES, features=drawn.features()[:rows],
    )  # fmt: skip
