"""What was measured: packed from the records of trainings into `measured.npz`, which ships."""

from __future__ import annotations

from pathlib import Path

from hpo_envs.tables.datasets.charmini.names import ARCHITECTURES, DRAWN, EPOCHS, SEEDS
from hpo_envs.tables.datasets.trained.packed import Packing

PACKING = Packing(
    file=Path(__file__).with_name("measured.npz"),
    axes=(ARCHITECTURES, range(DRAWN), range(SEEDS)),
    epochs=EPOCHS,
    fields=("correct", "errors", "nll", "loss", "test_correct", "test_errors"),
    counts=("correct", "errors", "test_correct", "test_errors"),
    losses=("nll", "loss"),
)
"""Fields are those of `training.run.Epoch`."""
