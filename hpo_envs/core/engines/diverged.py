"""Table values without NaN (diverged and failed runs get the worst value, others their last one), and ends of runs."""

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Floats
from hpo_envs.tables.table import LOST, Table


def filled(t: Table, objective: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return (rows, repeats, levels, metrics) values without NaN, and (rows * repeats,) last checkpoint of each run.

    A run that diverged or failed ends one checkpoint after its last value of the metric `objective`, at most at the
    last checkpoint, and each metric has its worst value after its last one. In other runs metrics keep their last
    values. A metric without any value has its worst one.
    """
    known = (~np.isnan(t.values)).sum(axis=2)
    lost = np.isin(t.status, LOST)
    ends = np.clip(known[..., objective] - 1 + lost, 0, len(t.levels) - 1)
    last = np.maximum(np.minimum(np.arange(len(t.levels))[:, None], known[:, :, None] - 1), 0)
    values = np.take_along_axis(t.values, last, axis=2)
    worst = np.array([m.worst for m in t.metrics])
    fallen = lost[..., None, None] & (np.arange(len(t.levels))[:, None] >= known[:, :, None])
    return np.where(fallen | np.isnan(values), worst, values), ends.reshape(-1).astype(np.int64)
