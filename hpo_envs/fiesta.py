"""FIESTA: model selection as a bandit (Moss et al. 2019)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import MultiDiscrete
from gymnasium.vector import AutoresetMode

from hpo_envs import noise
from hpo_envs.arms import Setting
from hpo_envs.env import HPOEnv, HPOVectorEnv, Info, provenance_info


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
    `action_mask` ((n,) int8, all ones, only without a batch: pulling an arm again is the point).

    ## Arguments
    - `task`: tdsa8, tdsa12, ner or gaussian; fixed by the id.
    - `table="auto"`: `"measured"`, `"surrogate"` or a `Table`; `"auto"` takes the measured one where installed.
    - `objective=None`: the rewarded metric; None = `f1`, `test_f1` or `score`.
    - `cost="evaluations"`: nothing else was measured.
    - `budget=204`: evaluations (section 5.1); None = as many as the table has (gaussian: 500 an arm).
    - `batch_size=None`: evaluations in one step.
    - `replacement=True`: False draws an arm's evaluations without replacement, in a fresh order once all were seen.
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
        self.objectives, self.reward_bounds = (s.names[s.objective],), ((s.low, s.high),)
        self._batched = isinstance(s.action_space, MultiDiscrete)
        self._arms = s.arms.arms

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Starts an episode; `options` are not used."""
        super().reset(seed=seed)
        self._key = self._new_key(seed)
        n = self._arms
        self._counts, self._means, self._squares = [0] * n, [0.0] * n, [0.0] * n
        self._left = self.budget
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
        s, n = self._s, self._arms
        pulls = []
        for arm in arms:
            metrics = s.arms.pull(self._key, arm, self._counts[arm])
            pulls.append(metrics)
            self._add(arm, s.sign * metrics[s.objective])
        batch = len(arms)
        values = [_mean([p[j] for p in pulls]) for j in range(len(s.names))]
        scores = [s.sign * p[s.objective] for p in pulls]
        reward = s.sign * values[s.objective]
        self._left -= batch
        terminated = self._left < s.batch
        if terminated:
            self._live = False
        self._observation[3 * n :] = reward, batch, self._left / self.budget
        info: Info = {"cost": float(batch), "metrics": dict(zip(s.names, values, strict=True)), "status": "ok"}
        if self._batched:
            info["scores"] = np.array(scores)
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


class FIESTAVectorEnv(HPOVectorEnv):
    """`FIESTAEnv` for many episodes side by side.

    Args:
        num_envs: Number of episodes.
        task: See `FIESTAEnv`, like `kwargs`.
        autoreset_mode: `NEXT_STEP`, `SAME_STEP` or `DISABLED`.
        copy: False reuses the observation array.
        **kwargs: Arguments of `FIESTAEnv`.
    """

    reward_dim = 1

    def __init__(
        self,
        num_envs: int = 1,
        task: str = "tdsa8",
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        **kwargs: Any,
    ) -> None:
        s = self._s = Setting(task, **kwargs)
        super().__init__(num_envs, s.observation_space, s.action_space, autoreset_mode, copy)
        self.table, self.cost_unit, self.budget = s.table, "evaluations", s.budget
        self.objectives, self.reward_bounds = (s.names[s.objective],), ((s.low, s.high),)
        self._batched = isinstance(s.action_space, MultiDiscrete)
        k, n = self.num_envs, s.arms.arms
        self._keys, self._left = np.zeros(k, np.uint64), np.full(k, s.budget)
        self._counts, self._means, self._squares = np.zeros((k, n), np.int64), np.zeros((k, n)), np.zeros((k, n))
        self._seen = np.zeros((k, 3 * n + 3), np.float32)
        self._shown = np.empty_like(self._seen)
        self._names = {key: np.array([v] * k, dtype=object) for key, v in provenance_info(s.table).items()}

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(num_envs, arms) bool, all True."""
        if self._batched:
            raise AttributeError("action_masks: there is no useful mask of a batch")
        return np.ones(self._counts.shape, bool)

    def _start(self, index: npt.NDArray[np.intp], keys: noise.Keys, options: dict[str, Any] | None) -> Info:
        n = self._s.arms.arms
        self._keys[index], self._left[index] = keys, self.budget
        self._counts[index], self._means[index], self._squares[index] = 0, 0.0, 0.0
        self._seen[index] = 0.0
        self._seen[np.ix_(index, np.r_[n : 2 * n, 3 * n])] = self._s.low
        self._seen[index, -1] = 1.0
        return {key: value[index] for key, value in self._names.items()}

    def _advance(self, actions: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.bool_], Info]:
        s, n, at = self._s, self._s.arms.arms, self._index
        pulls = np.empty((self.num_envs, s.batch, len(s.names)))
        for j in range(s.batch):  # over the batch, not over the episodes: a batch may pull an arm twice
            arm = actions[:, j]
            pulls[:, j] = s.arms.pull_many(self._keys, arm, self._counts[at, arm])
            self._add(arm, s.sign * pulls[:, j, s.objective])
        values = _ordered_sum(pulls) / s.batch
        scores = s.sign * pulls[:, :, s.objective]
        rewards = s.sign * values[:, s.objective]
        self._left -= s.batch
        terminated = self._left < s.batch
        self._seen[:, 3 * n] = rewards
        self._seen[:, 3 * n + 1] = s.batch
        self._seen[:, 3 * n + 2] = np.maximum(self._left, 0.0) / self.budget
        info: Info = {
            "cost": np.full(self.num_envs, float(s.batch)),
            "metrics": {name: values[:, j].copy() for j, name in enumerate(s.names)},
            "status": np.full(self.num_envs, "ok", dtype=object),
        }
        if self._batched:
            info["scores"] = scores
        return rewards.copy(), terminated, info

    def _add(self, arm: npt.NDArray[np.int64], score: npt.NDArray[np.float64]) -> None:
        n, at = self._s.arms.arms, self._index
        self._counts[at, arm] = count = self._counts[at, arm] + 1
        mean = self._means[at, arm]
        delta = score - mean
        self._means[at, arm] = mean = mean + delta / count
        self._squares[at, arm] = squares = self._squares[at, arm] + delta * (score - mean)
        self._seen[at, arm] = count / self.budget
        self._seen[at, n + arm] = mean
        self._seen[at, 2 * n + arm] = np.sqrt(squares / count)

    def _observe(self) -> npt.NDArray[np.float32]:
        if self.copy:
            return self._seen.copy()
        np.copyto(self._shown, self._seen)
        return self._shown

    def _check_actions(self, actions: Any) -> npt.NDArray[np.int64]:
        array, n = np.asarray(actions), self._s.arms.arms
        shape = (self.num_envs, self._s.batch) if self._batched else (self.num_envs,)
        if array.shape != shape or array.dtype.kind not in "iu":
            raise ValueError(f"actions must be ints of shape {shape}, got shape {array.shape} and dtype {array.dtype}")
        array = array.astype(np.int64, copy=False).reshape(self.num_envs, -1)
        outside = (array < 0) | (array >= n)
        if outside.any():
            raise ValueError(f"actions must be ints in [0, {n}), got {int(array[outside][0])}")
        return array


def _mean(values: list[float]) -> float:
    total = 0.0
    for v in values:
        total += v
    return total / len(values)


def _ordered_sum(pulls: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sum over axis 1 from left to right, as `_mean` adds."""
    total = np.zeros((pulls.shape[0], pulls.shape[2]))
    for j in range(pulls.shape[1]):
        total += pulls[:, j]
    return total
