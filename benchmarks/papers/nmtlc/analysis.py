"""Successive halving on whole tables of curves: pure functions of arrays."""

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Indices
from hpo_envs.tables.table import Floats, Table


def curves(table: Table, metric: str) -> Floats:
    """Return (runs, levels) values of a metric, negated if lower is better, constant after a run's end.

    Runs without a value at the first checkpoint are left out.
    """
    values = np.array(table.values[:, 0, :, table.metric(metric)])
    values *= table.metrics[table.metric(metric)].sign
    for j in range(1, values.shape[1]):
        values[:, j] = np.where(np.isnan(values[:, j]), values[:, j - 1], values[:, j])
    return values[np.isfinite(values).all(axis=1)]


def level_at(levels: Floats, resource: npt.ArrayLike) -> Indices:
    """Return the index of the last checkpoint at or before each resource; 0 if there is none."""
    return np.maximum(np.searchsorted(levels, np.asarray(resource) * (1 + 1e-9), side="right") - 1, 0)


def halve(
    promoted_by: Floats, levels: Floats, rows: Indices, eta: float, minimum: float, best: bool = False
) -> tuple[Indices, float]:
    """Halve some rows successively; return the rows of the last rung, best first, and the cost in complete trainings.

    `promoted_by` is the (rows, levels) criterion, higher is better: its value at a rung or, with `best`, its best one
    by then. Rungs are at the fractions `minimum`, `minimum` * `eta`, ..., 1 of the last of the (levels,) resources,
    or the last checkpoint before; 1 / `eta` of the rows, rounded down to at least one, survive each but the last.
    """
    seen = np.maximum.accumulate(promoted_by, axis=1) if best else promoted_by
    share, spent, reached = minimum, 0.0, 0.0
    while True:
        level = int(level_at(levels, min(share, 1.0) * levels[-1]))
        resource = float(levels[level] / levels[-1])
        spent += len(rows) * max(resource - reached, 0.0)
        reached = max(resource, reached)
        rows = rows[np.argsort(-seen[rows, level], kind="stable")]
        if share >= 1.0:
            return rows, spent
        rows, share = rows[: max(int(len(rows) / eta), 1)], share * eta


def rank_of_winner(promoted_by: Floats, final: Floats, level: int) -> float:
    """Return the fraction of rows with a higher `promoted_by` at a checkpoint than the final winner; 0 if it leads."""
    winner = int(np.argmax(final))
    return float((promoted_by[:, level] > promoted_by[winner, level]).mean())
