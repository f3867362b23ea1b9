"""The search spaces of TextMini: one module per model class, with `SPACE`, `ROWS`, `REPEATS` and `LEVELS`."""

from typing import Any

from hpo_envs.tables.table import Hyperparameter


def number(name: str, low: float, high: float, text: str, condition: Any = None, log: bool = True) -> Hyperparameter:
    """A float hyperparameter with a continuous range, on a log scale by default."""
    return Hyperparameter(name, "float", low, high, log, (), condition, text)


def grid(name: str, values: tuple[int, ...], text: str, condition: Any = None, log: bool = False) -> Hyperparameter:
    """An int hyperparameter with a list of ascending values."""
    return Hyperparameter(name, "int", values[0], values[-1], log, values, condition, text)


def choice(name: str, values: tuple[Any, ...], text: str, condition: Any = None) -> Hyperparameter:
    """A categorical hyperparameter."""
    return Hyperparameter(name, "categorical", 0, len(values) - 1, False, values, condition, text)


def switch(name: str, text: str, condition: Any = None) -> Hyperparameter:
    """A Boolean hyperparameter."""
    return choice(name, (False, True), text, condition)


SIZES = (1 / 9, 1 / 3, 1.0)
"""Fidelities of models that are not trained in epochs: fractions of the training set."""
