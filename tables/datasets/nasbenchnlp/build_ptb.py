"""Klyuchnikov et al. 2020 on the Penn Treebank: curves of 14,322 architectures, and final losses of 4,114.

`nasbenchnlp/ptb` has one row per architecture with released features (Table: 14,322 generated architectures), in the
order of their ids, and up to three runs of each: the released single runs and multi runs, of which 4,114 were
trained with three seeds. Keys are the ids. The two archives of logs are large and are fetched on their own (data set
`nasbenchnlp-ptb-logs`). An architecture without an acceptable log has status `failed`.

`nasbenchnlp/ptb-final` comes from another release (Serianni and Kalita 2023), which trained nothing but lists the
last-epoch test loss of 12,341 multi-run ids: one row per architecture, that is per group of ids with released
features (4,114 rows; 130 groups without features are left out), seeds as repeats. RNN, LSTM and GRU are not in it. A
loss of NaN is a run that diverged.

Quirks of `RNN_parameters.csv`: a second header is glued to the end of line 12346; after it come duplicates with NaN
for ids that are listed before, header lines and names that are no logs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import catalogue
from hpo_envs.tables.cells import features as graph
from hpo_envs.tables.datasets.nasbenchnlp import model
from hpo_envs.tables.datasets.nasbenchnlp.build import (
    FEATURE_NAMES,
    METRICS,
    group,
    read_released,
    released_stand_in,
)
from hpo_envs.tables.datasets.nasbenchnlp.logs import Log, read_acceptable
from hpo_envs.tables.datasets.nasbenchnlp.names import (
    CAP,
    EPOCHS,
    MULTI,
    PARAMETERS,
    PTB,
    PTB_FINAL,
    PTB_MULTI_ROWS,
    PTB_REPEATS,
    PTB_ROWS,
    RELEASED,
    RELEASED_FEATURES,
    SINGLE,
)
from hpo_envs.tables.table import STATUSES, Metric, Provenance, Table

Floats = npt.NDArray[np.float64]

SHARED = 0.01
"""Largest share of logs that may be unacceptable before the archive is."""

FINAL_METRICS = (
    Metric("test_loss", "nats", "min", 0.0, CAP, "Log perplexity on the test set after the last epoch."),
    METRICS[3],
)

_OK, _FAILED, _DIVERGED, _TRUNCATED = (STATUSES.index(s) for s in ("ok", "failed", "diverged", "truncated"))


def files(name: str) -> tuple[str, ...]:
    """Upstream files of a table."""
    return (SINGLE, MULTI, RELEASED_FEATURES) if name == PTB else (PARAMETERS, RELEASED_FEATURES)


def build(name: str, read: Callable[[str], bytes]) -> Table:
    """Builds a measured table; see `nasbenchnlp.build`."""
    released = read_released(read(RELEASED_FEATURES), RELEASED_FEATURES)
    if name == PTB_FINAL:
        return _final(read_final(read(PARAMETERS), PARAMETERS), released)
    return build_curves({SINGLE: read(SINGLE), MULTI: read(MULTI)}, released)


def build_curves(archives: dict[str, bytes], released: dict[int, Floats], rows: int = PTB_ROWS) -> Table:
    """The table of curves.

    Args:
        archives: Content of each archive by name.
        released: Released features by group.
        rows: Number of architectures that must have them.

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
    notes = (
        f"{sum(map(len, per_row))} runs of {len(known)} architectures; {len(ids) - len(known)} rows have no log, "
        f"{unused} runs have no row, {len(refused)} logs were refused.",
    )
    values, cost, status = _arrays(per_row)
    return _curves(tuple(map(str, ids)), features, values, cost, status, "measured", notes)


