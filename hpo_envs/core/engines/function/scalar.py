"""One episode on a function: `step`, trainings up to a checkpoint, masks, keys of `info`, observation."""

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.core.engines.episodes import Episode, EpisodeEnv, Step
from hpo_envs.core.engines.function.calls import Outcome, PausableTraining, call
from hpo_envs.core.engines.function.params import FunctionParams, reward_of
from hpo_envs.core.infos import STATUS_CODES, Info, numeric
from hpo_envs.core.params import Floats, check_action, check_box
from hpo_envs.tables import exact


class FunctionEpisode(Episode):
    """Episode on a function."""

    dicts = ("metrics", "config")

    def __init__(self, params: FunctionParams, key: int) -> None:
        self._p = p = params
        self._left, self._best, self._count = p.budget, p.low.copy(), 0
        self._trained: dict[int, _Run] = {}
        self._finished = np.zeros(len(p.candidates), bool)
        self._folder = None if p.folder is None else p.folder / f"{key:016x}"
        self._width = p.observation_space.shape[0] - 2 - 2 * len(p.low)

    @staticmethod
    def check(params: FunctionParams, action: Any) -> tuple[Any, Info]:
        """Return the action as an int, (2,) int64 or (d,) float64, and entries of `info` (`clipped` on a box)."""
        if params.kind == "box":
            point, clipped = check_box(action, params.action_space.shape or (), "action")
            return point, {"clipped": clipped[()]}
        if params.kind == "rows":
            return check_action(action, params.actions)[0], {}
        sizes = params.action_space.nvec.tolist()  # type: ignore[attr-defined]
        return np.array(check_action(action, sizes), np.int64), {}

    def first(self) -> npt.NDArray[np.float32]:
        """Return the initial observation, with nothing evaluated."""
        return self._observe(np.zeros(self._width), self._p.low, 0.0)

    def mask(self) -> npt.NDArray[np.int8]:
        """Return an int8 mask: candidates not fully evaluated (all, if none is left), then a 1 for each epoch."""
        left = ~self._finished if not self._finished.all() else np.ones(len(self._finished), bool)
        epochs = len(self._p.table.levels) if self._p.kind == "fidelity" else 0
        return np.concatenate([left, np.ones(epochs, bool)]).astype(np.int8)

    def step(self, checked: tuple[Any, Info]) -> Step:
        """Evaluate one configuration, or train a candidate up to a checkpoint."""
        action, noted = checked
        p = self._p
        raw = p.stored(action)
        config = p.points.config(raw)
        if p.kind == "fidelity":
            row, level = (int(v) for v in action)
            outcome, spent, noted = self._train(row, level, config)
            features = np.append(p.table.features[row], (level + 1) / len(p.table.levels))
        else:
            outcome, spent = call(p.function, config, p.objectives), 1.0
            features = np.asarray(action) if p.kind == "box" else p.table.features[action]
            if p.kind == "rows":
                self._finished[action] = True
        reward = reward_of(outcome, p)
        if p.budget_unit == p.cost_unit:
            spent = outcome.price
        self._best = np.maximum(self._best, reward)
        self._left -= spent
        self._count += 1
        info = numeric({"cost": outcome.price, "spent": spent, "error": outcome.error, **noted})
        info |= {"metrics": numeric(outcome.metrics), "config": numeric(config)}
        info |= {"status": outcome.status, "status_code": STATUS_CODES[outcome.status]}
        observation = self._observe(features, reward, outcome.price)
        terminated = self._left <= p.rest or self._count == p.steps
        return observation, reward if p.vector else float(reward[0]), terminated, info

    def _train(self, row: int, level: int, config: dict[str, Any]) -> tuple[Outcome, float, Info]:
        """Train a candidate up to a checkpoint.

        Returns:
            The outcome at the last epoch with a result up to the checkpoint, else at the first one, with the cost of
            the new epochs; the budget used by the step, unless it is a cost; and further entries of `info`.
        """
        run = self._trained.get(row)
        if run is None:
            run = self._trained[row] = _Run(self._training(row, config))
        new = run.training.until(level + 1)
        for epoch, outcome in new:
            run.outcomes[epoch] = outcome
            if outcome.status == "ok":
                run.best = max(run.best, float(reward_of(outcome, self._p)[0]))
        reached = max((e for e in run.outcomes if e <= level + 1), default=0)
        if reached == 0 and run.outcomes:  # the first score came later than this epoch
            reached = min(run.outcomes)
        if reached == 0:
            last = Outcome("failed", error="function must yield at least one score, got none")
        else:
            last = run.outcomes[reached]
        if run.training.ended or run.training.epoch >= len(self._p.table.levels):
            self._finished[row] = True
        price = float(exact.total(outcome.price for _, outcome in new))
        epochs = float(new[-1][0] - run.paid) if new else 0.0
        run.paid += int(epochs)
        best = run.best if np.isfinite(run.best) else float(reward_of(last, self._p)[0])
        status = "truncated" if last.status == "ok" and run.training.ended and reached < level + 1 else last.status
        spent = epochs if self._p.budget_unit == "epochs" else 1.0
        outcome = Outcome(status, last.metrics, price, price, last.error)
        return outcome, spent, {"reached": max(reached - 1, 0), "best": best}

    def _training(self, row: int, config: dict[str, Any]) -> PausableTraining:
        p = self._p
        if p.form == "epochs":
            return PausableTraining(p.function, config, p.objectives)
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="hpo_envs-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        folder = self._folder / str(row)
        shutil.rmtree(folder, ignore_errors=True)  # of an earlier episode with this key
        return PausableTraining(p.function, config, p.objectives, folder)

    def _observe(self, features: Floats, reward: Floats, cost: float) -> npt.NDArray[np.float32]:
        p = self._p
        left = max(self._left, 0.0) / p.budget
        out = np.concatenate([features, reward, [cost], self._best, [left]]).astype(np.float32)
        return np.clip(out, p.observation_space.low, p.observation_space.high)


