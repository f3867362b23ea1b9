"""Tasks drawn at each reset, as a vectorized environment: table or function, sub-space, subsample, source tasks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from scipy.special import ndtri

from hpo_envs.agents.models.candidate_set import CandidateArrays
from hpo_envs.agents.models.gp.stacked import LENGTHS, Tables, length_scales, scaled
from hpo_envs.benchmarks.tasks import priors
from hpo_envs.benchmarks.tasks.pools import FEW, TaskPool
from hpo_envs.core.params import check_int, check_ints, check_options
from hpo_envs.tables import Floats, Indices, draws

SPACES, DRAWS = 256, 4
"""Number of spaces of prior functions, and of draws of each prior on each; tasks are random combinations of draws."""

LARGEST = 16.0
"""Bound of observed rewards, which are shifted and scaled at random in each episode."""

_GROUP, _POOL, _FUNCTION, _INSIDE, _FEATURE, _LOW, _FRACTION, _MIXED, _WEIGHT, _NOISE, _SOURCES = range(11)
_COMBINED, _UNITS, _ROWS = 16, 28, 32
"""Counters of a task's draws; those of subsample and noise follow from `_ROWS` on."""


@dataclass(frozen=True)
class Draws:
    """Distribution of sampled tasks."""

    fractions: tuple[float, float] = (0.5, 0.8)  # lowest and highest fraction of a pool's configurations in a task
    sub_space: float = 0.25  # probability that a task is restricted to an interval of one feature
    functions: float = 0.25  # probability of a draw of a Gaussian process or of random trees instead of a table
    mixed: float = 0.25  # probability that the rewards of a table are mixed with such a draw
    sources: tuple[float, float] = (1.0, 0.25)  # probability of source tasks, and that there are only some of them


class DrawnTasks(NamedTuple):
    """Tasks of E episodes."""

    keys: draws.Keys  # (E,) keys of their draws
    pool: Indices  # (E,) indices of their pools
    rows: Indices  # (E, size) rows of the pool that are candidates
    valid: npt.NDArray[np.bool_]  # (E, size) whether an entry is a candidate
    rewards: Floats  # (E, size) 0 for the median candidate and 1 for the best, at least -1