def _arrays(per_row: Sequence[Sequence[Log]]) -> tuple[Floats, Floats, npt.NDArray[np.uint8]]:
    values = np.full((len(per_row), PTB_REPEATS, EPOCHS, len(METRICS)), np.nan)
    cost = np.full(values.shape[:3], np.nan)
    status = np.full(values.shape[:2], _OK, np.uint8)
    for row, runs in enumerate(per_row):
        for repeat, run in enumerate(runs):
            end = len(run.seconds)
            values[row, repeat, :end, :3] = run.losses
            values[row, repeat, :end, 3] = run.parameters
            cost[row, repeat, :end] = np.cumsum(run.seconds)
            status[row, repeat] = _DIVERGED if run.diverged else _TRUNCATED if end < EPOCHS else _OK
        if not runs:
            # Somebody who tries it learns that at once and pays nothing.
            values[row, 0, 0, 3] = cost[row, 0, 0] = 0.0
            status[row, 0] = _FAILED
    return values, cost, status


def embedded_curves() -> Table:
    """As many cells from the generator, trained by the surrogate of `cells.model` moved to PTB; see `fit_cells_ptb`."""
    with np.load(_data("cells_ptb.npz"), allow_pickle=False) as data:
        d = {k: data[k] for k in data.files}
    targets = d["targets"].astype(np.float64) * d["step"].astype(np.float64) + d["offset"].astype(np.float64)
    noise = np.zeros((PTB_ROWS, PTB_REPEATS, targets.shape[1]))
    noise[:PTB_MULTI_ROWS] = d["noise"].astype(np.float64) * d["noise_step"].astype(np.float64)
    targets = targets[:, None] + noise
    p = model._parameters()
    logs = p["mean"] + np.einsum("nrk,kc->nrc", targets[..., :-1], p["components"])
    # The move of final losses between the data sets, applied to whole curves.
    losses = np.exp(d["move"][0] + d["move"][1] * logs).reshape(PTB_ROWS, PTB_REPEATS, 3, EPOCHS)
    losses = np.round(np.minimum(np.moveaxis(losses, 2, 3) + d["floors"], CAP), 4)
    values = np.empty((PTB_ROWS, PTB_REPEATS, EPOCHS, len(METRICS)))
    values[..., :3] = losses
    values[..., 3] = d["parameters"][:, None, None]
    cost = np.round(np.exp(targets[..., -1]), 2)[..., None] * np.arange(1.0, EPOCHS + 1)
    status = np.full((PTB_ROWS, PTB_REPEATS), _OK, np.uint8)
    later = np.arange(EPOCHS) >= d["ends"][:, None, None]
    diverged = d["ends"] < EPOCHS
    status[diverged] = _DIVERGED
    values[np.broadcast_to(later, values.shape[:3])] = np.nan
    cost[np.broadcast_to(later, cost.shape)] = np.nan
    at = np.flatnonzero(diverged)
    values[at, :, d["ends"][at] - 1, :3] = np.nan
    values[PTB_MULTI_ROWS:, 1:] = cost[PTB_MULTI_ROWS:, 1:] = np.nan
    status[PTB_MULTI_ROWS:, 1:] = _OK
    own = np.round(d["features"] / 255.0, graph.DECIMALS)
    features = np.hstack([own, released_stand_in(own), np.zeros((PTB_ROWS, 1))])
    notes = (
        "Cells drawn by the generator of section 3. Curves of the WikiText-2 surrogate, moved by the regression of "
        "final PTB losses on final WikiText-2 losses over the architectures in both; seconds scaled by the ratio of "
        "tokens; "
        "see tables/datasets/nasbenchnlp/data/cells_ptb_report.json.",
    )
    return _curves(tuple(f"cell-{i:05d}" for i in range(PTB_ROWS)), features, values, cost, status, "surrogate", notes)