class _Run:
    """A candidate's training: outcomes by epoch, best reward (first objective), and number of epochs paid for."""

    def __init__(self, training: PausableTraining) -> None:
        self.training, self.best, self.paid = training, -np.inf, 0
        self.outcomes: dict[int, Outcome] = {}


class FunctionEnv(EpisodeEnv):
    """Environment whose steps evaluate configurations by calling a function.

    ## Observation Space
    `Box`, float32. With f features of a candidate (a choice has one for each value), or numbers of the action, e = 1
    where a step trains to an epoch, else 0, and m objectives:

    | index | content | range |
    |---|---|---|
    | 0 to f - 1 | features of the last candidate, or the last action | 0 to 1, or -1 to 1 |
    | f, if e = 1 | epoch that the action named, as a fraction of `epochs` | 0 to 1 |
    | f + e to f + e + m - 1 | its reward(s) | bounds of the score, negative if lower is better |
    | f + e + m | its cost | 0 to 1e6 |
    | f + e + m + 1 to f + e + 2m | best reward(s) so far, per objective | as the reward |
    | f + e + 2m + 1 | fraction of the budget left | 0 to 1 |

    Values beyond a bound are clipped in the observation, not in `info`.

    ## Starting State
    Nothing evaluated: features (or last action) 0, reward(s) at the lower bound, full budget.

    ## Episode End
    Terminated when the budget is used up (the evaluation that exceeds it still counts). Never truncated by itself.

    ## Information
    At reset: `table`, `kind`, `sha256` of the list of candidates, which has no measurements; `action_mask`.
    At each step: `cost` (float), `spent` (float: the budget used by the step), `metrics` (dict of float),
    `config` (dict of the active hyperparameters), `status` (`ok`, `failed` or `diverged`), `error` (traceback or
    reason, empty if there is none), `action_mask` (int8, absent on a box), `clipped` (bool, only on a box: whether a
    number of the action was outside it). In the batched form `config` and `metrics` are arrays of dicts.

    ## Arguments
    - `function`: the function to call, or its `"module:name"`.
    - `space`: the search space: a dict such as `{"lr": (1e-5, 1e-1, "log"), "optimizer": ["sgd", "adam"]}`, Optuna's
      distributions by name, a `ConfigSpace.ConfigurationSpace`, or the suite's own `Hyperparameter`s; see
      `hpo_envs.tables.user.space`. A hyperparameter `{"low": 0.0, "high": 1.0, "if": {"optimizer": ["sgd"]}}` has a
      condition.
    - `objective="score"`: name of the metric that is rewarded, or a tuple of names for a vector reward.
    - `goal="max"`: or `"min"`; one for each objective.
    - `bounds=None`: (lowest, highest) value that the score can have, or a dict of them by objective; None: -1e6 and
      1e6, the limits of the observation.
    - `best=None`, `reference=None`: best known score and median score, a number each or one for each objective. With
      both, reports give normalised regret, 0 at `best` and 1 at `reference`; without, raw scores. No agent sees them.
    - `candidates=None`: number of candidates; None: 20 for each evaluation of the budget, from 500 to 5000. A space
      with fewer points is listed as a whole.
    - `candidate_seed=0`: seed of the candidates.
    - `cost_unit="s"`: unit of what the function returns as `cost`.

    ## Table
    None with measurements: the candidates, with the hash of search space, objectives and the function's name.

    ## References
    Your own function.
    """

    params: FunctionParams
    episode = FunctionEpisode

    def _config(self, action: Any) -> dict[str, Any]:
        p = self.params
        return p.points.config(p.stored(self.episode.check(p, action)[0]))
