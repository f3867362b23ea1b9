"""Tables that this project trains: trainings, comparison of repeated with stored ones, metrics as rewards."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.trained import UNIT, Packing, TrainingArrays
from hpo_envs.tables.table import STATUSES, Floats, Metric

DEVIATIONS = 3.0
"""Largest difference that counts as agreement, in pooled standard deviations between seeds."""

VERDICTS = {
    "same": "the same in every epoch",
    "agrees": "not the same, and within what seeds differ by",
    "differs": "not the same, by more than seeds differ",
}


def rewarded(objective: Any, metrics: Sequence[Metric]) -> dict[str, Any]:
    """Return the arguments `objective`, `goal` and `bounds` of `FunctionParams.of` for metrics of a trained table.

    Raises:
        ValueError: An objective is not among the metrics.
    """
    known = {m.name: m for m in metrics}
    names = (objective,) if isinstance(objective, str) else tuple(objective)
    chosen = [known[one_of("objective", name, tuple(known))] for name in names]
    goals, bounds = tuple(m.goal for m in chosen), {m.name: (m.low, m.high) for m in chosen}
    return {"objective": objective, "goal": goals[0] if isinstance(objective, str) else goals, "bounds": bounds}


@dataclass(frozen=True)
class Repetition:
    """Comparison of a repeated training with the stored one.

    Attributes:
        verdict: `same` (all counts of all epochs equal, losses within their rounding), `agrees` (final scores within
            three pooled standard deviations between seeds) or `differs`.
        deviations: Largest difference of the final scores in these standard deviations; infinite if the statuses or the
            numbers of epochs differ, or if scores do and those of the seeds do not.
    """

    verdict: str
    deviations: float


@dataclass(frozen=True)
class Suite:
    """The trainings of one table, or of several that are trained together.

    Attributes:
        name: Name for `benchmarks/study/measure.py`.
        rows: Default number of rows to train.
        packing: Layout of the stored trainings.
        train: Function from a name to the record of its training.
        scores: Function from (..., counts) and (..., losses) to displayed scores.
        judged: Number of leading columns of the scores that a comparison checks.
    """

    name: str
    rows: int
    packing: Packing
    train: Callable[[str], dict[str, Any]]
    scores: Callable[[Floats, Floats], Floats]
    judged: int

    def tasks(self, rows: int) -> list[str]:
        """Return the names of the trainings of the first rows.

        All seeds of a row are adjacent, so that a prefix of the list has complete rows.
        """
        *before, _, seeds = self.packing.axes
        kinds = ["".join(f"{label}-" for label in labels) for labels in itertools.product(*before)]
        return [f"{kind}{row}-{seed}" for row in range(rows) for kind in kinds for seed in seeds]

    def compare(self, arrays: TrainingArrays, record: Mapping[str, Any]) -> Repetition:
        """Compare a record of a training with the stored one.

        Raises:
            ValueError: The training is not stored.
        """
        packing, task = self.packing, record["task"]
        if not packing.has(arrays, task):
            raise ValueError(f"task must be one of the stored trainings, got {task!r}")
        at = packing.place(task)
        old, again = packing.kept(arrays, at), packing.measured(record)
        stored, new = self.scores(*old), self.scores(*again)
        if STATUSES[arrays["status"][at]] != record["status"] or len(stored) != len(new):
            return Repetition("differs", np.inf)
        apart = np.abs(stored - new)[-1, : self.judged] if len(new) else np.zeros(self.judged)
        spread = self.pooled(arrays, at[:-2])
        off = np.divide(apart, spread, out=np.where(apart > 0, np.inf, 0.0), where=spread > 0).max()
        same = np.array_equal(old[0], again[0]) and np.allclose(old[1], again[1], rtol=0.0, atol=2 * UNIT)
        return Repetition("same" if same else "agrees" if off <= DEVIATIONS else "differs", float(off))

    def pooled(self, arrays: TrainingArrays, at: tuple[int, ...]) -> Floats:
        """Return (judged,) standard deviations of final scores between seeds of the table `at`.

        They are pooled over complete rows; 0 without any.
        """
        done = (arrays["epochs"][at] == self.packing.epochs).all(axis=1)
        counts, losses = (arrays[name][at][done][:, :, -1].astype(np.float64) for name in ("counts", "losses"))
        ends = self.scores(counts, losses * UNIT)[..., : self.judged]
        return np.sqrt(ends.var(axis=1, ddof=1).mean(axis=0)) if len(ends) else np.zeros(self.judged)
