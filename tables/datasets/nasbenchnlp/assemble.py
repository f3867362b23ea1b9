"""Logs of cells as a table of learning curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.datasets.nasbenchnlp import EPOCHS
from hpo_envs.tables.datasets.nasbenchnlp.features import FEATURE_NAMES
from hpo_envs.tables.datasets.nasbenchnlp.logs import METRICS, Log
from hpo_envs.tables.table import STATUSES, Floats, Provenance, Table

OK, FAILED, DIVERGED, TRUNCATED = (STATUSES.index(s) for s in ("ok", "failed", "diverged", "truncated"))


def arrays(runs: Sequence[Sequence[Log]], repeats: int) -> tuple[Floats, Floats, npt.NDArray[np.uint8]]:
    """Values (rows, repeats, epochs, metrics), cumulative seconds and status of the runs of each row.

    A row without runs has failed.
    """
    values = np.full((len(runs), repeats, EPOCHS, len(METRICS)), np.nan)
    cost = np.full(values.shape[:3], np.nan)
    status = np.full(values.shape[:2], OK, np.uint8)
    for row, of_row in enumerate(runs):
        for repeat, run in enumerate(of_row):
            end = len(run.seconds)
            values[row, repeat, :end, :3] = run.losses
            values[row, repeat, :end, 3] = run.parameters
            cost[row, repeat, :end] = np.cumsum(run.seconds)
            status[row, repeat] = DIVERGED if run.diverged else TRUNCATED if end < EPOCHS else OK
        if not of_row:
            # Somebody who tries it learns that at once and pays nothing.
            values[row, 0, 0, 3] = cost[row, 0, 0] = 0.0
            status[row, 0] = FAILED
    return values, cost, status


def curves_table(
    name: str,
    keys: tuple[str, ...],
    features: Floats,
    values: Floats,
    cost: Floats,
    status: npt.NDArray[np.uint8],
    provenance: Provenance,
) -> Table:
    """A table of 50 epochs; shapes as `arrays` returns them."""
    return Table(
        name, keys, METRICS, values, cost, provenance, "s", feature_names=FEATURE_NAMES, features=features,
        levels=np.arange(1.0, EPOCHS + 1), level_unit="epochs", status=status,
    )  # fmt: skip
