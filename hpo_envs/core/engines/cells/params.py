"""Environments that build cells: scorer, budget, reward of invalid cells, keys of `info`, observation space."""

from __future__ import annotations

import abc
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hpo_envs.core.infos import STATUS_CODES, Info
from hpo_envs.core.params import Floats, Objectives, Params, bounds_of, box, check_budget, rewarded
from hpo_envs.core.spaces import MaskedMultiDiscrete
from hpo_envs.tables.cells.grammar import SIZES, SLOTS, actions_of, cell_of, mutate
from hpo_envs.tables.cells.recipe import MAX_NODES, OPERATIONS, Cell
from hpo_envs.tables.table import Metric, Table

NODE = len(OPERATIONS) + SLOTS
"""Number of entries of the observation that describe a node."""


class Report(NamedTuple):
    """Result of a complete cell.

    Attributes:
        metrics: Metrics of the scorer by name, held-out ones included, and `seconds` of training.
        curve: (epochs,) the first metric by epoch.
        status: One of `STATUSES`, as in tables.
        source: `measured`, `surrogate`, or `none` if there is no result.
        extra: Further numbers of the scorer, by name.
        cost: Cost in the environment's unit.
        error: Reason for a failure; empty if there is none.
    """

    metrics: Mapping[str, float]
    curve: Floats
    status: str
    source: str
    extra: Mapping[str, float]
    cost: float = 1.0
    error: str = ""


class Scorer(abc.ABC):
    """Scorer of complete cells: a table with a surrogate, or training.

    Attributes:
        metrics: Metrics that are measured of each cell.
        held_out: Names of the metrics that agents must not see.
        extra: Names of additional info entries.
        epochs: Length of the learning curves.
        expected: Expected seconds of training per cell; 0 if nothing is trained.
    """

    metrics: tuple[Metric, ...]
    held_out: tuple[str, ...]
    extra: tuple[str, ...] = ()
    epochs: int
    expected: float = 0.0

    @abc.abstractmethod
    def score(self, cell: Cell, name: str, bits: int) -> Report:
        """Return the report of a cell; `name` is its canonical key, `bits` are 64 random bits."""


def mutate_actions(actions: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return a mutation, as (steps, 4) int64 actions, of the cell that such actions build; for None, a random cell."""
    return actions_of(mutate(None if actions is None else cell_of(actions), rng))


@dataclass(frozen=True, eq=False, kw_only=True)
class CellParams(Params):
    """Parameters of environments that build cells.

    Attributes:
        scorer: Scorer of complete cells.
        shown: Names of the entries of `info["metrics"]`, `seconds` last.
    """

    moves = MAX_NODES + 1  # one per node, and one that ends the cell
    mutate = staticmethod(mutate_actions)

    scorer: Scorer
    shown: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, scorer: Scorer, objective: Objectives, budget: float | None, **others: Any) -> CellParams:
        """Make the parameters of an environment that builds cells.

        Args:
            table: Table named in `info`.
            scorer: Scorer of complete cells.
            objective: Name of the rewarded metric, or a tuple of names for a vector reward.
            budget: Number of cells that an episode completes; None for as many as the table has rows.
            **others: Further attributes of `Params` that do not come from a table.

        Raises:
            ValueError: An unknown objective, or a budget that is neither None nor a whole number >= 1.
        """
        shown = tuple(m for m in scorer.metrics if m.name not in scorer.held_out)
        chosen = rewarded(objective, shown)
        (low, high), m = bounds_of(chosen).T, len(chosen)
        return cls(
            kind="graph", tables=(table,), rewarded=chosen, vector=not isinstance(objective, str),
            action_space=MaskedMultiDiscrete([*SIZES]),
            observation_space=box((MAX_NODES * NODE + 1, 0, 1), (m, low, high), (m, low, high), (2, 0, 1)),
            budget=check_budget(budget, float(len(table)), "evaluations"), shown=(*(m.name for m in shown), "seconds"),
            scorer=scorer, **{"cost_unit": "evaluations", **others},
        )  # fmt: skip

    @property
    def live(self) -> bool:
        """Whether steps train cells."""
        return self.scorer.expected > 0.0

    @property
    def expected(self) -> float:
        """Expected seconds of training in an episode."""
        return self.budget * self.scorer.expected

    @functools.cached_property
    def first(self) -> npt.NDArray[np.float32]:
        """(w,) float32, the initial observation of an episode."""
        out, m = np.zeros(self.observation_space.shape, np.float32), self.reward_dim
        out[-2 * m - 2 : -2] = np.concatenate([self.low, self.low])
        out[-1] = 1.0
        return out

    def reward(self, report: Report) -> list[float]:
        """Return the m rewards of a scored cell."""
        return [m.sign * float(report.metrics[m.name]) for m in self.rewarded]

    @functools.cached_property
    def invalid(self) -> Report:
        """Report of a cell that ended with an illegal move: every metric has its documented worst value."""
        worst = {m.name: m.worst for m in self.scorer.metrics} | {"seconds": 0.0}
        curve = np.full(self.scorer.epochs, self.scorer.metrics[0].worst)
        cost = float(self.budget_unit == self.cost_unit)  # nothing was trained, and an evaluation is spent
        return Report(worst, curve, "failed", "none", dict.fromkeys(self.scorer.extra, 0.0), cost)

    @functools.cached_property
    def unfinished(self) -> Report:
        """Report of a step that does not complete a cell: metrics, curve and cost are 0."""
        zeros = dict.fromkeys((*(m.name for m in self.scorer.metrics), "seconds"), 0.0)
        return Report(zeros, np.zeros(self.scorer.epochs), "ok", "none", dict.fromkeys(self.scorer.extra, 0.0), 0.0)

    def info(self, report: Report, name: str, finished: bool) -> Info:
        """Return the info of a step, without a mask; `name`: key of the cell, empty if it is incomplete or invalid."""
        metrics, extra = report.metrics, report.extra
        info = {
            "metrics": {n: np.float64(metrics[n]) for n in self.shown},
            "held_out": {n: np.float64(metrics[n]) for n in self.scorer.held_out}, "curve": report.curve.copy(),
            "status": report.status, "status_code": STATUS_CODES[report.status], "source": report.source, "key": name,
            **{n: np.float64(extra[n]) for n in extra}, "cost": np.float64(report.cost), "error": report.error,
            "finished": np.bool_(finished),
        }  # fmt: skip
        if self.budget_unit != self.cost_unit:
            info["spent"] = np.float64(finished)
        return info
