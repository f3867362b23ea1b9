"""Trains the configurations of the table: what `hpo-envs measure` calls, training by training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.tables.datasets.charmini.build import rates
from hpo_envs.tables.datasets.charmini.measured import PACKING
from hpo_envs.tables.datasets.charmini.names import EPOCHS, TABLES, architecture_of
from hpo_envs.tables.datasets.charmini.space import configuration
from hpo_envs.tables.datasets.trained.record import Training, record, trainer
from hpo_envs.tables.datasets.trained.suite import Suite
from hpo_envs.tables.table import Floats


def begin(architecture: str, config: Mapping[str, Any], seed: int) -> Training:
    """A training, see `training.run.Training`; torch works with one thread from now on.

    Raises:
        ModuleNotFoundError: torch is not installed; the message says how to install it.
    """
    trainer().set_num_threads(1)
    from hpo_envs.tables.datasets.charmini.training import run

    return run.Training(architecture, config, seed)


def train(task: str) -> dict[str, Any]:
    """Carries out a training of the table, such as `lstm-3-1`, in this process; see `record`."""
    architecture, draw, seed = task.split("-")
    return record(task, begin(architecture, configuration(architecture, int(draw)), int(seed)), EPOCHS)


def scores(counts: Floats, losses: Floats) -> Floats:
    """(..., 3) development accuracy and phoneme error rate in per cent, and negative log-likelihood."""
    return np.stack([*rates(counts[..., 0], counts[..., 1], "development"), losses[..., 0]], axis=-1)


SUITE = Suite(
    name="CharMini",
    ids={f"CharMini-eng-{architecture_of(table)}-v0": (table, f"{architecture_of(table)}-") for table in TABLES},
    rows=64,
    packing=PACKING,
    train=train,
    scores=scores,
    columns=(("accuracy", 1), ("phoneme errors", 1), ("nll", 6)),
    judged=2,
)
