"""What the bandit environments share: their arguments, and how an arm's score is drawn.

The k-th pull of arm a in an episode is a function of (episode key, a, k).
"""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from hpo_envs.core.env import check_budget
from hpo_envs.engines.lookup.params import load_tables
from hpo_envs.tables import draws
from hpo_envs.tables.datasets.fiesta import build as data
from hpo_envs.tables.table import Table, nearest

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TASKS = ("tdsa8", "tdsa12", "ner", "gaussian")


class Arms(abc.ABC):
    """Draws the metrics of pulls, one by one or for many episodes at once; the two agree bit for bit.

    Attributes:
        names: Names of the metrics drawn.
        arms: Number of arms.
        evaluations: Distinct evaluations of an arm that a `budget=None` episode pays for.
    """

    names: tuple[str, ...]
    arms: int
    evaluations: int

    @abc.abstractmethod
    def pull(self, key: int, arm: int, k: int) -> list[float]:
        """Metrics of the k-th pull (from 0) of an arm."""

    @abc.abstractmethod
    def pull_many(self, keys: draws.Keys, arms: Ints, k: Ints) -> Floats:
        """(n, metrics) `pull` for n episodes, one pull each."""


class GaussianArms(Arms):
    """Arms whose scores are Gaussian.

    Args:
        table: Metrics: the mean of the score, and its deviation.
        evaluations: See `Arms`.
    """

    def __init__(self, table: Table, evaluations: int) -> None:
        from scipy.special import ndtri  # heavy: only where an environment is made

        self.names = table.metric_names[:1]
        self.arms, self.evaluations = len(table), evaluations
        self._mean, self._deviation = table.values[:, 0, 0, 0], table.values[:, 0, 0, 1]
        self._ndtri: Any = ndtri

    def pull(self, key: int, arm: int, k: int) -> list[float]:
        """One Gaussian draw."""
        z = float(self._ndtri(draws.uniform(draws.mix(draws.mix(key, arm), k))))
        return [float(self._mean[arm]) + float(self._deviation[arm]) * z]

    def pull_many(self, keys: draws.Keys, arms: Ints, k: Ints) -> Floats:
        """One Gaussian draw for each episode."""
        z = self._ndtri(draws.uniform_many(draws.mix_many(draws.mix_many(keys, arms), k)))
        return (self._mean[arms] + self._deviation[arms] * z)[:, None]


class MeasuredArms(Arms):
    """Arms whose scores are resampled from a table's repeats.

    Args:
        table: One level.
        columns: (c,) repeats that may be drawn.
        replacement: False goes through all columns in a random order, then through another order, and so on.
        shared: Whether the k-th pulls of all arms read the same column (the same split); else each arm has its own.
    """

    def __init__(self, table: Table, columns: Ints, replacement: bool = True, shared: bool = False) -> None:
        self.names = table.metric_names
        self.arms, self.evaluations = len(table), len(columns)
        self.replacement, self.shared = replacement, shared
        self._values = np.ascontiguousarray(table.values[:, columns, 0, :])
        self._lists = self._values.tolist()
        self._orders: dict[tuple[int, int], list[int]] = {}

    def pull(self, key: int, arm: int, k: int) -> list[float]:
        """The metrics of one column."""
        stream = draws.mix(key, 0 if self.shared else 1 + arm)
        if self.replacement:
            return self._lists[arm][draws.below(draws.mix(stream, k), self.evaluations)]  # type: ignore[no-any-return]
        sweep, place = divmod(k, self.evaluations)
        order = self._orders.get((stream, sweep))
        if order is None:
            if len(self._orders) > 4 * self.arms:
                self._orders.clear()
            keys = np.array([draws.mix(stream, sweep)], np.uint64)
            order = self._orders[stream, sweep] = self._permutation(keys)[0].tolist()
        return self._lists[arm][order[place]]  # type: ignore[no-any-return]

    def pull_many(self, keys: draws.Keys, arms: Ints, k: Ints) -> Floats:
        """The metrics of one column for each episode."""
        streams = draws.mix_many(keys, np.zeros_like(arms) if self.shared else 1 + arms)
        if self.replacement:
            column = draws.below_many(draws.mix_many(streams, k), self.evaluations)
        else:
            sweep, place = np.divmod(k, self.evaluations)
            column = self._nth(draws.mix_many(streams, sweep), place)
        return self._values[arms, column]

    def _permutation(self, keys: draws.Keys) -> Ints:
        """(n, c) a random order of the columns for each key: that of the columns' hashes."""
        return draws.mix_many(keys[:, None], np.arange(self.evaluations)).argsort(axis=1, kind="stable")

    def _nth(self, keys: draws.Keys, place: Ints) -> Ints:
        """(n,) the place-th column of each key's order."""
        column: Ints = np.take_along_axis(self._permutation(keys), place[:, None], axis=1)[:, 0]
        return column


