"""Final losses on the Penn Treebank, from another release than the curves (Serianni and Kalita 2023).

It trained nothing but lists the last-epoch test loss of 12,341 multi-run ids: one row per architecture, that is per
group of ids with released features (4,114 rows; 130 groups without features are left out), seeds as repeats. RNN, LSTM
and GRU are not in it. A loss of NaN is a run that diverged.

Quirks of `RNN_parameters.csv`: a second header is glued to the end of line 12346; after it come duplicates with NaN
for ids that are listed before, header lines and names that are no logs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import catalogue
from hpo_envs.tables.cells import features as graph
from hpo_envs.tables.datasets.nasbenchnlp import logs
from hpo_envs.tables.datasets.nasbenchnlp.assemble import DIVERGED, OK
from hpo_envs.tables.datasets.nasbenchnlp.features import FEATURE_NAMES, group, read_released
from hpo_envs.tables.datasets.nasbenchnlp.names import (
    CAP,
    EPOCHS,
    PARAMETERS,
    PTB_FINAL,
    PTB_REPEATS,
    RELEASED,
    RELEASED_FEATURES,
)
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Floats, Metric, Provenance, Table

METRICS = (
    Metric("test_loss", "nats", "min", 0.0, CAP, "Log perplexity on the test set after the last epoch."),
    logs.METRICS[3],
)


FILES = (PARAMETERS, RELEASED_FEATURES)


def build(read: Callable[[str], bytes]) -> Table:
    """Builds the measured table; see `nasbenchnlp.build`."""
    released = read_released(read(RELEASED_FEATURES), RELEASED_FEATURES)
    losses = read_final(read(PARAMETERS), PARAMETERS)
    groups: dict[int, list[tuple[float, float]]] = {}
    for i in sorted(losses):
        groups.setdefault(group(i), []).append(losses[i])
    ids = [g for g in sorted(groups) if g in released]
    values = np.full((len(ids), PTB_REPEATS, 2), np.nan)
    status = np.full((len(ids), PTB_REPEATS), OK, np.uint8)
    for row, g in enumerate(ids):
        runs = groups[g]
        values[row, : len(runs)] = runs
        status[row, : len(runs)] = [DIVERGED if np.isnan(loss) else OK for loss, _ in runs]
    finite = sum(not np.isnan(loss) for loss, _ in losses.values())
    note = (
        f"{len(losses)} ids, {finite} with a finite loss, {len(groups)} architectures, {len(ids)} with features. "
        "The losses are of the last epoch and of the test set."
    )
    provenance = catalogue.provenance("nasbenchnlp", "measured", note, file=PARAMETERS)
    return _table(tuple(map(str, ids)), np.stack([released[g] for g in ids]), values, status, provenance)


def embedded() -> Table:
    """As many draws of released features from a Gaussian copula, with predicted losses; see `fit_ptb`."""
    d = atomic.read_npz(Path(__file__).parent / "data" / "cells_ptb_final.npz")
    values = np.stack([d["losses"].astype(np.float64), np.repeat(d["parameters"][:, None], PTB_REPEATS, 1)], axis=-1)
    count = d["repeats"]
    absent = np.arange(PTB_REPEATS) >= count[:, None]
    values[absent] = np.nan
    values = np.round(values, 4)
    status = np.where(np.isnan(values[..., 0]) & ~absent, DIVERGED, OK).astype(np.uint8)
    note = (
        "Released features redrawn from a Gaussian copula; losses, divergence and parameters predicted by boosted "
        "trees with residual noise; see tables/datasets/nasbenchnlp/data/cells_ptb_report.json."
    )
    provenance = catalogue.provenance("nasbenchnlp", "surrogate", note, file=PARAMETERS)
    keys = tuple(f"architecture-{i:04d}" for i in range(len(count)))
    return _table(keys, np.round(d["features"] / 255.0, graph.DECIMALS), values, status, provenance)


_LINE = re.compile(r"log_stats_model_(\d+)_[^,]*\.json,([^,]+),[^,]+,[^,]+,([^,]+),([^,]+)$")


def read_final(content: bytes, file: str) -> dict[int, tuple[float, float]]:
    """(last-epoch test loss or NaN, parameters) of each id; the first line with numbers counts."""
    found: dict[int, tuple[float, float]] = {}
    for number, line in enumerate(content.decode("utf-8-sig").splitlines(), start=1):
        match = _LINE.match(line.partition("log name")[0] if line.startswith("log_stats") else line)
        if match is None:
            continue
        try:
            loss, size = float(match[2]), float(match[3])
        except ValueError:
            raise ValueError(f"{file}, line {number}: must have numbers, got {line!r:.80}") from None
        old = found.get(int(match[1]), (np.nan, np.nan))
        if not np.isnan(loss) and not np.isnan(old[0]) and loss != old[0]:
            raise ValueError(f"{file}, line {number}: id {match[1]} must have one loss, got {old[0]} and {loss}")
        found[int(match[1])] = tuple(o if np.isnan(n) else n for o, n in zip(old, (loss, size), strict=True))  # type: ignore[assignment]
    bad = [i for i, (_, size) in found.items() if np.isnan(size)]
    if not found or bad:
        raise ValueError(f"{file}: every id must have parameters, got {len(found)} ids, without: {bad[:5]}")
    return found


def _table(
    keys: tuple[str, ...], features: Floats, values: Floats, status: npt.NDArray[np.uint8], provenance: Provenance
) -> Table:
    values = values[:, :, None]
    cost = np.where(np.isnan(values[..., 1]), np.nan, 1.0)
    names = FEATURE_NAMES[graph.SIZE : graph.SIZE + RELEASED]
    return Table(
        PTB_FINAL, keys, METRICS, values, cost, provenance, feature_names=names, features=features,
        levels=np.array([float(EPOCHS)]), level_unit="epochs", status=status,
    )  # fmt: skip
