"""The search spaces of TextMini: one module per model class, with `SPACE`, `ROWS`, `REPEATS` and `LEVELS`."""

import functools
from typing import Any

from hpo_envs.tables.datasets.charhpo import hyperparameters
from hpo_envs.tables.datasets.charhpo.hyperparameters import grid as grid
from hpo_envs.tables.table import Hyperparameter

number = functools.partial(hyperparameters.number, log=True)
"""Function that makes a float hyperparameter with a continuous range, on a logarithmic scale by default."""


def choice(name: str, values: tuple[Any, ...], text: str, condition: Any = None) -> Hyperparameter:
    """Return a categorical hyperparameter."""
    return Hyperparameter(name, "categorical", 0, len(values) - 1, False, values, condition, text)


def switch(name: str, text: str, condition: Any = None) -> Hyperparameter:
    """Return a Boolean hyperparameter."""
    return choice(name, (False, True), text, condition)


SIZES = (1 / 9, 1 / 3, 1.0)
"""Fidelities of models that are not trained in epochs: fractions of the training set."""
