"""Trains the cells of the table: what `hpo-envs measure` calls, training by training."""

from __future__ import annotations

from typing import Any

from hpo_envs.tables.datasets.cellmini.drawn import drawn
from hpo_envs.tables.datasets.cellmini.names import DRAWN, EPOCHS, SEEDS
from hpo_envs.tables.trained.record import record, trainer

NAME = "CellMini"
"""What the command is asked for."""


IDS: dict[str, str] = {}
"""Ids whose rows can be trained again -> their tables."""

ROWS = DRAWN
"""Cells that are trained if nothing else is asked for."""


def known() -> list[str]:
    """Names of the trainings that ship."""
    return []


def tasks(rows: int) -> list[str]:
    """The trainings of the first `rows` cells, one cell with all its seeds after the other."""
    return [f"{draw}-{seed}" for draw in range(rows) for seed in range(SEEDS)]


def train(task: str) -> dict[str, Any]:
    """Carries out a training in this process, with one thread.

    Args:
        task: One of `tasks`.

    Returns:
        See `record`.

    Raises:
        ModuleNotFoundError: torch is not installed; the message says how to install it.
    """
    trainer().set_num_threads(1)
    from hpo_envs.tables.datasets.cellmini.training.run import Training

    draw, seed = map(int, task.split("-"))
    return record(task, Training(drawn()[draw], seed), EPOCHS)
