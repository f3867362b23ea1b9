"""One learning-curve episode: `reset`, `step`, cost of the new part, repeats, masks, termination, observation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.curves.batched import CurvesVectorEnv
from hpo_envs.core.engines.curves.params import COST_HIGH, CurveParams
from hpo_envs.core.engines.workers import Workers
from hpo_envs.core.env import HPOEnv
from hpo_envs.core.infos import Info, numeric, provenance_info, single
from hpo_envs.core.params import Floats, check_action
from hpo_envs.tables import draws

KEPT = 20_000
"""Largest number of cells whose answers are cached, which bounds the memory."""


@dataclass(slots=True, eq=False)
class LevelAnswer:
    """Result of training an untrained row to a cell, with templates of observation and `info`.

    Attributes:
        reached: The cell at which training stops: the requested one, or an earlier one where the run ends.
        ends: Whether the run ends there.
        peak: Best reward up to that cell, in the first objective.
        dicts: Names of the dicts in `info`, each with the function that copies it for a step.
    """

    reached: int
    cost: float
    ends: bool
    peak: float
    reward: Any
    observation: npt.NDArray[np.float32]
    info: Info
    dicts: list[tuple[str, Callable[[], Info]]]


class SubmittedTraining(NamedTuple):
    """Training up to the cell `reached` that the action (`place`, `level`) submitted to a worker."""

    row: int
    place: int
    level: int
    answer: LevelAnswer
    reached: int
    cost: float


class CurvesEnv(HPOEnv):
    """Environment whose steps train a configuration up to a fidelity.

    ## Observation Space
    `Box`, float32. With d features (a choice has one 0/1 feature per value) and m objectives:

    | index | content | range |
    |---|---|---|
    | 0 to d - 1 | features of the last configuration | 0 to 1 |
    | d | fidelity, as a fraction of the highest | 0 to 1 |
    | d + 1 to d + m | its reward(s) | bounds of the metric, negative if lower is better |
    | d + m + 1 | cost of the step | 0 to 1e9 |
    | d + m + 2 to d + 2m + 1 | best reward(s) at any fidelity passed so far | as the reward |
    | d + 2m + 2 | fraction of the budget left | 0 to 1 |

    Values beyond a bound are clipped in the observation, not in `info`.

    ## Starting State
    Nothing trained: features 0, reward(s) at the lower bound, full budget.

    ## Episode End
    Terminated when the budget is used up (the training that exceeds it still counts), when every row is fully trained,
    or after rows x checkpoints steps; with several workers, once what was submitted until then is returned. Never
    truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured` or `surrogate`), `sha256` of the table, `action_mask`.
    At each step also: `cost` (float, in `env.unwrapped.cost_unit`; 0 for a checkpoint already reached), `reached` (int,
    checkpoint that the row is trained to: less than requested if its run ended, more if trained further before), `best`
    (best reward of the row at any checkpoint passed), `metrics` (dict of float), `config` (dict of natural
    hyperparameter values; absent where there are none), `status`, `action_mask` ((rows + checkpoints,) int8: rows that
    can be trained further, then checkpoints that some row has not reached). With several workers `finished`, `action`
    and `clock`, see Arguments.
    `env.unwrapped.curve(row)` returns the metrics at every checkpoint that a row is trained to.

    ## Arguments
    - `table=None`: a `Table` instead of the one of the id.
    - `cost=None`: the table's own unit; or the unit of its checkpoints, or `"evaluations"` (steps that train).
    - `budget="auto"`: the cost of 20 full trainings; or a number in units of `cost`; None = the whole table.
    - `levels=None`: every checkpoint; an int k leaves at most k of them, geometrically spaced, the last included.
    - `workers=1`: with W > 1 there is a clock in units of `cost`. While a worker is idle a step submits its action
      and returns reward 0 with `info["finished"]` False; once all are busy it returns the next result to finish, with
      its action in `info["action"]`. Once the budget is submitted, further actions are ignored and pending results are
      returned step by step.
    - `variant="paper"`: training to a checkpoint costs all training up to it. `"released"`: as in the code released
      with NAS-Bench-NLP, which charges the checkpoints before the last one trained, so that the first is free.
    - `shuffle=False`: True shuffles the configurations at each `reset`, so that the index of an action carries no
      information. `env.unwrapped.rows` and `info["row"]` map it to the row of the table.
    - `subsample=1.0`: fraction of the configurations, in (0, 1], that each episode has, drawn at `reset`; the
      action space shrinks with it.
    """

    params: CurveParams
    batched = CurvesVectorEnv

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        p = self.params
        self._actions, self._levels, self._limit = p.actions, len(p.levels), p.steps
        self._sizes = [self._actions, self._levels]
        # `item` gives Python numbers, several times faster than indexing with brackets.
        self._paid, self._peaks, self._end_of = p.costs.item, p.peaks.item, p.ends.item
        self._answers: dict[int, LevelAnswer] = {}  # by cell, made when it is first evaluated
        self._budget, self._rest, self._parallel = p.budget, p.rest, p.workers > 1
        self._per_step = p.cost_unit == "evaluations"
        self._full_mask = np.ones(p.actions + self._levels, np.int8)
        self._view: list[int] | None = None
        self._workers = Workers(p.workers)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Start an episode with nothing trained; `options` must be None or empty."""
        super().reset(seed=seed, options=options)
        p = self.params
        self._new_key(seed)
        self._view = None if p.view.whole else self.rows.tolist()
        # row -> (first cell of the run that this episode sees, checkpoint trained or submitted)
        self._runs: dict[int, tuple[int, int]] = {}
        self._returned: dict[int, int] = {}  # row -> last cell that a step has returned, with several workers
        self._spent = self._committed = 0.0
        self._count = 0
        self._best, self._best_cell = p.low.tolist(), -1
        self._workers = Workers(p.workers)
        self._open = True
        # Checkpoints that all rows have passed, and how many rows have not passed another one.
        self._floor, self._lowest = 0, self._actions
        self._mask = self._full_mask.copy()
        self._last = p.templates[-1]
        return self._last.copy(), {**provenance_info(self.tables), "action_mask": self._mask.copy()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Train a row up to a checkpoint; with several workers, submit it, and return a result once none is idle.

        ValueError if the action is outside the space, ResetNeeded if no episode is running.
        """
        index, level = check_action(action, self._sizes)
        if not self._live:
            raise self._not_live()
        row = index if self._view is None else self._view[index]
        if self._parallel:
            return self._step_workers(index, row, level)
        answer, reached, cost = self._submit(index, row, level)
        self._count += 1
        observation, reward, info = self._complete(answer, reached, cost)
        terminated = self._budget - self._spent <= self._rest or self._done()
        self._live = not terminated
        return observation, reward, terminated, False, info

    def _config(self, action: Any) -> dict[str, Any]:
        return self.table.config(int(self.rows[check_action(action, self._sizes)[0]]))

    def _done(self) -> bool:
        """Return whether nothing is left to train or all steps are used up."""
        return self._count >= self._limit or self._floor == self._levels

    def _step_workers(self, index: int, row: int, level: int) -> tuple[Any, Any, bool, bool, Info]:
        workers = self._workers
        if self._open:
            # A row continues from its own checkpoint, so it waits for what still trains that row.
            start = workers.free(row)
            answer, reached, cost = self._submit(index, row, level)
            workers.submit(SubmittedTraining(row, index, level, answer, reached, cost), start, cost)
            self._committed += cost
            self._count += 1
            self._open = self.budget - self._committed > self._rest and not self._done()
            if self._open and workers.idle:
                reward = np.zeros(len(self._best)) if self.params.vector else 0.0
                info = numeric({"cost": 0.0, "finished": False, "clock": workers.clock})
                info |= {"action": np.array([index, level]), "action_mask": self._shown_mask()}
                return self._last.copy(), reward, False, False, info
        done = SubmittedTraining(*workers.next())
        self._returned[done.row] = done.reached
        observation, reward, info = self._complete(done.answer, done.reached, done.cost)
        self._last = observation.copy()
        info |= numeric({"finished": True, "action": np.array([done.place, done.level]), "clock": workers.clock})
        terminated = not self._open and not workers
        self._live = not terminated
        return observation, reward, terminated, False, info

    def _submit(self, index: int, row: int, level: int) -> tuple[LevelAnswer, int, float]:
        """Record the training of a row; return its answer, the cell reached, and the cost, 0 if nothing was trained."""
        known = self._runs.get(row)
        base, before = (self._run_of(row) * self._levels, -1) if known is None else known
        answer = self._answers.get(base + level) or self._answer(row, base + level)
        reached = answer.reached
        if reached <= base + before:
            return answer, base + before, 0.0
        self._runs[row] = base, reached - base
        if answer.ends:
            self._mask[index] = 0
        if before + 1 == self._floor:
            self._lowest -= 1
            if not self._lowest:
                self._raise_floor()
        if before >= 0 and not self._per_step:
            return answer, reached, answer.cost - self._paid(base + before)
        return answer, reached, answer.cost

    def _complete(self, answer: LevelAnswer, reached: int, cost: float) -> tuple[Any, Any, Info]:
        """Complete a training up to the cell `reached`, update best and budget; return observation, reward and info."""
        p, best, peak, reward = self.params, self._best, answer.peak, answer.reward
        observation, info = answer.observation.copy(), answer.info.copy()
        if cost != answer.cost or reached != answer.reached:  # the row was trained before
            peak = self._peaks(reached, 0)
            observation[p.cost_at] = cost if cost < COST_HIGH else COST_HIGH
            info |= {"cost": np.float64(cost), "reached": np.int64(reached % self._levels), "best": np.float64(peak)}
        if peak > best[0] or self._best_cell < 0:
            best[0], self._best_cell = max(peak, best[0]), reached
        if p.vector:
            info["best"], reward = p.peaks[reached].copy(), reward.copy()
            self._best = best = np.maximum(best, info["best"]).tolist()
            observation[p.cost_at + 1 : -1] = best
        else:
            observation[-2] = best[0]
        self._spent = spent = self._spent + cost
        observation[-1] = 1.0 - spent / self._budget if spent < self._budget else 0.0
        for name, copy in answer.dicts:
            info[name] = copy()
        info["action_mask"] = self._shown_mask()
        return observation, reward, info

    def _answer(self, row: int, at: int) -> LevelAnswer:
        """Make, cache and return the answer of a cell; a full cache is emptied first."""
        p, level, last = self.params, at % self._levels, self._end_of(at // self._levels)
        end = min(level, last)
        reached = at - level + end
        cost, peak = 1.0 if self._per_step else self._paid(reached), self._peaks(reached, 0)
        rewards, shares, batch = p.answer(np.array([row]), np.array([at]))
        info = single(batch, self.table, row)
        if self._view is not None:
            info["row"] = np.int64(row)
        info["best"], info["cost"], info["reached"] = np.float64(peak), np.float64(cost), np.int64(end)
        template, m = p.templates[row].copy(), len(p.low)
        template[p.cost_at - m - 1], template[p.cost_at] = shares[0], min(cost, COST_HIGH)
        template[p.cost_at - m : p.cost_at] = np.clip(rewards[0], p.low, p.high)
        dicts = [(name, value.copy) for name, value in info.items() if isinstance(value, dict)]
        if len(self._answers) >= KEPT:
            self._answers.clear()
        reward = rewards[0] if p.vector else rewards.item()
        answer = LevelAnswer(reached, cost, end == last, peak, reward, template, info, dicts)
        self._answers[at] = answer
        return answer

    def _run_of(self, row: int) -> int:
        """Return the index in `params.ends` of the run that this episode draws for a row."""
        p = self.params
        if p.repeats == 1:
            return row
        count = int(p.count[row])
        return row * p.repeats + (draws.below(draws.mix(self._key, row), count) if count > 1 else 0)

    # -- what is useful, and what is known -----------------------------------------------------------------------

    def _shown_mask(self) -> npt.NDArray[np.int8]:
        # When nothing is left to train, all actions are equally useless: a mask without a 1 would break samplers.
        return (self._mask if self._floor < self._levels else self._full_mask).copy()

    def _raise_floor(self) -> None:
        """Recompute the lowest checkpoint of all rows, once none is at the previous one, and mask those below it."""
        levels = self._levels
        trained = [levels if end == self._end_of(base // levels) else end + 1 for base, end in self._runs.values()]
        self._floor = min(trained) if len(trained) == self._actions else 0
        self._lowest = trained.count(self._floor)
        self._mask[self._actions : self._actions + self._floor] = 0

    def _masks(self) -> npt.NDArray[np.bool_]:
        """Return (actions + levels,) bool: rows not fully trained, then checkpoints that some row has not reached.

        All are True if nothing is left to train.
        """
        return self._shown_mask().astype(bool)

    @property
    def total_cost(self) -> float:
        """Simulated cost of all completed trainings in this episode, in `cost_unit`."""
        return self._spent

    @property
    def clock(self) -> float:
        """Simulated time at which the last result was returned; with one worker, the same as `total_cost`."""
        return self._workers.clock if self.workers > 1 else self._spent

    @property
    def best(self) -> tuple[int, int] | None:
        """Table row and checkpoint (index in `table.levels`) of the best first objective so far; None at the start."""
        if self._best_cell < 0:
            return None
        run = self._best_cell // self._levels
        return run // self.params.repeats, int(self.params.peak_levels[self._best_cell])

    @property
    def best_held_out(self) -> dict[str, float]:
        """Held-out metrics, by name, of the row and checkpoint of `best`; empty at the start."""
        if self._best_cell < 0:
            return {}
        return dict(zip(self.params.held_out, self.params.peak_hidden[self._best_cell].tolist(), strict=True))

    def curve(self, row: int) -> dict[str, Floats]:
        """Return the visible metrics of a table row, by name: arrays up to the checkpoint that it is trained to.

        Raises:
            ValueError: No training of the row has finished in this episode.
        """
        if row not in (self._returned if self._parallel else self._runs):
            raise ValueError(f"row must have been trained in this episode, got {row!r}")
        base, reached = self._runs[row]
        p, cells = self.params, np.arange(base, 1 + (self._returned[row] if self._parallel else base + reached))
        metrics: dict[str, Floats] = p.answer(np.full(len(cells), row), cells)[2]["metrics"]
        return {name: metrics[name].copy() for name in p.shown}
