"""Trainings of the table's configurations, called by `benchmarks/study/measure.py`."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.families.training.record import ResumableTraining, record, trainer
from hpo_envs.families.training.suite import Suite
from hpo_envs.tables.datasets.charmini import ENGLISH, EPOCHS, ROWS, SHARED_TASK
from hpo_envs.tables.datasets.charmini.build import packing, rates
from hpo_envs.tables.datasets.charmini.space import configuration
from hpo_envs.tables.table import Floats


def begin(architecture: str, config: Mapping[str, Any], seed: int, language: str = ENGLISH) -> ResumableTraining:
    """Create a training, see `training.run.WordTraining`; torch uses one thread from then on.

    Raises:
        ModuleNotFoundError: torch is not installed; the message says how to install it.
        TableNotInstalled: The words of the language are not installed.
    """
    trainer().set_num_threads(1)
    from hpo_envs.families.charmini.training import run

    return run.WordTraining(architecture, config, seed, language)


def train(task: str) -> dict[str, Any]:
    """Run a training of the table, such as `eng-lstm-3-1`, in this process; see `record`."""
    language, architecture, draw, seed = task.split("-")
    return record(task, begin(architecture, configuration(architecture, int(draw)), int(seed), language), EPOCHS)


def scores(language: str, counts: Floats, losses: Floats) -> Floats:
    """Return (..., 3) development accuracy and phoneme error rate in per cent, and negative log-likelihood in nats."""
    return np.stack([*rates(counts[..., 0], counts[..., 1], language, "development"), losses[..., 0]], axis=-1)


def suite(language: str) -> Suite:
    """Return the suite of the tables of a language, which are measured together."""
    return Suite(
        name=f"CharMini-{language}", rows=ROWS, packing=packing(language), train=train,
        scores=functools.partial(scores, language), judged=2,
    )  # fmt: skip


GROUP = "CharMini"
"""Name for all languages together."""

SUITES = tuple(map(suite, (ENGLISH, *SHARED_TASK)))
"""One suite per language."""
