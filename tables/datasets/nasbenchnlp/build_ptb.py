"""Klyuchnikov et al. 2020 on the Penn Treebank: curves of 14,322 architectures.

One row per architecture with released features (Table: 14,322 generated architectures), in the order of their ids, and
up to three runs of each: the released single runs and multi runs, of which 4,114 were trained with three seeds. Keys
are the ids. The two archives of logs are large and are fetched on their own (data set `nasbenchnlp-ptb-logs`). An
architecture without an acceptable log has status `failed`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from hpo_envs.tables import catalogue, exact
from hpo_envs.tables.cells import features as graph
from hpo_envs.tables.datasets.nasbenchnlp import model
from hpo_envs.tables.datasets.nasbenchnlp.assemble import DIVERGED, OK, arrays, curves_table
from hpo_envs.tables.datasets.nasbenchnlp.features import group, predicted_released, read_released
from hpo_envs.tables.datasets.nasbenchnlp.logs import METRICS, Log, read_acceptable
from hpo_envs.tables.datasets.nasbenchnlp.names import (
    CAP,
    EPOCHS,
    MULTI,
    PTB,
    PTB_MULTI_ROWS,
    PTB_REPEATS,
    PTB_ROWS,
    RELEASED_FEATURES,
    SINGLE,
)
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Floats, Table

SHARED = 0.01
"""Largest share of logs that may be unacceptable before the archive is."""

FILES = (SINGLE, MULTI, RELEASED_FEATURES)


def build(read: Callable[[str], bytes]) -> Table:
    """Builds the measured table; see `nasbenchnlp.build`."""
    released = read_released(read(RELEASED_FEATURES), RELEASED_FEATURES)
    return build_curves({SINGLE: read(SINGLE), MULTI: read(MULTI)}, released)


def build_curves(archives: dict[str, bytes], released: dict[int, Floats], rows: int = PTB_ROWS) -> Table:
    """The table of curves from the content of each archive, and the released features of `rows` groups.

    Raises:
        ValueError: An archive is not acceptable, or more than `SHARED` of its logs are not.
    """
    if len(released) != rows:
        raise ValueError(f"{RELEASED_FEATURES} must have {rows} architectures, got {len(released)}")
    runs: dict[int, dict[int, Log]] = {}
    refused: list[str] = []
    for file, content in archives.items():
        logs, bad = read_acceptable(content, file)
        if len(bad) > SHARED * (len(logs) + len(bad)):
            raise ValueError(f"{file}: at most {SHARED:.0%} of the logs may be unacceptable, got {len(bad)}: {bad[0]}")
        refused.extend(bad)
        for log in logs:
            # A run may be in both archives; its experiment id tells.
            runs.setdefault(group(log.architecture), {}).setdefault(log.experiment, log)
    ids = sorted(released)
    per_row = [
        sorted(runs.get(i, {}).values(), key=lambda r: (r.architecture, r.started, r.experiment))[:PTB_REPEATS]
        for i in ids
    ]
    cells = [r[0].cell if r else None for r in per_row]
    known = [c for c in cells if c is not None]
    own = np.zeros((len(ids), graph.SIZE))
    if known:
        own[[c is not None for c in cells]] = graph.embed(known)
    features = np.hstack([own, np.stack([released[i] for i in ids]), np.ones((len(ids), 1))])
    unused = sum(len(r) for g, r in runs.items() if g not in released)
    note = (
        f"{sum(map(len, per_row))} runs of {len(known)} architectures; {len(ids) - len(known)} rows have no log, "
        f"{unused} runs have no row, {len(refused)} logs were refused."
    )
    provenance = catalogue.provenance("nasbenchnlp", "measured", note, file=SINGLE)
    return curves_table(PTB, tuple(map(str, ids)), features, *arrays(per_row, PTB_REPEATS), provenance)


def embedded() -> Table:
    """As many cells from the generator, trained by the surrogate of `model` moved to PTB; see `fit_ptb`."""
    d = atomic.read_npz(Path(__file__).parent / "data" / "cells_ptb.npz")
    targets = d["targets"].astype(np.float64) * d["step"].astype(np.float64) + d["offset"].astype(np.float64)
    noise = np.zeros((PTB_ROWS, PTB_REPEATS, targets.shape[1]))
    noise[:PTB_MULTI_ROWS] = d["noise"].astype(np.float64) * d["noise_step"].astype(np.float64)
    targets = targets[:, None] + noise
    p = model._parameters()
    logs = p["mean"] + exact.product(targets[..., :-1], p["components"])
    # The move of final losses between the data sets, applied to whole curves.
    losses = exact.exp(d["move"][0] + d["move"][1] * logs).reshape(PTB_ROWS, PTB_REPEATS, 3, EPOCHS)
    losses = np.round(np.minimum(np.moveaxis(losses, 2, 3) + d["floors"], CAP), 4)
    values = np.empty((PTB_ROWS, PTB_REPEATS, EPOCHS, len(METRICS)))
    values[..., :3] = losses
    values[..., 3] = d["parameters"][:, None, None]
    cost = np.round(exact.exp(targets[..., -1]), 2)[..., None] * np.arange(1.0, EPOCHS + 1)
    status = np.full((PTB_ROWS, PTB_REPEATS), OK, np.uint8)
    later = np.arange(EPOCHS) >= d["ends"][:, None, None]
    diverged = d["ends"] < EPOCHS
    status[diverged] = DIVERGED
    values[np.broadcast_to(later, values.shape[:3])] = np.nan
    cost[np.broadcast_to(later, cost.shape)] = np.nan
    at = np.flatnonzero(diverged)
    values[at, :, d["ends"][at] - 1, :3] = np.nan
    values[PTB_MULTI_ROWS:, 1:] = cost[PTB_MULTI_ROWS:, 1:] = np.nan
    status[PTB_MULTI_ROWS:, 1:] = OK
    own = np.round(d["features"] / 255.0, graph.DECIMALS)
    features = np.hstack([own, predicted_released(own), np.zeros((PTB_ROWS, 1))])
    note = (
        "Cells drawn by the generator of section 3. Curves of the WikiText-2 surrogate, moved by the regression of "
        "final PTB losses on final WikiText-2 losses over the architectures in both; seconds scaled by the ratio of "
        "tokens; see tables/datasets/nasbenchnlp/data/cells_ptb_report.json."
    )
    provenance = catalogue.provenance("nasbenchnlp", "surrogate", note, file=SINGLE)
    keys = tuple(f"cell-{i:05d}" for i in range(PTB_ROWS))
    return curves_table(PTB, keys, features, values, cost, status, provenance)
