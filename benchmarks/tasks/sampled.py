"""A distribution of tasks as a vectorized environment, which draws table, objective, sub-space and subsample."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from hpo_envs.agents.models.candidate_set import CandidateArrays
from hpo_envs.agents.models.gp.kernels import of_square_distances
from hpo_envs.agents.models.gp.stacked import length_scales
from hpo_envs.core.params import check_int, check_ints
from hpo_envs.families.registry import SPECS, languages_of
from hpo_envs.tables.catalogue import canonical
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.store import load
from hpo_envs.tables.table import Floats, Table

FAMILIES = ("NMTHPO", "NMTLC", "CharHPO", "CharMini")
"""Families whose tables are tasks: final results of complete tables."""

FEW = 8
"""Fewest configurations of a pool; a task has at least as many as evaluations."""


@dataclass(frozen=True, eq=False)
class TaskPool:
    """What tasks are drawn from: one objective of one table.

    Attributes:
        name: Of the table and the objective.
        languages: Of the table.
        x: (N, d) features of its configurations, in [0, 1].
        y: (N,) rewards, higher is better.
        feature_names: Of its features.
        predictions: (J, N) of source tasks.
        distances: (J,) of their spaces.
        fitted: (d,) length-scales of the source tasks; None: not known.
    """

    name: str
    languages: tuple[str, ...]
    x: Floats
    y: Floats
    feature_names: tuple[str, ...] = ()
    predictions: Floats | None = None
    distances: Floats | None = None
    fitted: Floats | None = None


def pools(
    families: Sequence[str] = FAMILIES, without: Sequence[str] = (), objective: str | None = None
) -> list[TaskPool]:
    """Return every objective of every table of some families whose best result is above the median one.

    Args:
        families: Names among `FAMILIES`.
        without: Languages left out, by any of their codes.
        objective: Name of one metric instead of all.

    Raises:
        ValueError: No such family, a language that none of the tables has, or no table is left.
    """
    for family in families:
        one_of("families", family, FAMILIES)
    specs = [s for i, s in SPECS.items() if i.partition("-")[0] in families and "-mo-" not in i and len(s.tables) == 1]
    every = [p for name in dict.fromkeys(s.tables[0] for s in specs) for p in _of(name)]
    known, left_out = {language for p in every for language in p.languages}, {canonical(code) for code in without}
    if left_out - known:
        raise ValueError(f"without must be languages among {', '.join(sorted(known))}, got {sorted(left_out - known)}")
    found = [p for p in every if not left_out & set(p.languages)]
    found = [p for p in found if objective is None or p.name.rpartition(" ")[2] == objective]
    if not found:
        raise ValueError(f"without must leave a table of {', '.join(families)}, got {without!r}")
    return found


@functools.cache
def _of(name: str) -> tuple[TaskPool, ...]:
    """The objectives of a table."""
    table: Table = load(name)
    languages = languages_of([name])
    last = np.maximum((~np.isnan(table.values)).sum(axis=2, keepdims=True) - 1, 0)
    ends = np.take_along_axis(table.values, last, axis=2)[:, :, 0]
    worst = np.array([m.worst for m in table.metrics])
    measured = ~np.isnan(ends).all(axis=(1, 2))
    values = np.where(np.isnan(ends), worst, ends).mean(axis=1) * [m.sign for m in table.metrics]
    made = [
        TaskPool(f"{name} {m.name}", languages, table.features[measured], values[measured, j], table.feature_names)
        for j, m in enumerate(table.metrics)
    ]
    return tuple(p for p in made if len(p.y) >= FEW and np.median(p.y) < p.y.max())


@dataclass(frozen=True)
class Draws:
    """How tasks are drawn.

    Attributes:
        fractions: Lowest and highest fraction of a pool's configurations.
        sub_space: Probability that a task has only the configurations within an interval of one feature.
        functions: Probability that a task is drawn from a Gaussian-process prior over a mixed space instead of a pool.
        mixed: Probability that the rewards are mixed with a smooth random function.
        sources: Probability that a task has its source tasks, and that it then has only some of them.
    """

    fractions: tuple[float, float] = (0.5, 0.8)
    sub_space: float = 0.25
    functions: float = 0.25
    mixed: float = 0.25
    sources: tuple[float, float] = (1.0, 0.25)


def draw(
    pools: Sequence[TaskPool], size: int, least: int, how: Draws, rng: np.random.Generator
) -> tuple[str, CandidateArrays, Floats]:
    """Name, candidates and (size,) normalised rewards of one task: 0 is its median configuration, 1 its best."""
    for _ in range(100):
        if not pools or rng.random() < how.functions:
            name, x, y, p, distances, fitted = "function", *_function(size, rng), None, None, None
        else:
            pool = pools[int(rng.integers(len(pools)))]
            rows = _rows(pool.x, size, least, how, rng)
            name, x, y = pool.name, pool.x[rows], pool.y[rows]
            p, distances, fitted = pool.predictions, pool.distances, pool.fitted
            if p is not None and rng.random() < how.sources[0]:
                few = rng.random() < how.sources[1]
                kept = rng.choice(len(p), int(rng.integers(2, len(p) + 1)) if few and len(p) > 2 else len(p), False)
                p, distances = p[kept][:, rows], None if distances is None else distances[kept]
            else:
                p = distances = fitted = None
            if rng.random() < how.mixed and y.std() > 0.0:
                weight = rng.uniform(0.0, 0.7)
                y = np.sqrt(1.0 - weight**2) * (y - y.mean()) / y.std() + weight * _smooth(x, rng)
        low, best = float(np.median(y)), float(y.max())
        if best > low:
            reward = np.full(size, -1.0)
            reward[: len(y)] = np.maximum((y - low) / (best - low), -1.0)
            return name, CandidateArrays.of(x, size, p, distances, fitted), reward
    raise ValueError("pools must have configurations of different rewards, got none in 100 draws")


def _rows(x: Floats, size: int, least: int, how: Draws, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    rows = np.arange(len(x))
    if rng.random() < how.sub_space:
        column = x[:, int(rng.integers(x.shape[1]))]
        low = rng.uniform(0.0, 0.4)
        inside = (column >= np.quantile(column, low)) & (column <= np.quantile(column, low + 0.6))
        rows = np.flatnonzero(inside) if inside.sum() >= 2 * least else rows
    count = int(min(size, len(rows), max(least, rng.uniform(*how.fractions) * len(rows))))
    return rng.choice(rows, count, replace=False)


def _smooth(x: Floats, rng: np.random.Generator) -> Floats:
    """(n,) a draw of a Gaussian process over (n, d) features, with length-scales drawn for each feature."""
    lengths = length_scales(x.shape[1], None)[1] * rng.lognormal(0.0, 0.7, x.shape[1])
    scaled = x / lengths
    squares = np.square(scaled[:, None] - scaled[None]).sum(axis=2)
    k = of_square_distances("matern52", squares) + 1e-6 * np.eye(len(x))
    return np.asarray(np.linalg.cholesky(k) @ rng.standard_normal(len(x)))


def _function(size: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(size, d) points of a space of real, integer and categorical hyperparameters, and (size,) rewards."""
    columns: list[Floats] = []
    for _ in range(int(rng.integers(2, 9))):
        kind, u = rng.random(), rng.random(size)
        if kind < 0.5:
            columns.append(u)
        elif kind < 0.8:
            steps = int(rng.integers(2, 6))
            columns.append(np.minimum(np.floor(u * steps), steps - 1) / (steps - 1))
        else:
            columns += [*np.eye(k := int(rng.integers(2, 5)))[:, np.minimum((u * k).astype(int), k - 1)]]
    x = np.stack(columns, axis=1)
    return x, _smooth(x, rng) + rng.uniform(0.0, 0.3) * rng.standard_normal(size)


