"""Look-ups as arrays: default budget, costs, several tables, repeats, keys of `info`, observation space, grids."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Discrete, MultiDiscrete

from hpo_envs.core.engines.diverged import filled
from hpo_envs.core.infos import STATUS_COLUMN, Info, InfoColumn, configs_of
from hpo_envs.core.params import Objectives, Params, bounds_of, box, check_budget, check_objective, ordinals, rewarded
from hpo_envs.core.subsample import View
from hpo_envs.tables import Floats, Ints, draws
from hpo_envs.tables.checks import one_of, shown
from hpo_envs.tables.store import load_tables
from hpo_envs.tables.table import LOST, ByHash, Table

EVALUATIONS = 20
"""The default budget is the mean cost of this many evaluations."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LookupParams(Params):
    """Parameters and arrays of look-ups, with one cell per table, row and repeat, in this order.

    Attributes:
        repeats: (tables * rows,) number of measured repeats of each row, at least 1.
        max_repeats: Number of cells per row.
        answers: (cells, m + 1 + metrics + H) float64: `rewards`, `costs` and `metrics`, which are views of it, and raw
            values of the hyperparameters, so that one gather reads all.
        rewards: (cells, m) float64; higher is better.
        costs: (cells,) float64.
        metrics: (cells, metrics) float64 in native units; NaN only for missing held-out metrics.
        held_out: Names of the metrics that agents must not see.
        status: (cells,) int64, index into `STATUSES`.
        templates: (cells + 1, d) float32, observation after each cell, with zeros for the best rewards and the budget
            left; the last row is the initial observation.
        sizes: (H,) number of values of each hyperparameter if actions are values of a grid; else None.
    """

    options = ("table",)

    repeats: npt.NDArray[np.int64]
    max_repeats: int
    answers: Floats
    rewards: Floats
    costs: Floats
    metrics: Floats
    status: npt.NDArray[np.int64]
    templates: npt.NDArray[np.float32]
    held_out: tuple[str, ...] = ()
    sizes: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls, names: tuple[str, ...], *, table: Any = None, objective: Objectives = "bleu", cost: str = "evaluations",
        budget: float | str | None = "auto", grid: bool = False, held_out: tuple[str, ...] = (), shuffle: bool = False,
        subsample: float = 1.0,
    ) -> LookupParams:  # fmt: skip
        """Make the parameters from arguments; the arrays are cached, because `gymnasium.make` is called often.

        Args:
            names: Names of the tables; one is drawn at each reset if there are several.
            table: A `Table`, or a tuple of them for several names; None for the named ones.
            objective: Name of the rewarded metric, or a tuple of names for a vector reward.
            cost: `"evaluations"`, the table's cost unit, or a metric whose goal is `min`.
            budget: Budget of an episode, in units of `cost`; `"auto"` = the average cost of 20 evaluations, None =
                every run of every row once (of the most expensive table and rows that an episode can have).
            grid: Whether an action sets the values of the hyperparameters (MultiDiscrete) instead of a row (Discrete).
            held_out: Names of metrics that agents must not see; they are in `info["held_out"]`.
            shuffle: See `View`, as for `subsample`; both must be left out with `grid`.
            subsample: See `View`.

        Raises:
            ValueError: An argument is not valid for the tables.
        """
        if not isinstance(cost, str):
            raise ValueError(f"cost must be evaluations or the name of a metric, got {shown(cost)}")
        view = View(shuffle, subsample)
        if grid and not view.whole:
            raise ValueError(f"shuffle and subsample must be left out for actions on a grid, got {view}")
        keyed = tuple(ByHash(t) for t in load_tables(tuple(names), table))
        p = _prepare(keyed, check_objective(objective), cost, tuple(held_out))
        sizes = grid_sizes(p.table) if grid else None
        whole = view.most(p.costs.reshape(len(p.tables), p.rows, -1))
        auto = EVALUATIONS * (1.0 if p.cost_unit == "evaluations" else float(p.costs.mean()))
        return dataclasses.replace(
            p, kind="grid" if grid else "rows", sizes=sizes,
            action_space=Discrete(view.size(p.rows)) if sizes is None else MultiDiscrete(sizes),
            budget=check_budget(budget, whole, p.cost_unit, auto), view=view,
        )  # fmt: skip

    @property
    def steps(self) -> int:
        """Largest number of steps of an episode whatever its budget."""
        return self.actions * self.max_repeats

    def answer(self, cells: npt.NDArray[np.int64]) -> tuple[Floats, Info]:
        """Return the rewards, (k,) or (k, m), and the batched info, without masks, of (k,) cells."""
        found, m = self.answers.take(cells, axis=0), len(self.rewarded)
        codes = np.zeros(len(cells), np.int64) if self._statuses.itemsize == 8 else self.status.take(cells)
        metrics = {name: found[:, j] for name, j in self._shown}
        info: Info = {
            "cost": found[:, m], "metrics": metrics, "status": self._statuses.take(codes), "status_code": codes,
        }  # fmt: skip
        if self.held_out:
            info["held_out"] = held_out = {name: metrics.pop(name) for name in self.held_out}
            for name in self._partial:  # the form in which Gymnasium's vector environments mark a missing key
                held_out["_" + name] = known = ~np.isnan(held_out[name])
                held_out[name] = np.where(known, held_out[name], 0.0)
        if self._configs is not None:
            info["config"] = self._configs(found)
        return found[:, :m] if self.vector else found[:, 0], info

    @cached_property
    def _shown(self) -> list[tuple[str, int]]:
        """Name of each metric and its column in `answers`."""
        return [*zip(self.table.metric_names, itertools.count(len(self.rewarded) + 1), strict=False)]

    @cached_property
    def _partial(self) -> list[str]:
        """Names of the held-out metrics that are missing for some runs."""
        return [name for name in self.held_out if np.isnan(self.metrics[:, self.table.metric(name)]).any()]

    @cached_property
    def _configs(self) -> Callable[[Floats], Info] | None:
        """Function from rows of `answers` to configurations; None for tables without hyperparameters."""
        space = self.table.space
        return configs_of(space, self.answers.shape[1] - len(space)) if space else None

    @cached_property
    def _statuses(self) -> InfoColumn:
        """Names of the statuses, in as few bytes as possible: 8 each if all runs are ok."""
        return STATUS_COLUMN if self.status.any() else STATUS_COLUMN.astype("U2")  # type: ignore[return-value]

    def truth(self, table: int | Ints, actions: npt.NDArray[Any]) -> Floats:
        """See `Params`."""
        means = self.means[self._rows(actions) + table * self.rows]
        return np.asarray(means if self.vector else means[:, 0])

    def repeats_of(self, keys: draws.Keys, table: int | Ints, actions: npt.NDArray[Any]) -> dict[str, Ints]:
        """See `Params`."""
        rows = self._rows(actions)
        at = rows + table * self.rows
        repeat = np.zeros_like(rows)
        if self.max_repeats > 1:
            repeat = self.drawn(keys, at, ordinals(at, keys))
        return {"row": rows, "level": np.full_like(rows, len(self.table.levels) - 1), "repeat": repeat}

    def drawn(self, keys: npt.NDArray[np.uint64], at: npt.NDArray[np.int64], k: Any) -> npt.NDArray[np.int64]:
        """Return (n,) repeats of the k-th evaluations (from 0) of rows, by hash(key, row, k) as in `LookupEnv`."""
        return draws.below_many(draws.mix_many(draws.mix_many(keys, at + 1), k), self.repeats.take(at))

    def _rows(self, actions: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        if self.sizes is None:
            return actions.astype(np.int64)
        return np.asarray(np.ravel_multi_index(tuple(actions.astype(np.int64).T), tuple(self.sizes.tolist())))

    @cached_property
    def means(self) -> Floats:
        """(tables * rows, m) mean rewards of rows over their measured repeats."""
        kept = (np.arange(self.max_repeats) < self.repeats[:, None])[..., None]
        rewards = self.rewards.reshape(len(self.repeats), self.max_repeats, -1)
        return np.asarray(rewards.sum(axis=1, where=kept) / self.repeats[:, None])

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the tables without data set and `-grid`, for `options={"table": ...}`."""
        return tuple(t.name.partition("/")[2].removesuffix("-grid") for t in self.tables)

    def choose(self, options: dict[str, Any] | None) -> int | None:
        """Return the index of the table that the `options` of `reset` name, None if none; ValueError if unknown."""
        if not options or "table" not in options:
            return None
        return self.labels.index(one_of("options['table']", options["table"], self.labels))


@functools.lru_cache(maxsize=64)
def _prepare(keyed: tuple[ByHash, ...], objective: Objectives, cost: str, held_out: tuple[str, ...]) -> LookupParams:
    """Make parameters without a budget."""
    tables = tuple(k.table for k in keyed)
    first = tables[0]
    for t in tables[1:]:
        if t.metrics != first.metrics or t.space != first.space or t.values.shape[:2] != first.values.shape[:2]:
            raise ValueError(f"tables must share space, rows and metrics, got {first.name} and {t.name}")
    chosen = rewarded(objective, tuple(m for m in first.metrics if m.name not in held_out))
    hidden = [first.metric(name) for name in held_out]
    metrics = np.concatenate([_finals(t, first.metric(chosen[0].name), hidden) for t in tables])
    rewards = metrics[:, [first.metric(m.name) for m in chosen]] * np.array([m.sign for m in chosen])
    costs, cost_unit, cost_high = _costs(tables, metrics, cost, held_out)
    features = np.concatenate([np.repeat(t.features, t.repeats, axis=0) for t in tables])
    # Layout: features | rewards | cost | best rewards | budget left. See the families' Observation Space.
    d, m = features.shape[1], len(chosen)
    low, high = bounds_of(chosen).T
    space = box((d, 0, 1), (m, low, high), (1, 0, cost_high), (m, low, high), (1, 0, 1))
    templates = np.zeros((len(metrics) + 1, d + 2 * m + 2), np.float32)
    templates[:-1, :d] = features
    templates[:-1, d : d + m] = np.clip(rewards, low, high)
    templates[:-1, d + m] = np.minimum(costs, cost_high)
    templates[-1, d : d + m] = templates[-1, d + m + 1 : d + 2 * m + 1] = low
    templates[-1, -1] = 1.0
    configs = np.concatenate([np.repeat(t.configs, t.repeats, axis=0) for t in tables])
    answers = np.concatenate([rewards, costs[:, None], metrics, configs], axis=1)
    status = np.concatenate([t.status.reshape(-1) for t in tables]).astype(np.int64)
    repeats = np.concatenate([_repeats(t) for t in tables])
    for array in (answers, templates, status, repeats):
        array.setflags(write=False)
    return LookupParams(
        kind="rows", tables=tables, rewarded=chosen, vector=not isinstance(objective, str),
        action_space=Discrete(len(first)), observation_space=space, cost_unit=cost_unit,
        budget=0.0, repeats=repeats, max_repeats=first.repeats,
        answers=answers, rewards=answers[:, :m], costs=answers[:, m],
        metrics=answers[:, m + 1 : m + 1 + metrics.shape[1]], status=status, templates=templates, held_out=held_out,
    )  # fmt: skip


def _costs(
    tables: tuple[Table, ...], metrics: Floats, cost: str, held_out: tuple[str, ...]
) -> tuple[Floats, str, float]:
    """Return the (cells,) cost of each evaluation, the unit of costs, and the upper bound of the observed cost."""
    first = tables[0]
    if cost == "evaluations":
        return np.ones(len(metrics)), "evaluations", 1.0
    if cost == first.cost_unit and cost not in first.metric_names:
        every = [np.nanmax(np.where(np.isnan(t.cost), 0.0, t.cost), axis=2).reshape(-1) for t in tables]
        return np.concatenate(every), first.cost_unit, 1e9
    one_of("cost", cost, ("evaluations", *(name for name in first.metric_names if name not in held_out)))
    j = first.metric(cost)
    if first.metrics[j].goal != "min":
        raise ValueError(f"cost must be evaluations or a metric to minimise, got {shown(cost)}")
    return metrics[:, j], first.metrics[j].unit or cost, first.metrics[j].high


def _finals(t: Table, objective: int, hidden: list[int]) -> Floats:
    """Return (rows * repeats, metrics) values at the last level, or where a run diverged or failed.

    No NaN, except in `hidden` metrics that a finished run does not have.
    """
    values, ends = filled(t, objective)
    at = np.where(np.isin(t.status, LOST), ends.reshape(t.status.shape), len(t.levels) - 1)
    finals = np.take_along_axis(values, at[:, :, None, None], axis=2)[:, :, 0]
    unknown = np.isnan(t.values[..., hidden]).all(axis=2) & ~np.isin(t.status, LOST)[..., None]
    finals[..., hidden] = np.where(unknown, np.nan, finals[..., hidden])
    return finals.reshape(-1, len(t.metrics))


def _repeats(t: Table) -> npt.NDArray[np.int64]:
    measured: npt.NDArray[np.int64] = (~np.isnan(t.values).all(axis=(2, 3))).sum(axis=1)
    return measured.clip(1)


def grid_sizes(table: Table) -> npt.NDArray[np.int64]:
    """Return the (H,) number of values of each hyperparameter of a complete grid; the last one varies fastest.

    ValueError if the table's rows are not a complete grid in that order.
    """
    sizes = np.array([len(h.values) for h in table.space], dtype=np.int64)
    if not len(sizes) or int(sizes.prod()) != len(table):
        raise ValueError(f"table must be a complete grid, got {table.name} with {len(table)} rows")
    listed = (range(len(h.values)) if h.kind == "categorical" else h.values for h in table.space)
    if not np.array_equal(np.array(list(itertools.product(*listed)), np.float64), table.configs):
        raise ValueError(f"table must have its rows in grid order (last hyperparameter fastest), got {table.name}")
    return sizes