class Stock:
    """Pools as padded arrays, from which the tasks of many episodes are drawn at once.

    Task groups have equal probabilities, and so have the pools of a group. Without pools, all tasks are prior
    functions, whose spaces have at least `least` configurations.
    """

    def __init__(self, pools: Sequence[TaskPool], how: Draws, least: int) -> None:
        self.how = how if pools else replace(how, functions=1.0)
        self.pools, rng = list(pools), np.random.default_rng(0)
        if self.how.functions > 0.0:
            points = [priors.points(max(least, 128), rng) for _ in range(SPACES)]
            self.pools += [TaskPool("function", "functions", (), x, np.zeros(len(x))) for x in points]
        p, n = len(self.pools), max(len(pool.y) for pool in self.pools)
        d = max(pool.x.shape[1] for pool in self.pools)
        self.tables, self.sizes = len(pools), np.array([len(pool.y) for pool in self.pools])
        self.widths = np.array([pool.x.shape[1] for pool in self.pools])
        self.x, self.y = np.zeros((p, n, d), np.float32), np.zeros((p, 1 + 2 * DRAWS, n))
        self.order, self.lengths = np.zeros((p, d + 1, n), np.int32), np.ones((p, LENGTHS, d))
        self.order[:, 0] = np.arange(n)
        for i, pool in enumerate(self.pools):
            m, w = pool.x.shape
            self.x[i, :m, :w], self.lengths[i, :, :w] = pool.x, length_scales(w, pool.fitted)
            self.y[i, 0, :m] = scaled(pool.y)
            if self.how.sub_space > 0.0:
                self.order[i, 1 : w + 1, :m] = np.argsort(pool.x.T, axis=1, kind="stable")
            if i >= len(pools) or self.how.mixed > 0.0:
                for at, prior in enumerate((priors.smooth, priors.stepwise)):
                    self.y[i, 1 + at * DRAWS : 1 + (at + 1) * DRAWS, :m] = prior(pool.x, DRAWS, rng)
        groups = Counter(pool.group for pool in pools)
        self.until = np.cumsum([1.0 / (len(groups) * groups[pool.group]) for pool in pools])

    def draw(self, keys: draws.Keys, size: int, least: int) -> DrawnTasks:
        """Draw the tasks of E keys, with at most `size` and, of tables, at least `least` candidates.

        Raises:
            ValueError: A hundred draws for an episode gave no task whose best reward exceeds the median.
        """
        found = self._once(keys, size, least)
        flat = np.flatnonzero(np.isnan(found.rewards[:, 0]))
        for attempt in range(1, 100):
            if not len(flat):
                return found
            again = self._once(draws.mix_many(keys[flat], attempt), size, least)
            for array, values in zip(found, again, strict=True):
                array[flat] = values
            flat = flat[np.isnan(found.rewards[flat, 0])]
        raise ValueError("pools must have configurations of different rewards, got none in 100 draws")

    def _once(self, keys: draws.Keys, size: int, least: int) -> DrawnTasks:
        how, each = self.how, np.arange(len(keys))
        u = draws.uniform_many(draws.mix_many(keys[:, None], np.arange(_ROWS + size)))
        table = u[:, _FUNCTION] >= how.functions
        pool = np.minimum(np.searchsorted(self.until, u[:, _GROUP], side="right"), max(self.tables - 1, 0))
        pool = np.where(table, pool, self.tables + (u[:, _POOL] * (len(self.pools) - self.tables)).astype(np.intp))
        n, feature, start = self.sizes[pool], np.zeros(len(keys), np.intp), np.zeros(len(keys), np.intp)
        narrow = np.floor(0.6 * n).astype(np.intp)
        inside = table & (u[:, _INSIDE] < how.sub_space) & (narrow >= 2 * least)
        feature[inside] = 1 + (u[inside, _FEATURE] * self.widths[pool[inside]]).astype(np.intp)
        start[inside] = (u[inside, _LOW] * (n - narrow)[inside]).astype(np.intp)
        m = np.where(inside, narrow, n)
        fraction = how.fractions[0] + u[:, _FRACTION] * (how.fractions[1] - how.fractions[0])
        count = np.minimum(np.minimum(size, m), np.where(table, np.maximum(least, fraction * m), size).astype(np.intp))
        picked = _some(u[:, _ROWS : _ROWS + size], m)
        rows = self.order[pool[:, None], feature[:, None], start[:, None] + picked].astype(np.intp)
        valid = np.arange(size) < count[:, None]
        y = self.y[pool[:, None], 0, rows]
        mixed = ~table | (u[:, _MIXED] < how.mixed)
        at = np.flatnonzero(mixed)
        weight = np.where(table[at], 0.7 * u[at, _WEIGHT], 1.0)
        combined = ndtri(u[at, _COMBINED : _COMBINED + DRAWS])
        combined /= np.sqrt(np.square(combined).sum(axis=1, keepdims=True))
        prior = 1 + DRAWS * (u[at, _COMBINED + DRAWS] < 0.5)[:, None] + np.arange(DRAWS)
        functions = self.y[pool[at][:, None, None], prior[:, :, None], rows[at][:, None]]
        y[at] *= np.sqrt(1.0 - weight**2)[:, None]
        y[at] += weight[:, None] * (combined[:, None] @ functions)[:, 0]
        noisy = np.flatnonzero(~table)
        noise = draws.uniform_many(draws.mix_many(keys[noisy, None], np.arange(size) + _ROWS + size))
        y[noisy] += 0.3 * u[noisy, _NOISE][:, None] * ndtri(noise)
        ordered = np.sort(np.where(valid, y, np.inf), axis=1)
        low = 0.5 * (ordered[each, (count - 1) // 2] + ordered[each, count // 2])
        lead = ordered[each, count - 1] - low
        rewards = np.maximum((y - low[:, None]) / np.where(lead > 0.0, lead, np.nan)[:, None], -1.0)
        rewards[~valid & (lead > 0.0)[:, None]] = -1.0
        return DrawnTasks(keys.copy(), pool, rows, valid, rewards)

    def space(self, drawn: DrawnTasks) -> CandidateArrays:
        """Return the candidates of drawn tasks, with the predictions of their source tasks."""
        pool, rows, valid = drawn.pool, drawn.rows, drawn.valid
        d = int(self.widths[pool].max())
        x = self.x[pool[:, None], rows, :d]
        x[~valid] = 0.0
        return CandidateArrays(x, self._sources(drawn), self.lengths[pool, :, :d], self.widths[pool])

    def _sources(self, drawn: DrawnTasks) -> Tables:
        """Return the predictions of the source tasks; episodes without source tasks have none in `used`."""
        keys, pool, rows, valid, _ = drawn
        most = max((0 if p.predictions is None else len(p.predictions)) for p in self.pools)
        e, n = rows.shape
        found = Tables(np.zeros((e, most, n)), np.zeros((e, most)), np.zeros((e, most), bool), valid)
        u = draws.uniform_many(draws.mix_many(draws.mix_many(keys, _SOURCES)[:, None], np.arange(2 + most)))
        for i in np.flatnonzero([self.pools[k].predictions is not None for k in pool]) if most else ():
            source, kept = self.pools[pool[i]], valid[i]
            p = source.predictions
            if p is None or u[i, 0] >= self.how.sources[0]:
                continue
            order, j = np.argsort(u[i, 2 : 2 + len(p)]), len(p)
            if u[i, 1] < self.how.sources[1] and j > 2:
                j = 2 + int(u[i, 1] / self.how.sources[1] * (j - 1))
            found.predictions[i, :j, : kept.sum()] = scaled(p[order[:j]][:, rows[i, kept]])
            found.distances[i, :j] = 0.0 if source.distances is None else source.distances[order[:j]]
            found.used[i, :j] = True
        return found


def _some(u: Floats, m: Indices) -> Indices:
    """Return (E, size) distinct ints below (E,) limits in random order (Fisher and Yates); arbitrary beyond these."""
    e, size = u.shape
    kind = np.int16 if m.max() < 2**15 else np.int32
    order, each = np.tile(np.arange(m.max(), dtype=kind), (e, 1)), np.arange(e)
    for t in range(min(size, order.shape[1])):
        at = np.minimum(t + (u[:, t] * np.maximum(m - t, 1)).astype(np.intp), order.shape[1] - 1)
        order[each, t], order[each, at] = order[each, at], order[each, t]
    out = np.zeros((e, size), np.intp)
    out[:, : order.shape[1]] = order[:, :size]
    return np.minimum(out, m[:, None] - 1)


class SampledTasks(VectorEnv[Any, Any, Any]):
    """Vectorized episodes on tasks drawn at each reset; made by `hpo_envs.benchmarks.tasks.make_vec`.

    An action is the index of a candidate, `Discrete(candidates)`; if a task has fewer, indices start again from the
    first. Indices carry no information between episodes. The reward is normalised: 0 for the median and 1 for the best
    candidate of the task, at least -1; failed candidates have the worst score, also for the median. The observation is
    reward, best reward and fraction of the budget left; rewards are shifted and scaled at random in each episode, so
    that the observations do not reveal how good the best candidate is. `CandidateObservation` adds the candidates. All
    episodes have the same budget, end in the same step and restart in it (SAME_STEP). `info["task"]` (num_envs,) has
    codes of the tasks, since TorchRL takes numbers only: `envs.unwrapped.names["group"][info["task"]]` are their task
    groups.

    Args:
        num_envs: Number of episodes.
        pools: Pools that tasks are drawn from; empty: prior functions only.
        candidates: Largest number of configurations of a task.
        budget: Evaluations of an episode.
        draws: Distribution of tasks.
        copies: Consecutive episodes with the same task, for baselines that are means over them.

    Attributes:
        names: (pools + 1,) names by code: `table`, `metric` and `group`; the last, -1, is that of prior functions.
        tasks: Tables of the current tasks, or `function`.

    Raises:
        ValueError: A number is no int or out of range, or `budget` exceeds the candidates of the smallest task.
    """

    def __init__(
        self,
        num_envs: int,
        pools: Sequence[TaskPool],
        candidates: int = 64,
        budget: int = 20,
        draws: Draws | None = None,
        copies: int = 1,
    ) -> None:
        self.num_envs, self.budget = check_int("num_envs", num_envs), check_int("budget", budget)
        self.pools, self.size = list(pools), check_int("candidates", candidates, FEW)
        if budget > min([candidates, *(len(p.y) for p in pools)]):
            raise ValueError(f"budget must be at most the candidates of the smallest task, got {budget}")
        self._stock = Stock(self.pools, draws or Draws(), self.size)
        named = [*((p.name, p.metric, p.group) for p in self.pools), ("function", "value", "functions")]
        self.names = dict(zip(("table", "metric", "group"), np.array(named, object).T, strict=True))
        self.autoreset_mode, self.render_mode = AutoresetMode.SAME_STEP, None
        self.metadata = {"autoreset_mode": self.autoreset_mode}
        self.single_observation_space = Box(*np.array([[-LARGEST, -LARGEST, 0.0], [LARGEST, LARGEST, 1.0]], np.float32))
        self.single_action_space = Discrete(self.size)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._streams, self._episode, self._count = np.zeros(num_envs, np.uint64), 0, budget
        self._each, self._copies = np.arange(num_envs), check_int("copies", copies)
        self._best: Floats = np.zeros(num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Draw the tasks: episode i has the stream of seed + i // copies; without a seed, the streams continue.

        The first reset without a seed draws one.

        Raises:
            ValueError: There are options, or the seed is not an int from 0 to 2**62.
        """
        check_options(options, ())
        seed = None if seed is None else check_int("seed", seed, 0, 2**62)
        super().reset(seed=seed)
        if seed is not None or not self._episode:
            first = int(self.np_random.integers(2**40)) if seed is None else seed
            self._streams, self._episode = (first + self._each // self._copies).astype(np.uint64), 0
        self._begin()
        return self._observe(), self._mask()

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Evaluate one candidate in every episode; after the last evaluation, restart all episodes on new tasks.

        Raises:
            ValueError: An action is outside the space.
            ResetNeeded: `reset` was not called: no episode is running.
        """
        actions = check_ints(actions, (self.num_envs,), self.size)
        never = np.zeros(self.num_envs, bool)
        if not self._episode:
            raise gym.error.ResetNeeded("step() must follow reset(): no episode is running.")
        actions = actions % self._sizes
        self._reward = self._drawn.rewards[self._each, actions]
        self._best = np.maximum(self._best, self._reward)
        self._free[self._each, actions] = False
        self._count += 1
        reward = self._reward.copy()
        info: dict[str, Any] = {"cost": np.ones(self.num_envs), "_cost": ~never}
        if self._count < self.budget:
            return self._observe(), reward, never, never.copy(), info | self._mask()
        final = np.fromiter(self._observe(), object, self.num_envs)
        info |= {"task": self._codes(), "_task": ~never}
        info = {"final_obs": final, "_final_obs": ~never, "final_info": info, "_final_info": ~never}
        self._begin()
        return self._observe(), reward, ~never, never.copy(), info | self._mask()

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tables of the current tasks, or `function`."""
        return tuple(self.names["table"][self._codes()])

    @property
    def rewards(self) -> Floats:
        """(num_envs, candidates) rewards of all current candidates, for losses; not observed by policies."""
        return self._drawn.rewards

    def candidates(self) -> CandidateArrays:
        """Return the candidates of the current episodes, with the predictions of their source tasks."""
        return self._stock.space(self._drawn)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the (num_envs, candidates) bool mask of unevaluated candidates, a copy."""
        return self._free.copy()

    def _begin(self) -> None:
        keys = draws.mix_many(self._streams, self._episode)
        self._drawn = self._stock.draw(keys, self.size, self.budget)
        self._free, self._sizes = self._drawn.valid.copy(), self._drawn.valid.sum(axis=1)
        self._reward = np.full(self.num_envs, -1.0)
        self._best, u = self._reward, draws.uniform_many(draws.mix_many(keys[:, None], np.arange(_UNITS, _UNITS + 2)))
        self._zero, self._unit = ndtri(u[:, 0]), 2.0 * u[:, 1]
        self._count, self._episode = 0, self._episode + 1

    def _codes(self) -> npt.NDArray[np.int64]:
        return np.where(self._drawn.pool < len(self.pools), self._drawn.pool, -1)

    def _observe(self) -> npt.NDArray[np.float32]:
        left = np.full(self.num_envs, 1.0 - self._count / self.budget)
        shown = (self._zero + self._unit * reward for reward in (self._reward, self._best))
        return np.stack([*shown, left], axis=1).astype(np.float32)

    def _mask(self) -> dict[str, Any]:
        ones = np.ones(self.num_envs, bool)
        return {"action_mask": self._free.astype(np.int8), "_action_mask": ones, "task": self._codes(), "_task": ones}
