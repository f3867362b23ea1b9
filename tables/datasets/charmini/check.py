"""Trains a row again and compares: the same numbers, or at least within what seeds differ by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpo_envs.tables.datasets.charmini.build import rates
from hpo_envs.tables.datasets.charmini.measured import COUNTS, FIELDS, UNIT, Arrays, place
from hpo_envs.tables.table import STATUSES, Floats

DEVIATIONS = 3.0
"""Pooled standard deviations of the seeds within which another processor's result agrees."""


@dataclass(frozen=True)
class Check:
    """What a training made again says of the stored one.

    Attributes:
        stored: (epochs, 3) development accuracy and phoneme error rate in per cent, and negative log-likelihood.
        new: (epochs, 3) the same of the new training.
        verdict: `same` (every count of all epochs equal, losses within their rounding), `agrees` (accuracy and error
            rate at the end within three pooled seed standard deviations) or `differs`.
        deviations: How many of these the two differ by, the larger of both.
    """

    stored: Floats
    new: Floats
    verdict: str
    deviations: float


def compare(arrays: Arrays, record: Mapping[str, Any]) -> Check:
    """Compares a record of a training with the stored one.

    Raises:
        ValueError: That training is not stored.
    """
    at = place(record["task"])
    if not arrays["epochs"][at] and not arrays["status"][at]:
        raise ValueError(f"task must be one that was measured, got {record['task']!r}")
    n = int(arrays["epochs"][at])
    values = np.array(record["epochs"], np.float64).reshape(-1, len(FIELDS))
    counts = values[:, [FIELDS.index(name) for name in COUNTS]]
    kept = arrays["counts"][at][:n].astype(np.float64)
    losses = arrays["losses"][at][:n] * UNIT
    stored, new = _curves(kept, losses[:, 0]), _curves(counts, values[:, FIELDS.index("nll")])
    if STATUSES[arrays["status"][at]] != record["status"] or len(values) != n:
        return Check(stored, new, "differs", np.inf)
    apart = np.abs(stored[-1, :2] - new[-1, :2]) if n else np.zeros(2)
    spread = pooled(arrays, at[0])
    deviations = float(np.max(np.divide(apart, spread, out=np.where(apart > 0, np.inf, 0.0), where=spread > 0)))
    same = np.array_equal(kept, counts) and np.allclose(losses, values[:, 2:4], rtol=0.0, atol=2 * UNIT)
    return Check(stored, new, "same" if same else "agrees" if deviations <= DEVIATIONS else "differs", deviations)


def pooled(arrays: Arrays, architecture: int) -> Floats:
    """(2,) standard deviation between seeds of final accuracy and error rate, pooled over complete configurations."""
    part = {name: arrays[name][architecture] for name in ("counts", "epochs")}
    whole = (part["epochs"] == part["counts"].shape[2]).all(axis=1)
    final = part["counts"][whole][:, :, -1].astype(np.float64)
    ends = np.stack(rates(final[..., 0], final[..., 1], "development"), axis=2)
    return np.sqrt(ends.var(axis=1, ddof=1).mean(axis=0)) if len(ends) else np.zeros(2)


def _curves(counts: Floats, nll: Floats) -> Floats:
    return np.column_stack([*rates(counts[:, 0], counts[:, 1], "development"), nll])
