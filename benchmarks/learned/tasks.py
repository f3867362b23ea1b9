"""Tables as training and test tasks of the learned optimizers, with predictions of source tasks; training episodes."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models.gp.sources import normal_scores
from hpo_envs.agents.models.gp.stacked import LENGTHS, Tables, correlations, distance, length_scales, scaled
from hpo_envs.agents.transfer.learned import fit_sources
from hpo_envs.benchmarks.runs import problem_of, transfer
from hpo_envs.families import registry
from hpo_envs.tables.table import Floats

FAMILIES = ("NMTHPO", "CharHPO")
"""Distributions used in training and tests."""

FLAT = ("CharHPO-inflection-hai-lstm-v0", "CharHPO-g2p-geo-lstm-v0")
"""Degenerate ids: their best reward is the median one, and regret is 0/0; `ids` leaves them out."""


@dataclass(frozen=True)
class TableTask:
    """One table as a task."""

    env_id: str  # id of the table's environment
    languages: tuple[str, ...]  # of the table
    rewards: Floats  # (n,), higher is better
    normal: Floats  # (n,) normal scores of the rewards
    sources: tuple[tuple[str, ...], ...]  # languages of each of the J source tables
    predictions: Floats  # (J, n) predictions of the sources
    distances: Floats  # (J,) distances of the sources' spaces, see `gp.stacked.distance`
    correlations: npt.NDArray[np.float32]  # (LENGTHS, n, n) correlations of the candidates


def ids(name: str) -> list[str]:
    """Return the ids of a distribution that are not in `FLAT`."""
    d = transfer.distributions()[name]
    return [env_id for label in d.held_out if (env_id := d.ids.format(label)) not in FLAT]


@functools.cache
def task(env_id: str) -> TableTask:
    """Return the task of an id (cached): all rows of its table, and predictions for them by models of source tasks."""
    envs = gym.make(env_id, disable_env_checker=True)
    problem, params = problem_of(envs, transfer="family"), envs.unwrapped.params  # type: ignore[attr-defined]
    assert problem.features is not None
    rewards = params.truth(0, np.arange(problem.rows))
    models, fitted = fit_sources([(s.features, s.rewards[:, 0]) for s in problem.sources])
    lengths = length_scales(problem.features.shape[1], fitted)
    every = np.stack([correlations(problem.features, k, lengths) for k in range(problem.rows)], axis=1)
    return TableTask(
        env_id,
        problem.held_out,
        np.asarray(rewards, dtype=np.float64),
        normal_scores(rewards),
        tuple(registry.held_out_of([s.name]) for s in problem.sources),
        np.stack([m.predict(problem.features) for m in models]),
        np.array([distance(s.features, problem.features) for s in problem.sources]),
        every.astype(np.float32),
    )


@dataclass(frozen=True)
class PaddedEpisodes:
    """A batch of E episodes, padded to n candidates each."""

    rewards: Floats  # (E, n); the median as padding
    best: Floats  # (E,) best rewards
    span: Floats  # (E,) differences between the best and the median reward
    tables: Tables  # predictions and distances of the sources, masks of sources and candidates
    correlations: npt.NDArray[np.float32]  # (E, LENGTHS, n, n) correlations of the candidates


@dataclass(frozen=True)
class EpisodeDistribution:
    """Distribution of training episodes."""

    rows: int = 80  # largest number of candidates
    shares: tuple[float, float] = (0.5, 0.8)  # lowest and highest fraction of a table's rows
    sources: tuple[int, int] = (2, 6)  # lowest and highest number of sources in an episode with only some of them
    some: float = 0.5  # probability of such an episode
    mixed: float = 0.5  # probability that the reward is mixed with a smooth random function: more tasks than tables
    most: float = 0.8  # largest weight w of that function; that of the normal scores is sqrt(1 - w^2)


AS_USED = EpisodeDistribution(rows=200, shares=(0.8, 0.8), some=0.0, mixed=0.0)
"""Episodes as in tests: 80 % of the rows, at most 200, and all source tasks."""


def draw(
    tasks: Sequence[TableTask],
    number: int,
    held_out: frozenset[str],
    rng: np.random.Generator,
    how: EpisodeDistribution,
) -> PaddedEpisodes:
    """Draw `number` (E) episodes; all tasks have the same probability.

    The tables of the languages `held_out` are not used as source tasks.
    """
    drawn = [_one(tasks[int(rng.integers(len(tasks)))], held_out, rng, how) for _ in range(number)]
    n, j = max(len(rows) for _, rows, _, _ in drawn), max(len(kept) for _, _, kept, _ in drawn)
    rewards, valid = np.full((number, n), -np.inf), np.zeros((number, n), bool)
    predictions, distances, used = np.zeros((number, j, n)), np.zeros((number, j)), np.zeros((number, j), bool)
    correlated = np.zeros((number, LENGTHS, n, n), np.float32)
    for i, (t, rows, kept, y) in enumerate(drawn):
        k = len(rows)
        rewards[i, :k], valid[i, :k], used[i, : len(kept)] = y, True, True
        distances[i, : len(kept)] = t.distances[kept]
        predictions[i, : len(kept), :k] = scaled(t.predictions[kept][:, rows])
        correlated[i, :, :k, :k] = t.correlations[:, rows][:, :, rows]
    best = rewards.max(axis=1)
    span = best - np.array([np.median(y) for *_, y in drawn])
    rewards[~valid] = np.repeat(best - span, n - valid.sum(axis=1))
    return PaddedEpisodes(rewards, best, span, Tables(predictions, distances, used, valid), correlated)


def _one(
    t: TableTask, held_out: frozenset[str], rng: np.random.Generator, how: EpisodeDistribution
) -> tuple[TableTask, npt.NDArray[np.intp], npt.NDArray[np.intp], Floats]:
    """Draw an episode of task `t`; return `t`, rows, indices of source tasks, and rewards; redraw a degenerate one."""
    kept = np.array([i for i, languages in enumerate(t.sources) if not held_out & set(languages)])
    low, high = how.sources
    if rng.random() < how.some:
        kept = np.sort(rng.choice(kept, int(rng.integers(low, min(high, len(kept)) + 1)), replace=False))
    n = len(t.rewards)
    rows = np.sort(rng.choice(n, min(int(rng.uniform(*how.shares) * n), how.rows), replace=False))
    y = t.rewards[rows]
    if rng.random() < how.mixed:
        weight, k = rng.uniform(0.0, how.most), t.correlations[rng.integers(LENGTHS)][np.ix_(rows, rows)]
        smooth = np.linalg.cholesky(k + 1e-3 * np.eye(len(rows))) @ rng.standard_normal(len(rows))
        z = t.normal[rows]
        y = np.sqrt(1.0 - weight**2) * (z - z.mean()) / (z.std() or 1.0) + weight * smooth
    return (t, rows, kept, y) if np.median(y) < y.max() else _one(t, held_out, rng, how)
