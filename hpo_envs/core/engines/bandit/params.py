"""Arguments of bandit environments: arms, batch size, default budget, workers, observation space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Discrete, MultiDiscrete

from hpo_envs.core.engines.bandit.arms import Arms, GaussianArms, MeasuredArms
from hpo_envs.core.params import Params, bounds_of, box, check_budget, check_int, ordinals
from hpo_envs.core.subsample import View
from hpo_envs.tables import Floats, Ints, draws
from hpo_envs.tables.checks import check_bool, one_of
from hpo_envs.tables.datasets import fiesta
from hpo_envs.tables.datasets.fiesta import TASKS
from hpo_envs.tables.datasets.fiesta import build as data
from hpo_envs.tables.store import load_table
from hpo_envs.tables.table import Table, numbers


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BanditParams(Params):
    """Parameters of environments whose actions pull an arm, or a batch of arms.

    Attributes:
        arms: Arms that draw the scores.
        names: Names of the metrics drawn.
        column: Index of the rewarded metric.
        sign: +1.0 if higher is better, else -1.0.
        batch: Number of pulls per action.
        durations: (arms,) time that an evaluation of each arm takes on a simulated worker.
    """

    arms: Arms
    names: tuple[str, ...]
    column: int
    sign: float
    batch: int
    durations: Floats

    @classmethod
    def of(
        cls, task: str, *, table: Any = None, objective: Any = None, cost: str = "evaluations",
        budget: float | None = 204, batch_size: int | None = None, replacement: bool = True, shared: bool = False,
        fix_split: int | None = None, fix_seed: int | None = None, means: Any = None, deviations: Any = None,
        bounds: Any = None, workers: int = 1, durations: Any = None, shuffle: bool = False, subsample: float = 1.0,
    ) -> BanditParams:  # fmt: skip
        """Make the parameters from the arguments of `FIESTAEnv`; `shuffle` and `subsample` are those of `View`.

        Raises:
            ValueError: An argument is not valid for the task or its table.
        """
        replacement, shared = check_bool("replacement", replacement), check_bool("shared", shared)
        one_of("task", task, TASKS)
        one_of("cost", cost, ("evaluations",), " (no other was measured)")
        if task == "gaussian":
            _only("gaussian", replacement=(replacement, True), shared=(shared, False))
            t = _gaussian_table(table, means, deviations, bounds)
        else:
            _only(task, means=(means, None), deviations=(deviations, None), bounds=(bounds, None))
        if task != "ner":
            _only(task, fix_split=(fix_split, None), fix_seed=(fix_seed, None))
        if task != "gaussian":
            t = load_table(f"fiesta/{task}", table)
        if t.repeats == 1 and "deviation" in t.metric_names:
            arms: Arms = GaussianArms(t, fiesta.TDSA_EVALUATIONS)
        else:
            arms = MeasuredArms(t, _columns(t, fix_split, fix_seed), replacement, shared)
        name = one_of("objective", arms.names[0] if objective is None else objective, arms.names)
        batch = 1 if batch_size is None else check_int("batch_size", batch_size, high=1_000_000, optional=True)
        view = View(shuffle, subsample)
        n, column = view.size(arms.arms), arms.names.index(name)
        count, times = _workers(workers, durations, arms.arms, batch_size)
        spent = check_budget(budget, float(n * arms.evaluations), "evaluations")
        if spent < batch:
            raise ValueError(f"budget must be >= batch_size ({batch} evaluations), got {budget!r}")
        ((low, high),) = bounds_of((t.metrics[column],))
        # Layout: see the page's Observation Space.
        parts = ((n, 0, 1), (n, low, high), (n, 0, (high - low) / 2.0), (1, low, high), (1, 0, batch), (1, 0, 1))
        return cls(
            kind="arms", tables=(t,), rewarded=(t.metrics[column],), vector=False,
            action_space=Discrete(n) if batch_size is None else MultiDiscrete(np.full(batch, n)),
            observation_space=box(*parts), cost_unit="evaluations", budget=spent, workers=count, view=view, arms=arms,
            names=arms.names, column=column, sign=t.metrics[column].sign, batch=batch, durations=times,
        )  # fmt: skip

    def truth(self, table: int | Ints, actions: npt.NDArray[Any]) -> Floats:
        """See `Params`."""
        return np.asarray(self.sign * self.arms.means[actions, self.column])

    def repeats_of(self, keys: draws.Keys, table: int | Ints, actions: npt.NDArray[Any]) -> dict[str, Ints]:
        """See `Params`."""
        arms = actions.astype(np.int64)
        repeat = self.arms.repeats(keys, arms, ordinals(arms, keys))
        return {"row": arms, "level": np.zeros_like(arms), "repeat": repeat}


def _only(task: str, **given: tuple[Any, Any]) -> None:
    """Raise ValueError if an argument that the task does not use, passed as (value, default), is not its default."""
    for name, (value, default) in given.items():
        if value is not default:
            where = {"fix_split": "ner", "fix_seed": "ner", "replacement": "measured arms", "shared": "measured arms"}
            raise ValueError(
                f"{name} must be {default} unless on {where.get(name, 'gaussian')}, got {value!r} on {task}"
            )


def _columns(table: Table, fix_split: int | None, fix_seed: int | None) -> npt.NDArray[np.int64]:
    """Return the indices of the repeats that may be drawn: all, or those of a fixed split, seed or both."""
    columns = np.arange(table.repeats)
    if fix_split is None and fix_seed is None:
        return columns
    if fix_split is not None:
        check_int("fix_split", fix_split, 0, fiesta.NER_SPLITS - 1, optional=True)
    if fix_seed is not None:
        check_int("fix_seed", fix_seed, 0, fiesta.NER_SEEDS - 1, optional=True)
    split, seed = columns // fiesta.NER_SEEDS, columns % fiesta.NER_SEEDS
    keep = (split == fix_split) | (fix_split is None)
    return np.asarray(columns[keep & ((seed == fix_seed) | (fix_seed is None))])


def _gaussian_table(table: Any, means: Any, deviations: Any, bounds: Any) -> Table:
    """Return `table` if it is given, else synthetic arms from the other arguments, or the default table without any."""
    if table is not None or (means, deviations, bounds) == (None,) * 3:
        return load_table("fiesta/gaussian", table)
    return data.gaussian(
        fiesta.GAUSSIAN_MEANS if means is None else means,
        fiesta.GAUSSIAN_DEVIATION if deviations is None else deviations,
        (0.0, 1.0) if bounds is None else bounds,
    )


def _workers(workers: Any, durations: Any, arms: int, batch_size: int | None) -> tuple[int, Floats]:
    """Return the number of simulated workers and the (arms,) durations of an evaluation, 1.0 by default."""
    count = check_int("workers", workers, high=1_000_000)
    if count > 1 and batch_size is not None:
        raise ValueError(f"workers must be 1 with batch_size (synchronous evaluation), got {workers!r}")
    times = np.ones(arms) if durations is None else numbers(durations)
    if times.shape != (arms,) or not (np.isfinite(times).all() and (times > 0.0).all()):
        raise ValueError(f"durations must be None or {arms} numbers > 0, got {durations!r}")
    return count, times
