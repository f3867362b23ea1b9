"""Pack of measured trainings, `measured.npz`, which ships."""

from __future__ import annotations

from pathlib import Path

from hpo_envs.tables.datasets.cellmini import DRAWN, EPOCHS, SEEDS
from hpo_envs.tables.datasets.trained.packed import Packing

_LOSSES = ("development", "loss", "test")

PACKING = Packing(
    file=Path(__file__).with_name("measured.npz"),
    axes=(range(DRAWN), range(SEEDS)),
    epochs=EPOCHS,
    fields=_LOSSES,
    counts=(),
    losses=_LOSSES,
)
"""Fields are those of `training.run.Epoch`."""