class Setting:
    """What both forms share: table, arms, spaces and validated arguments."""

    def __init__(
        self,
        task: str,
        *,
        table: Any = "auto",
        objective: Any = None,
        cost: str = "evaluations",
        budget: float | None = 204,
        batch_size: int | None = None,
        replacement: bool = True,
        shared: bool = False,
        fix_split: int | None = None,
        fix_seed: int | None = None,
        means: Any = None,
        deviations: Any = None,
        bounds: Any = None,
        workers: int = 1,
        durations: Any = None,
    ) -> None:
        if task not in TASKS:
            raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}{nearest(task, TASKS)}")
        if cost != "evaluations":
            raise ValueError(f"cost must be 'evaluations' (no other was measured), got {cost!r}")
        if task == "gaussian":
            _only("gaussian", replacement=replacement is True, shared=shared is False)
        else:
            _only(task, means=means is None, deviations=deviations is None, bounds=bounds is None)
        if task != "ner":
            _only(task, fix_split=fix_split is None, fix_seed=fix_seed is None)
        if task == "gaussian":
            self.table = _gaussian_table(table, means, deviations, bounds)
        else:
            (self.table,) = load_tables((f"fiesta/{task}",), table)
        # Planted arms are drawn from their moments, everything else is resampled.
        if self.table.repeats == 1 and "deviation" in self.table.metric_names:
            self.arms: Arms = GaussianArms(self.table, data.TDSA_EVALUATIONS)
        else:
            self.arms = MeasuredArms(self.table, _columns(self.table, fix_split, fix_seed), replacement, shared)
        name = self.arms.names[0] if objective is None else objective
        if not isinstance(name, str) or name not in self.arms.names:
            hint = nearest(str(name), self.arms.names)
            raise ValueError(f"objective must be one of {', '.join(self.arms.names)}, got {objective!r}{hint}")
        self.objective, self.names = self.arms.names.index(name), self.arms.names
        metric = self.table.metrics[self.objective]
        ends = sorted((metric.sign * metric.low, metric.sign * metric.high))
        self.sign, self.low, self.high = metric.sign, ends[0], ends[1]
        if batch_size is not None and (isinstance(batch_size, bool) or batch_size != int(batch_size) or batch_size < 1):
            raise ValueError(f"batch_size must be None or an int >= 1, got {batch_size!r}")
        self.batch = 1 if batch_size is None else int(batch_size)
        n = self.arms.arms
        self.workers, self.durations = _workers(workers, durations, n, batch_size)
        self.budget = check_budget(budget, float(n * self.arms.evaluations), "evaluations")
        if self.budget < self.batch:
            raise ValueError(f"budget must be >= batch_size, {self.batch} evaluations, got {budget!r}")
        self.action_space = Discrete(n) if batch_size is None else MultiDiscrete(np.full(self.batch, n))
        width = self.high - self.low
        low, high = np.zeros(3 * n + 3), np.ones(3 * n + 3)
        low[n : 2 * n], high[n : 2 * n], high[2 * n : 3 * n] = self.low, self.high, width / 2.0
        low[3 * n], high[3 * n], high[3 * n + 1] = self.low, self.high, self.batch
        self.observation_space = Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)


def _only(task: str, **unset: bool) -> None:
    """Raises ValueError for an argument that means nothing for a task."""
    for name, is_unset in unset.items():
        if not is_unset:
            where = {"fix_split": "ner", "fix_seed": "ner", "replacement": "measured arms", "shared": "measured arms"}
            raise ValueError(f"{name} must be left alone for {task}: it is for {where.get(name, 'gaussian')} only")


def _columns(table: Table, fix_split: int | None, fix_seed: int | None) -> npt.NDArray[np.int64]:
    """Repeats that may be drawn."""
    columns = np.arange(table.repeats)
    if fix_split is None and fix_seed is None:
        return columns
    sizes = (data.NER_SPLITS, data.NER_SEEDS)
    for name, value, size in (("fix_split", fix_split, sizes[0]), ("fix_seed", fix_seed, sizes[1])):
        if value is not None and (isinstance(value, bool) or value != int(value) or not 0 <= value < size):
            raise ValueError(f"{name} must be None or an int in [0, {size}), got {value!r}")
    split, seed = columns // data.NER_SEEDS, columns % data.NER_SEEDS
    keep = (split == fix_split) | (fix_split is None)
    return columns[keep & ((seed == fix_seed) | (fix_seed is None))]


def _gaussian_table(table: Any, means: Any, deviations: Any, bounds: Any) -> Table:
    """The table of the synthetic arms, or the caller's."""
    if isinstance(table, Table) or table not in ("auto", "surrogate") or (means, deviations, bounds) == (None,) * 3:
        return load_tables(("fiesta/gaussian",), table)[0]
    return data.gaussian(
        data.GAUSSIAN_MEANS if means is None else means,
        data.GAUSSIAN_DEVIATION if deviations is None else deviations,
        (0.0, 1.0) if bounds is None else bounds,
    )


def _workers(workers: Any, durations: Any, arms: int, batch_size: int | None) -> tuple[int, Floats]:
    """Number of simulated workers, and how long an evaluation of each arm takes."""
    if isinstance(workers, (bool, np.bool_)) or not isinstance(workers, (int, np.integer)) or workers < 1:
        raise ValueError(f"workers must be an int >= 1, got {workers!r}")
    if workers > 1 and batch_size is not None:
        raise ValueError(f"workers must be 1 with batch_size, which is the synchronous form, got {workers!r}")
    times = np.ones(arms) if durations is None else np.asarray(durations, dtype=np.float64)
    if times.shape != (arms,) or not (np.isfinite(times).all() and (times > 0.0).all()):
        raise ValueError(f"durations must be None or {arms} numbers > 0, got {durations!r}")
    return int(workers), times
