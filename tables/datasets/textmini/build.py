"""TextMini: small models of text on different tasks, trained by this project."""

import numpy as np

from hpo_envs.tables.datasets.textmini import LABELS, MEASURED, tasks
from hpo_envs.tables.datasets.textmini.space import module
from hpo_envs.tables.datasets.trained import Packing
from hpo_envs.tables.table import Floats

NAMES = tuple(f"textmini/{label}" for label in LABELS)

MODELS_OF = {"classification": ("joint", "neural"), "tagging": ("crf", "tagger"), "inflection": ()}
"""Model classes of each kind of task."""


def models(task: str) -> tuple[str, ...]:
    """Model classes that are trained on a task."""
    return MODELS_OF[tasks.of(task).kind]


def packing(task: str, model: str) -> Packing:
    """Layout of the trainings of a table; fields are those of an `Epoch` in training."""
    counts = ("correct", "predicted", "gold", "test_correct", "test_predicted", "test_gold")
    times = ("seconds", "inference")
    searched = module(model)
    return Packing(
        file=MEASURED / f"{task}-{model}.npz",
        axes=((task,), (model,), range(searched.ROWS), range(searched.REPEATS)),
        epochs=len(searched.LEVELS),
        fields=(*counts, *times),
        counts=counts,
        losses=(),
        times=times,
    )


def scores(counts: Floats, losses: Floats) -> Floats:
    """(..., 2) scores on the validation and test set in per cent, from counts.

    The harmonic mean of precision and recall (F1), which is the accuracy where everything is predicted once.
    """
    correct, predicted, gold = (counts[..., [i, i + 3]] for i in range(3))
    return np.asarray(200.0 * correct / np.maximum(predicted + gold, 1.0))