def embedded_final() -> Table:
    """As many draws of released features from a Gaussian copula, with predicted losses; see `fit_cells_ptb`."""
    with np.load(_data("cells_ptb_final.npz"), allow_pickle=False) as data:
        d = {k: data[k] for k in data.files}
    values = np.stack([d["losses"].astype(np.float64), np.repeat(d["parameters"][:, None], PTB_REPEATS, 1)], axis=-1)
    count = d["repeats"]
    absent = np.arange(PTB_REPEATS) >= count[:, None]
    values[absent] = np.nan
    values = np.round(values, 4)
    status = np.where(np.isnan(values[..., 0]) & ~absent, _DIVERGED, _OK).astype(np.uint8)
    notes = (
        "Released features redrawn from a Gaussian copula; losses, divergence and parameters predicted by boosted "
        "trees with residual noise; see tables/datasets/nasbenchnlp/data/cells_ptb_report.json.",
    )
    keys = tuple(f"architecture-{i:04d}" for i in range(len(count)))
    return _final_table(keys, np.round(d["features"] / 255.0, graph.DECIMALS), values, status, "surrogate", notes)


_LINE = re.compile(r"log_stats_model_(\d+)_[^,]*\.json,([^,]+),[^,]+,[^,]+,([^,]+),([^,]+)$")


def read_final(content: bytes, file: str) -> dict[int, tuple[float, float]]:
    """(last-epoch test loss or NaN, parameters) of each id; the first line with numbers counts.

    Raises:
        ValueError: No id, two different losses of one, or one without parameters.
    """
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


def _final(losses: dict[int, tuple[float, float]], released: dict[int, Floats]) -> Table:
    groups: dict[int, list[tuple[float, float]]] = {}
    for i in sorted(losses):
        groups.setdefault(group(i), []).append(losses[i])
    ids = [g for g in sorted(groups) if g in released]
    values = np.full((len(ids), PTB_REPEATS, 2), np.nan)
    status = np.full((len(ids), PTB_REPEATS), _OK, np.uint8)
    for row, g in enumerate(ids):
        runs = groups[g]
        values[row, : len(runs)] = runs
        status[row, : len(runs)] = [_DIVERGED if np.isnan(loss) else _OK for loss, _ in runs]
    finite = sum(not np.isnan(loss) for loss, _ in losses.values())
    notes = (
        f"{len(losses)} ids, {finite} with a finite loss, {len(groups)} architectures, {len(ids)} with features. "
        "The losses are of the last epoch and of the test set.",
    )
    return _final_table(tuple(map(str, ids)), np.stack([released[g] for g in ids]), values, status, "measured", notes)


def _final_table(
    keys: tuple[str, ...],
    features: Floats,
    values: Floats,
    status: npt.NDArray[np.uint8],
    kind: Literal["measured", "surrogate"],
    notes: tuple[str, ...],
) -> Table:
    return Table(
        name=PTB_FINAL,
        keys=keys,
        feature_names=FEATURE_NAMES[graph.SIZE : graph.SIZE + RELEASED],
        features=features,
        metrics=FINAL_METRICS,
        values=values[:, :, None],
        cost=np.where(np.isnan(values[:, :, None, 1]), np.nan, 1.0),
        levels=np.array([float(EPOCHS)]),
        level_unit="epochs",
        status=status,
        provenance=_provenance(PARAMETERS, kind, notes),
    )


def _curves(
    keys: tuple[str, ...],
    features: Floats,
    values: Floats,
    cost: Floats,
    status: npt.NDArray[np.uint8],
    kind: Literal["measured", "surrogate"],
    notes: tuple[str, ...],
) -> Table:
    return Table(
        name=PTB,
        keys=keys,
        feature_names=FEATURE_NAMES,
        features=features,
        metrics=METRICS,
        values=values,
        cost=cost,
        cost_unit="s",
        levels=np.arange(1.0, EPOCHS + 1),
        level_unit="epochs",
        status=status,
        provenance=_provenance(SINGLE, kind, notes),
    )


def _data(name: str) -> Path:
    return Path(__file__).parent / "data" / name


def _provenance(file: str, kind: Any, notes: tuple[str, ...]) -> Provenance:
    first, dataset = catalogue.files()[file], catalogue.DATASETS["nasbenchnlp"]
    return Provenance(kind, first.repository, first.commit, first.licence, dataset.citation, notes=notes)
