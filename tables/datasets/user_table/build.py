"""The data set of saved tables of users, and of a synthetic example."""

import itertools
from typing import Any

import numpy as np

from hpo_envs.tables import user
from hpo_envs.tables.table import Hyperparameter, Metric, Provenance, Table, searched

SYNTHETIC = (user.EXAMPLE,)
"""Names of synthetic tables."""


def __getattr__(name: str) -> Any:
    """Compute `NAMES` on each access, because it changes when a table is saved."""
    if name == "NAMES":
        return (user.EXAMPLE, *(user.PREFIX + n for n in user.names()))
    raise AttributeError(name)


def shipped(name: str) -> Table:
    """Return the synthetic example, or a user's table, see `user.load`."""
    return example() if name == user.EXAMPLE else user.load(name)


def example() -> Table:
    """Return a synthetic table of 96 configurations of four hyperparameters, whose accuracy is a quadratic formula."""
    grid = list(itertools.product((1e-4, 3e-4, 1e-3, 3e-3), (1, 2, 3, 4, 6, 8), ("relu", "tanh"), (0.0, 0.3)))
    space = (
        Hyperparameter("learning_rate", "float", 1e-4, 3e-3, True, (1e-4, 3e-4, 1e-3, 3e-3)),
        Hyperparameter("layers", "int", 1, 8, False, (1, 2, 3, 4, 6, 8)),
        Hyperparameter("activation", "categorical", 0, 1, False, ("relu", "tanh")),
        Hyperparameter("dropout", "float", 0.0, 0.3, False, (0.0, 0.3)),
    )
    configs = np.array([[lr, layers, ("relu", "tanh").index(a), drop] for lr, layers, a, drop in grid])
    axes = searched(space, configs)
    features = axes["features"]
    lr, depth, relu, drop = features[:, 0], features[:, 1], features[:, 2], features[:, -1]
    accuracy = 0.9 - 0.5 * (lr - 0.6) ** 2 - 0.3 * (depth - 0.4) ** 2 + 0.02 * relu - 0.05 * drop * (1 - depth)
    keys = tuple("-".join(map(str, cell)) for cell in grid)
    metrics = (Metric("accuracy", "", "max", 0.0, 1.0, "A made-up accuracy."),)
    values, cost = np.round(accuracy, 4)[:, None, None, None], (10.0 + 20.0 * depth)[:, None, None]
    notes = ("Synthetic: a formula.",)
    provenance = Provenance("surrogate", "none", "0" * 40, "MIT", "synthetic example of hpo_envs", notes=notes)
    return Table(user.EXAMPLE, keys, metrics, values, cost, provenance, "seconds", **axes)
