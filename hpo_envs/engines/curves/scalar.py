"""Multi-fidelity environments: one action trains one row up to one checkpoint and pays what is new.

The scalar form here and the batched one in `curves_vector` read the same prepared arrays (`Curves`), so that they
cannot disagree on a number.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, MultiDiscrete

from hpo_envs.core.env import Floats, HPOEnv, Info, check_budget, provenance_info
from hpo_envs.engines.curves.params import COST_HIGH, Curves, prepare_curves
from hpo_envs.engines.lookup.params import Objective, load_tables
from hpo_envs.tables import draws
from hpo_envs.tables.table import STATUSES, Table

TRAININGS = 20
"""The default budget is what this many full trainings cost on average."""


def settings(p: Curves, budget: float | str | None, workers: Any) -> tuple[float, MultiDiscrete]:
    """Checks `budget` and `workers`; returns the budget and the action space."""
    if isinstance(workers, (bool, np.bool_)) or not isinstance(workers, (int, np.integer)) or workers < 1:
        raise ValueError(f"workers must be an int >= 1, got {workers!r}")
    if isinstance(budget, str):
        if budget != "auto":
            raise ValueError(f"budget must be 'auto', None or a number > 0, got {budget!r}")
        budget = p.budget_of(TRAININGS)
    return check_budget(budget, p.whole(), p.cost_unit), MultiDiscrete([p.rows, len(p.levels)])


class CurvesEnv(HPOEnv):
    """One step trains one row up to one checkpoint.

    Args:
        name: Name of the table.
        table: `"auto"`, `"measured"`, `"surrogate"` or a `Table`.
        objective: Name of the rewarded metric, or a tuple of names for a vector reward.
        held_out: Names of metrics that agents must not see; they are in `info["held_out"]`.
        cost: The table's cost unit (None, the default), its level unit, or `"evaluations"`.
        budget: What an episode may spend; `"auto"` = 20 full trainings, None = the whole table.
        levels: None = every checkpoint; an int k = at most k checkpoints, geometrically spaced, the last included.
        workers: Number of simulated parallel workers.
        variant: `"paper"`, or `"released"`: the checkpoint just trained is not paid (see `prepare_curves`).
    """

    def __init__(
        self,
        name: str,
        *,
        table: Any = "auto",
        objective: Objective,
        held_out: tuple[str, ...] = (),
        cost: str | None = None,
        budget: float | str | None = "auto",
        levels: int | None = None,
        workers: int = 1,
        variant: str = "paper",
    ) -> None:
        super().__init__()
        self.table: Table = load_tables((name,), table)[0]
        p = self._p = prepare_curves(self.table, objective, tuple(held_out), cost, levels, variant)
        self.cost_unit, self.objectives, self.levels = p.cost_unit, p.objectives, p.levels
        self.budget, self.action_space = settings(p, budget, workers)
        self.observation_space, self.reward_bounds = p.observation_space, np.stack([p.low, p.high], axis=1)
        self.workers = int(workers)
        self._vector = not isinstance(objective, str)
        if self._vector:
            self.reward_space, self.reward_dim = Box(p.low, p.high, dtype=np.float64), len(p.low)
        self._rows, self._levels, self._limit = p.rows, len(p.levels), p.rows * len(p.levels)
        # `item` gives Python numbers, several times faster than indexing with brackets.
        self._paid, self._end_of, self._peak_of = p.costs.item, p.ends.item, p.peaks[:, 0].copy().item
        self._count_of, self._repeats = p.count.item, p.repeats
        self._cells: dict[int, Any] = {}
        self._per_step = p.cost_unit == "evaluations"
        self._cost_at = p.cost_at
        self._full_mask = np.ones(p.rows + self._levels, np.int8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Starts an episode: nothing is trained."""
        super().reset(seed=seed)
        p = self._p
        self._key = self._new_key(seed)
        # row -> (first cell of the run that this episode sees, checkpoint trained or submitted)
        self._runs: dict[int, tuple[int, int]] = {}
        self._spent = self._clock = self._committed = 0.0
        self._count = self._finished = 0
        self._best, self._best_cell = p.low.tolist(), -1
        self._jobs: list[Any] = []
        self._open = True
        self._floor = -1
        self._mask = self._full_mask.copy()
        self._last = p.initial
        return p.initial.copy(), {**provenance_info(self.table), "action_mask": self._mask.copy()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Trains a row up to a checkpoint; with several workers, submits that to an idle one.

        Raises:
            ValueError: The action is outside the space.
            ResetNeeded: No episode is running.
        """
        row, level = self._pair(action)
        if not self._live:
            raise self._not_live()
        if self.workers > 1:
            return self._step_workers(row, level)
        base, reached, cost = self._submit(row, level)
        self._count = count = self._count + 1
        observation, reward, info = self._complete(row, base, level, reached, cost)
        terminated = self._spent >= self.budget or count >= self._limit or self._finished == self._rows
        if terminated:
            self._live = False
        return observation, reward, terminated, False, info

    def _step_workers(self, row: int, level: int) -> tuple[Any, Any, bool, bool, Info]:
        jobs = self._jobs
        if self._open:
            # A row continues from its own checkpoint, so it waits for what still trains that row.
            start = max([self._clock, *(job[0] for job in jobs if job[2] == row)])
            base, reached, cost = self._submit(row, level)
            heapq.heappush(jobs, (start + cost, self._count, row, base, level, reached, cost))
            self._committed += cost
            self._count += 1
            done = self._count >= self._limit or self._finished == self._rows
            self._open = self._committed < self.budget and not done
            if self._open and len(jobs) < self.workers:
                reward = np.zeros(len(self._best)) if self._vector else 0.0
                info: Info = {"cost": 0.0, "finished": False, "action": np.array([row, level]), "clock": self._clock}
                return self._last.copy(), reward, False, False, {**info, "action_mask": self._shown_mask()}
        self._clock, _, row, base, level, reached, cost = heapq.heappop(jobs)
        observation, reward, info = self._complete(row, base, level, reached, cost)
        self._last = observation.copy()
        info |= {"finished": True, "action": np.array([row, level]), "clock": self._clock}
        terminated = not self._open and not jobs
        self._live = not terminated
        return observation, reward, terminated, False, info

    def _submit(self, row: int, level: int) -> tuple[int, int, float]:
        """Notes that a row is trained; returns its run's first cell, the checkpoint reached, and the new cost."""
        run = self._runs.get(row)
        if run is None:
            base, reached = self._run_of(row) * self._levels, -1
        else:
            base, reached = run
        last = self._end_of(base // self._levels)
        end = level if level < last else last
        if end <= reached:
            return base, reached, 0.0
        paid = self._paid
        cost = 1.0 if self._per_step else paid(base + end) - (paid(base + reached) if reached >= 0 else 0.0)
        self._runs[row] = base, end
        if end == last:
            self._mask[row] = 0
            self._finished += 1
        if reached == self._floor and len(self._runs) == self._rows:
            self._raise_floor()
        return base, end, cost

    def _complete(self, row: int, base: int, level: int, reached: int, cost: float) -> tuple[Any, Any, Info]:
        """Returns observation, reward and info of a finished training."""
        cell = self._cells.get(base + level)
        if cell is None:
            cell = self._fill(row, base + level)
        reward, metrics, config, held_out, status, template = cell
        top, best, at = base + reached, self._best, self._cost_at
        peak: Any = self._peak_of(top)
        if peak > best[0] or self._best_cell < 0:
            best[0], self._best_cell = max(peak, best[0]), top
        observation = template.copy()
        observation[at] = cost if cost < COST_HIGH else COST_HIGH
        if self._vector:
            peak = self._p.peaks[top].copy()
            self._best = best = np.maximum(best, peak).tolist()
            reward = reward.copy()
            observation[at + 1 : -1] = best
        else:
            observation[-2] = best[0]
        self._spent = spent = self._spent + cost
        observation[-1] = 1.0 - spent / self.budget if spent < self.budget else 0.0
        info: Info = {"cost": cost, "metrics": metrics.copy(), "status": status, "reached": reached, "best": peak}
        if config is not None:
            info["config"] = config.copy()
        if held_out is not None:
            info["held_out"] = held_out.copy()
        # When nothing is left to train, all actions are equally useless: a mask without a 1 would break samplers.
        info["action_mask"] = (self._mask if self._finished < self._rows else self._full_mask).copy()
        return observation, reward, info

    def _fill(self, row: int, cell: int) -> Any:
        """What a step that asks for a cell returns, kept for the next time."""
        p = self._p
        template = p.templates[row].copy()
        d = self.table.features.shape[1]
        template[d] = p.wide[cell, -1]
        template[d + 1 : self._cost_at] = np.clip(p.rewards[cell], p.low, p.high)
        self._cells[cell] = found = (
            p.rewards[cell] if self._vector else float(p.rewards[cell, 0]),
            dict(zip(p.shown, p.seen[cell].tolist(), strict=True)),
            self.table.config(row) if self.table.space else None,
            dict(zip(p.held_out, p.hidden[cell].tolist(), strict=True)) if p.held_out else None,
            STATUSES[p.status[cell]],
            template,
        )
        return found

    def _run_of(self, row: int) -> int:
        """Index of the run of a row that this episode sees."""
        count = self._count_of(row)
        chosen = draws.below(draws.mix(self._key, row), count) if count > 1 else 0
        return row * self._repeats + chosen

    def _pair(self, action: Any) -> tuple[int, int]:
        """The row and the level of an action of any admitted type."""
        if type(action) is np.ndarray and action.dtype.kind in "iu":
            pair = action.tolist()
        else:
            pair = [int(v) if isinstance(v, np.integer) else v for v in action] if np.iterable(action) else None
        if type(pair) is list and len(pair) == 2:
            row, level = pair
            if type(row) is type(level) is int and 0 <= row < self._rows and 0 <= level < self._levels:
                return row, level
        raise ValueError(
            f"action must be two ints, a row below {self._rows} and a level below {self._levels}, got {action!r}"
        )

    # -- what is useful, and what is known -----------------------------------------------------------------------

    def _shown_mask(self) -> npt.NDArray[np.int8]:
        return (self._mask if self._finished < self._rows else self._full_mask).copy()

    def _raise_floor(self) -> None:
        """Masks the checkpoints that every row has reached."""
        top = self._levels - 1
        end_of, runs = self._end_of, self._runs.values()
        self._floor = min((top if reached == end_of(base // self._levels) else reached) for base, reached in runs)
        self._mask[self._rows : self._rows + self._floor + 1] = 0

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(rows + levels,) bool: rows that can be trained further, then checkpoints that some row has not reached.

        The two parts mask the two dimensions of the action, one after the other, as maskable PPO takes them.
        """
        return self._shown_mask().astype(bool)

    @property
    def total_cost(self) -> float:
        """Simulated cost of all that was trained in this episode, in `cost_unit`."""
        return self._spent

    @property
    def clock(self) -> float:
        """Simulated time at which the last result came back; with one worker, the same as `total_cost`."""
        return self._clock if self.workers > 1 else self._spent

    @property
    def best(self) -> tuple[int, int] | None:
        """Row and checkpoint (index in `table.levels`) of the best first objective passed so far; None before."""
        if self._best_cell < 0:
            return None
        run = self._best_cell // self._levels
        return run // self._p.repeats, int(self._p.peak_levels[self._best_cell])

    @property
    def best_held_out(self) -> dict[str, float]:
        """Held-out metrics of `best`: of the row and checkpoint that the visible objective would choose."""
        if self._best_cell < 0:
            return {}
        return dict(zip(self._p.held_out, self._p.peak_hidden[self._best_cell].tolist(), strict=True))

    def curve(self, row: int) -> dict[str, Floats]:
        """The metrics that agents see at every checkpoint that a row has reached in this episode.

        Raises:
            ValueError: The row was not trained.
        """
        if row not in self._runs:
            raise ValueError(f"row must have been trained in this episode, got {row!r}")
        base, reached = self._runs[row]
        part = self._p.seen[base : base + reached + 1]
        return {name: part[:, j].copy() for j, name in enumerate(self._p.shown)}
