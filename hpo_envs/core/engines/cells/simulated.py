"""Cells of NAS-Bench-NLP: scored by the table where their computation is in it, else by the surrogate."""

from __future__ import annotations

import numpy as np

from hpo_envs.core.engines.cells.params import Report, Scorer
from hpo_envs.tables import draws
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.cells.size import VOCABULARY, parameters
from hpo_envs.tables.datasets.nasbenchnlp import CAP, EPOCHS, model
from hpo_envs.tables.table import STATUSES, Table


class Simulated(Scorer):
    """See `Scorer`.

    Args:
        table: Its keys are canonical keys, repeated ones with `#2`, `#3`, ...

    Attributes:
        runs: Canonical key of a computation -> (row, repeat) of each of its trainings in the table.
    """

    held_out = ("test_loss",)
    extra = ("divergence_probability",)
    epochs = EPOCHS

    def __init__(self, table: Table) -> None:
        self.metrics, self._table = table.metrics, table
        self.runs: dict[str, list[tuple[int, int]]] = {}
        for row, name in enumerate(table.keys):
            measured = int((~np.isnan(table.cost[row, :, 0])).sum())
            self.runs.setdefault(name.split("#")[0], []).extend((row, r) for r in range(measured))

    def score(self, cell: Cell, name: str, bits: int) -> Report:
        """Result of a cell: of one of its trainings, which the bits choose."""
        table = self._table
        if name in self.runs:
            row, repeat = self.runs[name][draws.below(bits, len(self.runs[name]))]
            count = int((~np.isnan(table.cost[row, repeat])).sum())
            losses, seconds = table.values[row, repeat, :count, :3], float(table.cost[row, repeat, count - 1])
            status, source = STATUSES[table.status[row, repeat]], table.provenance.kind
            size, probability = float(table.values[row, repeat, 0, 3]), model.divergence_probability(cell)
        else:
            run = model.simulate(cell, draws.below(bits, model.SEEDS), name)
            probability = run.divergence_probability
            losses, seconds, source = run.losses, float(run.seconds.sum()), "surrogate"
            status, size = "diverged" if run.diverged else "ok", float(parameters(cell, VOCABULARY["wikitext2"]))
        curve = np.full((EPOCHS, 3), CAP)
        curve[: len(losses)] = np.where(np.isnan(losses), CAP, losses)
        # A run that ended early without diverging keeps its last loss; one that diverged has none.
        if status != "diverged":
            curve[len(losses) :] = losses[-1]
        metrics = dict(zip(("validation_loss", "test_loss", "train_loss"), curve[-1].tolist(), strict=True))
        metrics |= {"parameters": size, "seconds": seconds}
        return Report(metrics, curve[:, 0].copy(), status, source, {self.extra[0]: probability})
