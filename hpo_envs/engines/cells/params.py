"""What environments that build recurrent cells read, in both forms: how cells are scored, and the spaces."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import MultiDiscrete

from hpo_envs.core.infos import STATUS_CODES, Info
from hpo_envs.core.params import Floats, Objective, Params, bounds_of, box, check_budget, check_objective, rewarded
from hpo_envs.tables import draws
from hpo_envs.tables.cells.grammar import SIZES, SLOTS, actions_of, cell_of, mutate
from hpo_envs.tables.cells.recipe import MAX_NODES, OPERATIONS, Cell
from hpo_envs.tables.cells.size import VOCABULARY, parameters
from hpo_envs.tables.datasets.nasbenchnlp import model
from hpo_envs.tables.datasets.nasbenchnlp.logs import EPOCHS
from hpo_envs.tables.table import STATUSES, Table, one_of

HELD_OUT = ("test_loss",)
SEEDS = 8
"""Training seeds that a simulated cell has."""

NODE = len(OPERATIONS) + SLOTS
"""Entries of the observation that describe a node."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CellParams(Params):
    """See `Params`. Cells are scored by the table where their computation is in it, else by the surrogate of `model`.

    Attributes:
        shown: Names of the entries of `info["metrics"]`.
        runs: Canonical key of a computation -> (row, repeat) of each of its trainings in the table.
    """

    shown: tuple[str, ...]
    runs: dict[str, list[tuple[int, int]]]

    @classmethod
    def of(cls, table: Table, objective: Objective, cost: str, budget: float | None) -> CellParams:
        """The parameters of an environment that builds cells.

        Args:
            table: Its keys are canonical keys, repeated ones with `#2`, `#3`, ...
            objective: Name of the rewarded metric, or a tuple of names for a vector reward.
            cost: `evaluations`.
            budget: Complete cells of an episode; None for as many as the table has rows.

        Raises:
            ValueError: An unknown objective or cost, or a budget that is not an int >= 1.
        """
        objective = check_objective(objective)
        shown = tuple(m for m in table.metrics if m.name not in HELD_OUT)
        chosen = rewarded(objective, shown)
        one_of("cost", cost, ("evaluations",))
        runs: dict[str, list[tuple[int, int]]] = {}
        for row, name in enumerate(table.keys):
            measured = int((~np.isnan(table.cost[row, :, 0])).sum())
            runs.setdefault(name.split("#")[0], []).extend((row, r) for r in range(measured))
        (low, high), m = bounds_of(chosen).T, len(chosen)
        return cls(
            kind="graph",
            tables=(table,),
            rewarded=chosen,
            vector=not isinstance(objective, str),
            action_space=MultiDiscrete([*SIZES]),
            observation_space=box((MAX_NODES * NODE + 1, 0, 1), (m, low, high), (m, low, high), (2, 0, 1)),
            cost_unit="evaluations",
            budget=check_budget(budget, float(len(table)), "evaluations"),
            mutate=mutate_actions,
            shown=(*(m.name for m in shown), "seconds"),
            runs=runs,
        )

    @property
    def moves(self) -> int:
        """A node each, and the end."""
        return MAX_NODES + 1

    def score(self, cell: Cell, name: str, bits: int) -> Info:
        """What a step that completes a cell reports of it, without reward.

        Args:
            cell: The cell.
            name: Its canonical key.
            bits: 64 random bits that choose the training seed.
        """
        table = self.table
        if name in self.runs:
            row, repeat = self.runs[name][draws.below(bits, len(self.runs[name]))]
            count = int((~np.isnan(table.cost[row, repeat])).sum())
            losses, seconds = table.values[row, repeat, :count, :3], float(table.cost[row, repeat, count - 1])
            status, source = STATUSES[table.status[row, repeat]], table.provenance.kind
            size, probability = float(table.values[row, repeat, 0, 3]), model.divergence_probability(cell)
        else:
            run = model.simulate(cell, draws.below(bits, SEEDS), name)
            probability = run.divergence_probability
            losses, seconds, source = run.losses, float(run.seconds.sum()), "surrogate"
            status, size = "diverged" if run.diverged else "ok", float(parameters(cell, VOCABULARY["wikitext2"]))
        curve = np.full((EPOCHS, 3), model.CAP)
        curve[: len(losses)] = np.where(np.isnan(losses), model.CAP, losses)
        # A run that ended early without diverging keeps its last loss; one that diverged has none.
        if status != "diverged":
            curve[len(losses) :] = losses[-1]
        metrics = dict(zip(("validation_loss", "test_loss", "train_loss"), curve[-1].tolist(), strict=True))
        metrics |= {"parameters": size, "seconds": seconds}
        return self._report(metrics, curve[:, 0].copy(), status, source, name, probability)

    def invalid(self) -> Info:
        """What is reported of a cell that an illegal move ended: every metric at its documented worst."""
        return _copied(self._invalid)

    def unfinished(self) -> Info:
        """What is reported while no cell is complete."""
        return _copied(self._unfinished)

    @functools.cached_property
    def first(self) -> npt.NDArray[np.float32]:
        """(w,) the observation of an episode in which nothing was done yet."""
        out, m = np.zeros(self.observation_space.shape, np.float32), self.reward_dim
        out[-2 * m - 2 : -2] = np.concatenate([self.low, self.low])
        out[-1] = 1.0
        return out

    def reward(self, info: Info) -> Floats:
        """(m,) oriented objectives of a scored cell."""
        return self.signs * np.array([info["metrics"][n] for n in self.objectives])

    @functools.cached_property
    def _invalid(self) -> Info:
        worst = {m.name: m.worst for m in self.table.metrics} | {"seconds": 0.0}
        return self._report(worst, np.full(EPOCHS, model.CAP), "failed", "none", "", 0.0)

    @functools.cached_property
    def _unfinished(self) -> Info:
        zeros = dict.fromkeys((*self.table.metric_names, "seconds"), 0.0)
        return self._report(zeros, np.zeros(EPOCHS), "ok", "none", "", 0.0)

    def _report(
        self, values: dict[str, float], curve: Floats, status: str, source: str, name: str, probability: float
    ) -> Info:
        return {
            "metrics": {n: np.float64(values[n]) for n in self.shown},
            "held_out": {n: np.float64(values[n]) for n in HELD_OUT},
            "curve": curve,
            "status": status,
            "status_code": STATUS_CODES[status],
            "source": source,
            "key": name,
            "divergence_probability": np.float64(probability),
        }


def _copied(info: Info) -> Info:
    return info | {name: info[name].copy() for name in ("metrics", "held_out", "curve")}


def mutate_actions(actions: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """A mutated cell as (steps, 4) actions to be taken one after the other.

    Args:
        actions: The parent in the same form; None draws a random cell.
        rng: Source of randomness.
    """
    return actions_of(mutate(None if actions is None else cell_of(actions), rng))
