"""CharMini: words of several languages pronounced by small LSTMs and transformers, trained by this project.

`charmini/{language}-{architecture}` has 64 configurations drawn uniformly from the ranges of `space` (learning rates
log-uniformly), each trained three times (English) or twice for 20 epochs by `benchmarks.study.measure`. The measured
results ship, so nothing has to be installed and no surrogate is used. Losses are rounded to 1e-6 nats.
"""

import numpy as np

from hpo_envs.tables.datasets.charmini import ARCHITECTURES, ENGLISH, EPOCHS, MEASURED, ROWS, TABLES, parts_of, seeds_of
from hpo_envs.tables.datasets.charmini.cost import epoch as cost_of_epoch
from hpo_envs.tables.datasets.charmini.facts import of as facts_of
from hpo_envs.tables.datasets.charmini.space import configuration, drawn, space
from hpo_envs.tables.datasets.trained import UNIT, Packing, TrainingArrays, by_epoch, provenance, table
from hpo_envs.tables.table import Floats, Metric, Table, searched

NAMES = TABLES

COMMIT = "5a3af321fd09f309dcae186fc92a3cd2ad49d116"
"""Commit of this project since which the training code (`families/charmini/training` and `words.py`) is unchanged."""

MOST_ERRORS = 200.0
"""Per cent at which the phoneme error rate is capped."""

METRICS = (
    Metric("accuracy", "%", "max", 0.0, 100.0, "Development words that are exactly right."),
    Metric("phoneme_error_rate", "%", "min", 0.0, MOST_ERRORS, "Edits in 100 phonemes of the development words."),
    Metric("nll", "nats", "min", 0.0, 40.0, "Mean negative log-likelihood of a development phoneme or end."),
    Metric("training_loss", "nats", "min", 0.0, 40.0, "Mean loss in the epoch, label smoothing and dropout included."),
    Metric("parameters", "", "min", 0.0, 1e6, "Parameters of the model."),
    Metric("test_accuracy", "%", "max", 0.0, 100.0, "Test words that are exactly right."),
    Metric("test_phoneme_error_rate", "%", "min", 0.0, MOST_ERRORS, "Edits in 100 phonemes of the test words."),
)

HELD_OUT = ("test_accuracy", "test_phoneme_error_rate")
"""Metrics that agents must not see."""


def packing(language: str) -> Packing:
    """Layout of a language's trainings, which ship; fields are the numbers recorded after each epoch."""
    return Packing(
        file=MEASURED / f"{language}.npz", axes=((language,), ARCHITECTURES, range(ROWS), range(seeds_of(language))),
        epochs=EPOCHS, fields=("correct", "errors", "nll", "loss", "test_correct", "test_errors"),
        counts=("correct", "errors", "test_correct", "test_errors"), losses=("nll", "loss"),
    )  # fmt: skip


def shipped(name: str) -> Table:
    """Build a table from the measured results that ship."""
    return assemble(name, packing(parts_of(name)[0]).load())


def assemble(name: str, arrays: TrainingArrays) -> Table:
    """Build a table from the measured results of the configurations before the first that lacks a seed."""
    language, architecture = parts_of(name)
    at, rows = ARCHITECTURES.index(architecture), packing(language).complete(arrays)[f"{language}-{architecture}"]
    part = {key: value[0, at, :rows] for key, value in arrays.items() if key != "machines"}
    counts, losses = part["counts"].astype(np.float64), part["losses"] * UNIT
    development = rates(counts[..., 0], counts[..., 1], language, "development")
    test = rates(counts[..., 2], counts[..., 3], language, "test")
    licence = "MIT AND BSD-2-Clause" if language == ENGLISH else "MIT"
    costs = [cost_of_epoch(architecture, configuration(architecture, draw), language) for draw in range(rows)]
    same = "; accuracy and error counts are the same with AVX-512, AVX2 and SSE"
    return table(
        name, tuple(f"draw-{draw:03d}" for draw in range(rows)), METRICS,
        np.stack([*development, losses[..., 0], losses[..., 1], *test], axis=3), part,
        by_epoch(costs, EPOCHS), provenance("charmini", COMMIT, arrays, part["machine"], licence, same),
        **searched(space(architecture), drawn(architecture)[:rows]),
    )  # fmt: skip


def rates(correct: Floats, errors: Floats, language: str, part: str) -> tuple[Floats, Floats]:
    """Accuracy and capped phoneme error rate in per cent, from counts in the development or test part."""
    of = facts_of(language)
    words, phonemes = getattr(of, part), getattr(of, f"{part}_phonemes")
    return 100.0 * correct / words, np.minimum(100.0 * errors / phonemes, MOST_ERRORS)