class SampledTasks(VectorEnv[Any, Any, Any]):
    """Episodes on tasks that are drawn at each reset; `hpo_envs.benchmarks.tasks.make_vec` makes it.

    An action is the index of a candidate, `Discrete(candidates)`, counted from the first again where a task has fewer;
    indices carry no information from one episode to another. The reward is normalised: 0 for the median and 1 for the
    best candidate of the task, at least -1. The observation is reward, best reward and budget left;
    `CandidateObservation` shows the candidates. All episodes have the same budget, end in the same
    step and start anew in it (SAME_STEP).

    Args:
        num_envs: Number of episodes.
        pools: What tasks are drawn from; none: functions only.
        candidates: Most configurations of a task.
        budget: Evaluations of an episode.
        draws: How tasks are drawn.
        copies: Episodes of each task, one after the other, for baselines that are means over them.

    Attributes:
        tasks: Names of the running episodes' tasks.

    Raises:
        ValueError: An action outside the space.
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
        self.pools, self.size, self._draws = list(pools), check_int("candidates", candidates, FEW), draws or Draws()
        if budget > min([candidates, *(len(p.y) for p in pools)]):
            raise ValueError(f"budget must be at most the candidates of the smallest task, got {budget}")
        self.autoreset_mode, self.render_mode = AutoresetMode.SAME_STEP, None
        self.metadata = {"autoreset_mode": self.autoreset_mode}
        self.single_observation_space = Box(np.array([-1.0, -1.0, 0.0], np.float32), np.ones(3, np.float32))
        self.single_action_space = Discrete(self.size)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._streams, self._episode, self._count = np.zeros(num_envs, np.int64), 0, budget
        self._each, self._copies = np.arange(num_envs), check_int("copies", copies)
        self._best: Floats = np.zeros(num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Draw the tasks; environment i has the tasks of seed + i // copies."""
        super().reset(seed=seed)
        if seed is not None or not self._episode:
            first = int(self.np_random.integers(2**40)) if seed is None else seed
            self._streams, self._episode = first + self._each // self._copies, 0
        self._begin()
        return self._observe(), self._mask()

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Evaluate one candidate in every episode."""
        actions = check_ints(actions, (self.num_envs,), self.size)
        never = np.zeros(self.num_envs, bool)
        if not self._episode:
            raise gym.error.ResetNeeded("step() must follow reset(): no episode is running.")
        actions = actions % self._space.tables.valid.sum(axis=1)
        self._reward = self._rewards[self._each, actions]
        self._best = np.maximum(self._best, self._reward)
        self._free[self._each, actions] = False
        self._count += 1
        reward = self._reward.copy()
        info: dict[str, Any] = {"cost": np.ones(self.num_envs), "_cost": ~never}
        if self._count < self.budget:
            return self._observe(), reward, never, never.copy(), info | self._mask()
        final = np.fromiter(self._observe(), object, self.num_envs)
        info = {"final_obs": final, "_final_obs": ~never, "final_info": info, "_final_info": ~never}
        self._begin()
        return self._observe(), reward, ~never, never.copy(), info | self._mask()

    def candidates(self) -> CandidateArrays:
        """The candidates of the running episodes."""
        return self._space

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(num_envs, candidates) which were not evaluated."""
        return self._free.copy()

    def _begin(self) -> None:
        drawn = [
            draw(self.pools, self.size, self.budget, self._draws, np.random.default_rng([int(s), self._episode]))
            for s in self._streams
        ]
        self.tasks, spaces, rewards = zip(*drawn, strict=True)
        self._space, self._rewards = CandidateArrays.stack(spaces), np.stack(rewards)
        self._free = self._space.tables.valid.copy()
        self._reward = np.full(self.num_envs, -1.0)
        self._best = self._reward
        self._count, self._episode = 0, self._episode + 1

    def _observe(self) -> npt.NDArray[np.float32]:
        left = np.full(self.num_envs, 1.0 - self._count / self.budget)
        return np.stack([self._reward, self._best, left], axis=1).astype(np.float32)

    def _mask(self) -> dict[str, Any]:
        return {"action_mask": self._free.astype(np.int8), "_action_mask": np.ones(self.num_envs, bool)}
