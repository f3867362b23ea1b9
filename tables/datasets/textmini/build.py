"""TextMini: small text models on different tasks, trained by this project.

`textmini/{task}-{model}` has configurations drawn uniformly from a space of `spaces`, each trained two or three times
by `benchmarks.study.measure` on a task of `tasks`. Counts and seconds ship; texts do not.
"""

import functools
from typing import Any

import numpy as np

from hpo_envs.tables.datasets.textmini import LABELS, MEASURED, tasks
from hpo_envs.tables.datasets.textmini.space import drawn, module, space
from hpo_envs.tables.datasets.trained import TICK, Packing, provenance, table
from hpo_envs.tables.table import Floats, Metric, Table, searched

NAMES = tuple(f"textmini/{label}" for label in LABELS)

COMMIT = "35b4ce4775a3214fdd21b912c40e70e6c0268df5"
"""Commit of this project since which training (`families/textmini/training` and `tasks`) gives the same results."""

MODELS_OF = {"classification": ("joint", "neural"), "tagging": ("crf", "tagger"), "inflection": ("lstm", "transformer")}
"""Model classes of each kind of task."""

COUNTS = ("correct", "predicted", "gold", "test_correct", "test_predicted", "test_gold")
"""Counts of predictions at each fidelity of a training, see `PredictionCounts` of the family."""

METRICS = (
    Metric("score", "%", "max", 0.0, 100.0, "F1 on the validation set: accuracy unless spans are predicted."),
    Metric("correct", "", "max", 0.0, 65535.0, "Correct predictions on the validation set."),
    Metric("seconds", "s", "min", 0.0, 1000.0, "Training at this fidelity, with the features of its texts."),
    Metric("inference", "s", "min", 0.0, 1000.0, "Predictions of the validation set, with the features of its texts."),
    Metric("parameters", "", "min", 0.0, 1e8, "Parameters after the last fidelity, without zeros where it is linear."),
    Metric("test_score", "%", "max", 0.0, 100.0, "F1 on the test set."),
    Metric("test_correct", "", "max", 0.0, 65535.0, "Correct predictions on the test set."),
)

HELD_OUT = ("test_score", "test_correct")
"""Metrics that agents must not see."""


def models(task: str) -> tuple[str, ...]:
    """Model classes that are trained on a task."""
    return MODELS_OF[tasks.of(task).kind]


@functools.cache
def packing(task: str, model: str) -> Packing:
    """Layout of the trainings of a table, which ship; fields are the numbers recorded at each fidelity."""
    of, times = module(model), ("seconds", "inference")
    return Packing(
        file=MEASURED / f"{task}-{model}.npz", axes=((task,), (model,), range(of.ROWS), range(of.REPEATS)),
        epochs=len(of.LEVELS), fields=(*COUNTS, *times), counts=COUNTS, losses=(), times=times,
    )  # fmt: skip


def scores(counts: Floats, _losses: Any = None) -> Floats:
    """(..., 2) scores on the validation and test set in per cent, from counts; there are no losses (`Suite.scores`).

    They are the harmonic mean of precision and recall (F1), which equals the accuracy if everything is predicted once.
    """
    correct, predicted, gold = (counts[..., [i, i + 3]] for i in range(3))
    return np.asarray(200.0 * correct / np.maximum(predicted + gold, 1.0))


def shipped(name: str) -> Table:
    """Build a table from the measured results that ship.

    The fidelity is the number of epochs, which add up, or the fraction of the training set, with a new training each:
    the cost of a fraction includes the smaller ones.
    """
    task, _, model = name.partition("/")[2].partition("-")
    arrays, levels = packing(task, model).load(), module(model).LEVELS
    part = {key: value[0, 0] for key, value in arrays.items() if key != "machines"}
    counts, spent = part["counts"].astype(np.float64), part["times"] * TICK
    score, costs, epochs = scores(counts), spent[..., 0].cumsum(axis=2), levels[0] == 1.0
    seconds = costs if epochs else spent[..., 0]
    measured = [score[..., 0], counts[..., 0], seconds, spent[..., 1], score[..., 1], counts[..., 3]]
    return table(
        name, tuple(f"draw-{draw:03d}" for draw in range(len(score))), METRICS, np.stack(measured, axis=3), part, costs,
        provenance("textmini", COMMIT, arrays, part["machine"]), levels=levels,
        level_unit="epochs" if epochs else "training sets", **searched(space(model), drawn(model)),
    )  # fmt: skip
