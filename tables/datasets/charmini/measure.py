"""Trains the configurations of the table: what `hpo-envs measure` calls, training by training."""

from __future__ import annotations

from typing import Any

from hpo_envs.tables.datasets.charmini.names import ARCHITECTURES, DRAWN, EPOCHS, SEEDS, TABLES, architecture_of
from hpo_envs.tables.datasets.charmini.space import configuration
from hpo_envs.tables.datasets.charmini.measured import known
from hpo_envs.tables.trained.record import record, trainer

__all__ = ["DRAWN", "IDS", "NAME", "ROWS", "known", "tasks", "train"]

NAME = "CharMini"
"""What the command is asked for."""

IDS = {f"{NAME}-eng-{architecture_of(table)}-v0": table for table in TABLES}
"""Ids whose rows can be trained again -> their tables."""

ROWS = 64
"""Configurations that are trained if nothing else is asked for."""


def tasks(rows: int) -> list[str]:
    """The trainings of the first `rows` configurations of both architectures.

    A configuration with all its seeds comes after the other, so that every beginning of the list is a table.
    """
    return [f"{arch}-{draw}-{seed}" for draw in range(rows) for arch in ARCHITECTURES for seed in range(SEEDS)]


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
    from hpo_envs.tables.datasets.charmini.training.run import Training

    architecture, draw, seed = task.split("-")
    return record(task, Training(architecture, configuration(architecture, int(draw)), int(seed)), EPOCHS)
