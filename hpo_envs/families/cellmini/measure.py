"""Trainings of the table's cells, called by `benchmarks/study/measure.py`."""

from typing import Any

from hpo_envs.families.training.record import ResumableTraining, record, trainer
from hpo_envs.families.training.suite import Suite
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets.cellmini import DRAWN, EPOCHS
from hpo_envs.tables.datasets.cellmini.build import PACKING
from hpo_envs.tables.datasets.cellmini.drawn import drawn
from hpo_envs.tables.table import Floats


def begin(cell: str, seed: int) -> ResumableTraining:
    """Create a training of a cell, given as text, see `training.run.CellTraining`; torch uses one thread from then on.

    Raises:
        ModuleNotFoundError: torch is not installed; the message says how to install it.
    """
    trainer().set_num_threads(1)
    from hpo_envs.families.cellmini.training import run

    return run.CellTraining(Cell.from_text(cell), seed)


def train(task: str) -> dict[str, Any]:
    """Run a training of the table, such as `3-1`, in this process; see `record`."""
    draw, seed = map(int, task.split("-"))
    return record(task, begin(drawn()[draw].text(), seed), EPOCHS)


def scores(counts: Floats, losses: Floats) -> Floats:
    """Return the (..., 3) losses themselves: development, training and test, in nats per character."""
    return losses


SUITE = Suite(name="CellMini", rows=DRAWN, packing=PACKING, train=train, scores=scores, judged=1)
