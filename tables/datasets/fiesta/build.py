"""Moss et al. 2019: repeated evaluations of twelve sentiment models and two named entity recognisers.

`fiesta/tdsa12` has 12 target-dependent sentiment models (four methods with GloVe vectors of 300, 50 and 200
dimensions) x 500 random splits and seeds, macro F1 (section 5); `fiesta/tdsa8` the first eight of them (without 200
dimensions, section 5.2). `fiesta/ner` has two LSTM taggers that differ in their character encoder x 150 random splits
x 5 seeds (section 2); repeat `split * 5 + seed`. `fiesta/gaussian` has the five Gaussian arms of section 4.2: no
upstream file, each row says mean and deviation.

Quirks of the files: scores in one column of the sentiment file correlate across models (about .6), so a column is a
split that all models share. Four runs of the `cnn` tagger have a test F1 below .9: they did not converge, and are
served as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hpo_envs.tables import catalogue, exact
from hpo_envs.tables.datasets.fiesta.names import (
    GAUSSIAN_DEVIATION,
    GAUSSIAN_MEANS,
    NER,
    NER_SEEDS,
    NER_SPLITS,
    TABLES,
    TDSA,
    TDSA_EVALUATIONS,
)
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import Floats, Metric, Provenance, Table, numbers

NAMES = TABLES

F1 = (Metric("f1", "", "max", 0.0, 1.0, "Macro F1 on the test part of a random split."),)
NER_METRICS = (
    Metric("test_f1", "", "max", 0.0, 1.0, "F1 on the test part of a random split."),
    Metric("validation_f1", "", "max", 0.0, 1.0, "F1 on the validation part of the same split."),
)

PACK = "fiesta/pack.npz"

TDSA_FILE = "fiesta/results/TDSA/test_f1.json"
NER_FILE = "fiesta-ner/ner_dataset_and_random_seeds.json"


def files(name: str) -> tuple[str, ...]:
    """Upstream files of a table; none for the synthetic arms."""
    return {"gaussian": (), "ner": (NER_FILE,)}.get(_short(name), (TDSA_FILE,))


def build(name: str, read: Callable[[str], bytes]) -> Table:
    """The same as `shipped`: no file is needed."""
    return shipped(name)


def shipped(name: str) -> Table:
    """Builds a table from the pack."""
    short = _short(name)
    make = _ner if short == "ner" else _tdsa
    return make(name, packs.read(PACK, short.rstrip("0123456789"))["scores"], _provenance("measured", name))


def embedded(name: str) -> Table:
    """The surrogate: 500 (NER: 150 x 5) seeded Gaussian draws, scaled to have exactly the moments that `fit` measured.

    Where the measured scores share splits, so do the draws.
    """
    short = _short(name)
    if short == "gaussian":
        return gaussian()
    moments = json.loads((Path(__file__).with_name("fiesta.json")).read_text(encoding="utf-8"))
    note = "Gaussian arms with the means, deviations and correlations of the measured scores; seeded draws."
    provenance = _provenance("surrogate", name, note)
    if short == "ner":
        m = {key: np.array(value) for key, value in moments["ner"].items()}
        return _ner(name, _ner_draws(m["mean"], m["between"], m["within"]), provenance)
    m = {key: np.array(moments["tdsa"][key]) for key in ("mean", "sd", "correlation")}
    factor = exact.lower_root(m["correlation"]).T
    draws = m["mean"] + exact.product(_white(TDSA_EVALUATIONS, len(TDSA), 1), factor) * m["sd"]
    return _tdsa(name, np.clip(draws.T.round(5), 0.0, 1.0), provenance)


def gaussian(
    means: tuple[float, ...] = GAUSSIAN_MEANS,
    deviations: tuple[float, ...] | float = GAUSSIAN_DEVIATION,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Table:
    """A table of Gaussian arms: metrics `score` (its mean) and `deviation`.

    Args:
        means: At least two.
        deviations: One for all arms, or one each; >= 0.
        bounds: Lowest and highest score; every mean must lie 8.5 deviations inside, so that no draw is outside.

    Raises:
        ValueError: An argument out of its range.
    """
    mu = numbers(means)
    if mu.ndim != 1 or len(mu) < 2 or not np.isfinite(mu).all():
        raise ValueError(f"means must be at least two finite numbers, got {means!r}")
    sd = numbers(deviations)
    if sd.shape not in ((), mu.shape) or not (np.isfinite(sd).all() and (sd >= 0.0).all()):
        raise ValueError(f"deviations must be a number >= 0 or {len(mu)} of them, got {deviations!r}")
    sd = np.broadcast_to(sd, mu.shape)
    ends = numbers(bounds)
    low, high = ends.tolist() if ends.shape == (2,) else (np.nan, np.nan)
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


def _tdsa(name: str, scores: Floats, provenance: Provenance) -> Table:
    rows = 8 if _short(name) == "tdsa8" else len(TDSA)
    values = scores[:rows, :, None, None]
    return Table(name, TDSA[:rows], F1, values, np.ones(values.shape[:3]), provenance)


def _ner(name: str, values: Floats, provenance: Provenance) -> Table:
    values = values[:, :, None, :]
    return Table(name, NER, NER_METRICS, values, np.ones(values.shape[:3]), provenance)


def _ner_draws(mean: Floats, between: Floats, within: Floats) -> Floats:
    """(2, 750, 2) draws: a split's effect on both encoders and metrics, plus a seed's effect on one encoder."""
    split = exact.product(_white(NER_SPLITS, 4, 2), exact.lower_root(between).T).reshape(NER_SPLITS, 1, 2, 2)
    seed = np.empty((NER_SPLITS, NER_SEEDS, 2, 2))
    for i in range(2):
        white = _white(NER_SPLITS * NER_SEEDS, 2, 3 + i)
        drawn = exact.product(white, exact.lower_root(within[i]).T)
        seed[:, :, i] = drawn.reshape(NER_SPLITS, NER_SEEDS, 2)
    draws = np.clip((mean + split + seed).round(5), 0.0, 1.0)
    return draws.transpose(2, 0, 1, 3).reshape(2, NER_SPLITS * NER_SEEDS, 2)


def _white(rows: int, columns: int, seed: int) -> Floats:
    """(rows, columns) seeded normal draws with sample mean 0 and sample covariance (ddof 0) the identity."""
    z = exact.rounded(np.random.Generator(np.random.PCG64(seed)).standard_normal((rows, columns)))
    z -= z.mean(axis=0)
    root = exact.lower_root(exact.product(z.T, z) / rows)
    for i in range(columns):
        z[:, i] = (z[:, i] - exact.product(z[:, :i], root[i, :i])) / root[i, i]
    return z


def _short(name: str) -> str:
    return name.partition("/")[2]


def _provenance(kind: Any, name: str, *notes: str) -> Provenance:
    file = NER_FILE if _short(name) == "ner" else TDSA_FILE
    return catalogue.provenance("fiesta", kind, *notes, file=file)
