"""Moss et al. 2019: repeated evaluations of twelve sentiment models and two named entity recognisers.

`fiesta/tdsa12` has 12 target-dependent sentiment models (four methods with GloVe vectors of 300, 50 and 200
dimensions) x 500 random splits and seeds, macro F1 (section 5); `fiesta/tdsa8` the first eight of them (without 200
dimensions, section 5.2). `fiesta/ner` has two LSTM taggers that differ in their character encoder x 150 random splits
x 5 seeds (section 2); repeat `split * 5 + seed`. `fiesta/gaussian` has the five Gaussian arms of section 4.2: no
upstream file; each row has mean and deviation.

Quirks of the files: scores in one column of the sentiment file correlate across models (0.4 to 0.7), so a column is a
split shared by all models. Four runs of the `cnn` tagger have a test F1 below 0.9: they did not converge, and are
included unchanged.
"""

from typing import Any

import numpy as np

from hpo_envs.tables import catalogue
from hpo_envs.tables.datasets.fiesta import GAUSSIAN_DEVIATION, GAUSSIAN_MEANS, NER, TABLES, TDSA
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import Metric, Provenance, Table, numbers

NAMES = TABLES

SYNTHETIC = ("fiesta/gaussian",)
"""Names of synthetic tables."""

F1 = (Metric("f1", "", "max", 0.0, 1.0, "Macro F1 on the test part of a random split."),)
NER_METRICS = (
    Metric("test_f1", "", "max", 0.0, 1.0, "F1 on the test part of a random split."),
    Metric("validation_f1", "", "max", 0.0, 1.0, "F1 on the validation part of the same split."),
)

PACK = "fiesta/pack.npz"

TDSA_FILE = "fiesta/results/TDSA/test_f1.json"
NER_FILE = "fiesta-ner/ner_dataset_and_random_seeds.json"


def shipped(name: str) -> Table:
    """Build a table from the pack, or the table of the synthetic arms."""
    short = _short(name)
    if short == "gaussian":
        return gaussian()
    scores = packs.read(PACK, short.rstrip("0123456789"))["scores"]
    keys: tuple[str, ...] = NER if short == "ner" else TDSA[:8] if short == "tdsa8" else TDSA
    values = scores[:, :, None, :] if short == "ner" else scores[: len(keys), :, None, None]
    metrics: tuple[Metric, ...] = NER_METRICS if short == "ner" else F1
    return Table(name, keys, metrics, values, np.ones(values.shape[:3]), _provenance("measured", name))


def gaussian(
    means: tuple[float, ...] = GAUSSIAN_MEANS,
    deviations: tuple[float, ...] | float = GAUSSIAN_DEVIATION,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Table:
    """A table of Gaussian arms with the metrics `score`, the mean of an arm, and `deviation`.

    Args:
        means: At least two means.
        deviations: Standard deviation >= 0, one for all arms or one for each.
        bounds: Lowest and highest score; every mean must be at least 8.5 deviations inside, so that no draw is outside.

    Raises:
        ValueError: An argument is out of its range.
    """
    mu = numbers(means)
    if mu.ndim != 1 or len(mu) < 2 or not np.isfinite(mu).all():
        raise ValueError(f"means must be at least two finite numbers, got {means!r}")
    sd = numbers(deviations)
    if sd.shape not in ((), mu.shape) or not (np.isfinite(sd).all() and (sd >= 0.0).all()):
        raise ValueError(f"deviations must be a number >= 0 or {len(mu)} of them, got {deviations!r}")
    sd = np.broadcast_to(sd, mu.shape)
    low, high = ends.tolist() if (ends := numbers(bounds)).shape == (2,) else (np.nan, np.nan)
    if not ((mu - 8.5 * sd >= low) & (mu + 8.5 * sd <= high)).all():
        raise ValueError(
            f"bounds must be 8.5 deviations away from every mean, got bounds {bounds!r}, means {means!r}, "
            f"deviations {deviations!r}"
        )
    metrics = (
        Metric("score", "", "max", low, high, "Mean of the arm's Gaussian scores."),
        Metric("deviation", "", "min", 0.0, high - low, "Standard deviation of the arm's scores."),
    )
    values = np.stack([mu, sd], axis=1)[:, None, None, :]
    provenance = _provenance("surrogate", "fiesta/gaussian", "Synthetic arms of section 4.2; nothing was measured.")
    keys = tuple(f"arm_{i}" for i in range(len(mu)))
    return Table("fiesta/gaussian", keys, metrics, values, np.ones(values.shape[:3]), provenance)


def _short(name: str) -> str:
    return name.partition("/")[2]


def _provenance(kind: Any, name: str, *notes: str) -> Provenance:
    file = NER_FILE if _short(name) == "ner" else TDSA_FILE
    return catalogue.provenance("fiesta", kind, *notes, file=file)
