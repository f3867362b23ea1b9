"""Constants of CharMini: architectures, names of the tables, sizes. Imports nothing."""

from __future__ import annotations

ARCHITECTURES = ("lstm", "transformer")

TABLES = tuple(f"charmini/eng-{architecture}" for architecture in ARCHITECTURES)
"""Names of the tables, in the order of the architectures."""

SEEDS = 3
"""Runs of each configuration."""

EPOCHS = 20
"""Passes over the training words of each run."""

DRAWN = 128
"""Configurations of each architecture that are drawn, in the order in which they are trained."""

SPLITS = {"train": 1500, "development": 500, "test": 500}
"""Words of each part, in the order of the sample."""


def architecture_of(table: str) -> str:
    """The architecture that a table, such as `charmini/eng-lstm`, is of."""
    return table.rpartition("-")[2]
