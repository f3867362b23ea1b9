"""FIESTA: model selection as a bandit (Moss et al. 2019)."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import MultiDiscrete

from hpo_envs.core.env import HPOEnv, Info, provenance_info
from hpo_envs.engines.bandit.params import Setting


class FIESTAEnv(HPOEnv):
    """Model selection as a bandit: which of a few models has the best mean score?

    ## Description
    Moss et al. (2019) select between models whose scores vary with the train-test split and the random seed. An arm
    is a model; one pull is one evaluation on a fresh split and seed, resampled from the measured ones. One episode
    is one model selection with a budget of evaluations.

    Ids: `FIESTA-tdsa8-v0` and `FIESTA-tdsa12-v0` (8 and 12 models of target-dependent sentiment analysis, macro F1),
    `FIESTA-ner-v0` (2 named entity recognisers), `FIESTA-gaussian-v0` (synthetic arms, five by default).

    ## Action Space
    `Discrete(arms)`: the model to evaluate. With `batch_size=b`: `MultiDiscrete([arms] * b)`, b evaluations at once,
    the same model several times if wanted. Names of the models: `env.unwrapped.table.keys`.

    ## Observation Space
    `Box`, float32, with n arms:

    | index | content | range |
    |---|---|---|
    | 0 to n - 1 | share of the budget spent on each arm | 0 to 1 |
    | n to 2n - 1 | mean reward of each arm, the lowest reward before its first pull | bounds of the metric |
    | 2n to 3n - 1 | standard deviation of each arm's rewards (ddof 0) | 0 to half the metric's width |
    | 3n | reward of the step | bounds of the metric |
    | 3n + 1 | its cost | 0 to b evaluations |
    | 3n + 2 | budget left, as a share | 0 to 1 |

    ## Rewards
    The score of the evaluation, higher is better: macro F1 (tdsa), test F1 (ner), a Gaussian draw (gaussian). With a
    batch the reward is the mean of the batch, and `info["scores"]` has each.

    ## Starting State
    Nothing evaluated, full budget. The seed decides every pull: the k-th pull of an arm in an episode is the same
    whatever was pulled in between.

    ## Episode End
    Terminated when the budget left does not pay for another step. Never truncated by itself.

    ## Information
    At reset: `table`, `kind` (`measured` or `surrogate`), `sha256` of the table, `action_mask`.
    At each step: `cost` (float, evaluations: 1, or b), `metrics` (dict of float: `f1`; `test_f1` and
    `validation_f1`; or `score`; the mean of a batch), `status` (`ok`), `scores` ((b,) float64, only with a batch),
    `action_mask` ((n,) int8, all ones, only without a batch: pulling an arm again is the point). With `workers`:
    `finished`, `action` and `clock`; nothing else is meaningful while `finished` is False.

    ## Arguments
    - `task`: tdsa8, tdsa12, ner or gaussian; fixed by the id.
    - `table="auto"`: `"measured"`, `"surrogate"` or a `Table`; `"auto"` takes the measured one where installed.
    - `objective=None`: the rewarded metric; None = `f1`, `test_f1` or `score`.
    - `cost="evaluations"`: nothing else was measured.
    - `budget=204`: evaluations (section 5.1); None = as many as the table has (gaussian: 500 an arm).
    - `batch_size=None`: evaluations in one step.
    - `replacement=True`: False draws an arm's evaluations without replacement, in a fresh order once all were seen.
    - `workers=1`: simulated workers; a step submits an evaluation, and nothing comes back (`info["finished"]` False,
      reward and cost 0) until all are busy. Then each step returns the evaluation that finishes first:
      `info["action"]` says whose, `info["clock"]` when. Once the budget is submitted, the actions of the remaining
      steps do nothing. Not with `batch_size`.
    - `durations=None`: how long an evaluation of each model takes on a worker; None = 1 for all.
    - `shared=False`: True lets the k-th pulls of all arms read the same split. Scores of one split correlate across
      models (about .6), so comparisons become sharper.
    - ner: `fix_split=None`, 0 to 149, and `fix_seed=None`, 0 to 4: hold one of them fixed and vary the other
      (section 2 shows why both must vary).
    - gaussian: `means=(.65, .69, .69, .70, .71)`, `deviations=.01` (section 4.2), `bounds=(0, 1)` of the score.

    ## Table
    Measured: 500 evaluations of each sentiment model; 150 splits x 5 seeds of each recogniser. Apache 2.0 licence.
    Embedded: Gaussian arms with the measured means, deviations and correlations (runs that did not converge left
    out). `FIESTA-gaussian-v0` is synthetic: its table is always `surrogate`.

    ## References
    Henry B. Moss, Andrew Moore, David S. Leslie and Paul Rayson. FIESTA: Fast IdEntification of State-of-The-Art
    models using adaptive bandit algorithms. ACL 2019.

    ## Version History
    - v0: initial version.
    """

    reward_dim = 1

    def __init__(self, task: str = "tdsa8", **kwargs: Any) -> None:
        super().__init__()
        s = self._s = Setting(task, **kwargs)
        self.table, self.cost_unit, self.budget = s.table, "evaluations", s.budget
        self.action_space, self.observation_space = s.action_space, s.observation_space
        self.objectives, self.reward_bounds = (s.names[s.objective],), np.array([[s.low, s.high]])
        self._batched = isinstance(s.action_space, MultiDiscrete)
        self._arms = s.arms.arms

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Starts an episode; `options` are not used."""
        super().reset(seed=seed)
        self._key = self._new_key(seed)
        n = self._arms
        self._counts, self._means, self._squares = [0] * n, [0.0] * n, [0.0] * n
        self._left = self.budget
        self._clock, self._submitted = 0.0, 0
        self._jobs: list[tuple[float, int, int]] = []  # (when it finishes, order of submission, arm)
        self._observation = np.zeros(3 * n + 3, np.float32)
        self._observation[n : 2 * n] = self._observation[3 * n] = self._s.low
        self._observation[-1] = 1.0
        info = provenance_info(self.table)
        if not self._batched:
            info["action_mask"] = np.ones(n, np.int8)
        return self._observation.copy(), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Evaluates a model, or a batch of them.

        Raises:
            ValueError: The action is outside the space.
            ResetNeeded: No episode is running.
        """
        arms = self._check(action)
        if not self._live:
            raise self._not_live()
        if self._s.workers == 1:
            return self._evaluate(arms, {})
        arm, said = self._schedule(arms[0])
        if arm is None:
            return self._observation.copy(), 0.0, False, False, said
        return self._evaluate([arm], said)

    def _schedule(self, arm: int) -> tuple[int | None, Info]:
        """Submits an evaluation; returns the arm whose evaluation comes back now, if any, and what to say."""
        if self._submitted < self.budget:
            heapq.heappush(self._jobs, (self._clock + float(self._s.durations[arm]), self._submitted, arm))
            self._submitted += 1
            if self._submitted < self.budget and len(self._jobs) < self._s.workers:
                mask = np.ones(self._arms, np.int8)
                return None, {
                    "cost": 0.0, "finished": False, "action": arm, "clock": self._clock, "action_mask": mask,
                }  # fmt: skip
        self._clock, _, done = heapq.heappop(self._jobs)
        return done, {"finished": True, "action": done, "clock": self._clock}

    def _evaluate(self, arms: list[int], said: Info) -> tuple[Any, Any, bool, bool, Info]:
        s, n = self._s, self._arms
        pulls = []
        for arm in arms:
            metrics = s.arms.pull(self._key, arm, self._counts[arm])
            pulls.append(metrics)
            self._add(arm, s.sign * metrics[s.objective])
        batch = len(arms)
        values = [_mean([p[j] for p in pulls]) for j in range(len(s.names))]
        reward = s.sign * values[s.objective]
        self._left -= batch
        terminated = self._left < s.batch
        if terminated:
            self._live = False
        self._observation[3 * n :] = reward, batch, self._left / self.budget
        info: Info = {"cost": float(batch), "metrics": dict(zip(s.names, values, strict=True)), "status": "ok", **said}
        if self._batched:
            info["scores"] = np.array([s.sign * p[s.objective] for p in pulls])
        else:
            info["action_mask"] = np.ones(n, np.int8)
        return self._observation.copy(), reward, terminated, False, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(arms,) bool, all True: pulling an arm again is the point.

        Raises:
            AttributeError: Actions are batches.
        """
        if self._batched:
            raise AttributeError("action_masks: there is no useful mask of a batch")
        return np.ones(self._arms, bool)

    def _check(self, action: Any) -> list[int]:
        n = self._arms
        array = np.asarray(action)
        shape = (self._s.batch,) if self._batched else ()
        if array.shape != shape or array.dtype.kind not in "iu":
            form = f"{self._s.batch} ints" if self._batched else "an int"
            raise ValueError(f"action must be {form} in [0, {n}), got {action!r}")
        arms: list[int] = array.reshape(-1).tolist()
        if min(arms) < 0 or max(arms) >= n:
            raise ValueError(f"action must be in [0, {n}), got {action!r}")
        return arms

    def _add(self, arm: int, score: float) -> None:
        """Welford's update of an arm's moments, and the observation of them."""
        n = self._arms
        self._counts[arm] = count = self._counts[arm] + 1
        delta = score - self._means[arm]
        self._means[arm] += delta / count
        self._squares[arm] += delta * (score - self._means[arm])
        self._observation[arm] = count / self.budget
        self._observation[n + arm] = self._means[arm]
        self._observation[2 * n + arm] = math.sqrt(self._squares[arm] / count)


def _mean(values: list[float]) -> float:
    total = 0.0
    for v in values:
        total += v
    return total / len(values)
