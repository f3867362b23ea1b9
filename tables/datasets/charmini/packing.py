"""Packs of measured trainings, one per language, which ship."""

from __future__ import annotations

from hpo_envs.tables.datasets.charmini import ARCHITECTURES, EPOCHS, MEASURED, ROWS, seeds_of
from hpo_envs.tables.datasets.trained.packed import Packing


def packing(language: str) -> Packing:
    """Layout of a language's trainings; fields are those of `Epoch` in `families/charmini/training/run.py`."""
    return Packing(
        file=MEASURED / f"{language}.npz",
        axes=((language,), ARCHITECTURES, range(ROWS), range(seeds_of(language))),
        epochs=EPOCHS,
        fields=("correct", "errors", "nll", "loss", "test_correct", "test_errors"),
        counts=("correct", "errors", "test_correct", "test_errors"),
        losses=("nll", "loss"),
    )
