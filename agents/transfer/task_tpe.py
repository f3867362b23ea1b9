"""Tree-structured Parzen estimator whose densities are mixed over tasks by their similarity."""

from __future__ import annotations

import functools
import math

import numpy as np

from hpo_envs.agents.base import positive, whole
from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.search.base import CandidateAgent
from hpo_envs.agents.transfer.base import shared

NARROWEST = 0.1
"""Smallest bandwidth of a feature in [0, 1]."""


class TaskTPE(CandidateAgent):
    """Tree-structured Parzen estimator with densities mixed over tasks, by the overlap of their good regions.

    The best tenth of a task's observations are good; with several objectives, those of the first fronts, in order of
    crowding distance, and at least the whole first front. The first suggestions are the candidates nearest to the best
    of the sources that have all of the problem's features, or random without any. Unlike in the paper, all shared
    features are used to compare tasks, not only important ones, and densities are compared on the candidates.

    Formula:
        S_m = (1 - d_m) / (1 + d_m),  d_m = 1/2 sum_x |l_0(x) - l_m(x)|         l_m: density of task m's good ones
        k_0 = 1 - sum_m S_m / T,  k_m = S_m / T                                 T tasks, 0 is the problem
        next = argmax sum_m k_m N_m^l l_m(x) / sum_m k_m N_m^g g_m(x)           over candidates drawn from the numerator

    Paper: Shuhei Watanabe, Noor Awad, Masaki Onishi and Frank Hutter. Speeding Up Multi-Objective Hyperparameter
    Optimization by Task Similarity-Based Meta-Learning for the Tree-Structured Parzen Estimator. IJCAI 2023, which won
    the AutoML 2022 competition on these tables.

    Complexity: O(t n d) a suggestion, t observations, n candidates, d features; for several objectives O(t^2) more.

    Example:
        from hpo_envs import run
        runs = run("tst-tpe", "NMTHPO-swen-mo-v0", seeds=range(2), budget=5, transfer="family")
        runs.to_frame()  # BLEU and decoding time of each evaluation

    Args:
        problem: A finite problem with features and sources.
        seed: Seed of `self.rng`, which draws candidates.
        quantile: Fraction of the observations that are good, > 0.
        drawn: Number of candidates drawn for each task, the problem included.
        initial: Number of first suggestions; default: a twentieth of the budget, 3 to 20.

    Attributes:
        similarities: (sources,) similarity of each usable source to the problem, in [0, 1], at the last suggestion; 0
            before the first one.

    Raises:
        ValueError: No source shares a feature with the problem, or a setting is invalid.
    """

    def __init__(
        self, problem: Problem, seed: int, *, quantile: float = 0.1, drawn: int = 24, initial: int | None = None
    ) -> None:
        first = max(3, math.ceil(0.05 * min(problem.budget or 0.0, 400.0))) if initial is None else initial
        super().__init__(problem, seed, initial=first)
        self.quantile, self.drawn = positive("quantile", quantile), whole("drawn", drawn, 1)
        known = shared(problem, self.features)
        tasks = [_densities(*(a.tobytes() for a in (x, s.rewards, at)), x.shape, self.quantile) for s, x, at in known]
        at_all = slice(None) if self.problem.index is None else self.problem.index
        self._good = np.array([good[at_all] for good, _, _ in tasks])
        self._rest = np.array([rest[at_all] for _, rest, _ in tasks])
        self._counts = np.array([counts for *_, counts in tasks])
        self.similarities = np.zeros(len(tasks))

    def _suggest(self) -> int:
        good, rest = split(np.array(self.rewards), self.quantile)
        rows = np.array(self.rows, np.intp)
        mine = density(self.features[rows[good]], self.features)
        others = density(self.features[rows[rest]], self.features)
        theirs = self._good / self._good.sum(axis=1, keepdims=True)
        apart = 0.5 * np.abs(theirs - mine / mine.sum()).sum(axis=1)
        self.similarities = (1.0 - apart) / (1.0 + apart)
        weights = self.similarities / (1 + len(theirs))
        numerator = (1.0 - weights.sum()) * len(good) * mine + (weights * self._counts[:, 0]) @ self._good
        denominator = (1.0 - weights.sum()) * max(len(rest), 1) * others + (weights * self._counts[:, 1]) @ self._rest
        # The largest of log p + Gumbel noise are draws without replacement.
        keys = np.where(self.free, np.log(numerator) + self.rng.gumbel(size=len(numerator)), -np.inf)
        count = min(self.drawn * (1 + len(theirs)), int(self.free.sum()))
        among = np.argpartition(-keys, count - 1)[:count]
        scores = np.full(len(keys), -np.inf)
        scores[among] = numerator[among] / denominator[among]
        return self.best_free(scores)


@functools.lru_cache(maxsize=256)
def _densities(
    features: bytes, rewards: bytes, base: bytes, shape: tuple[int, int], quantile: float
) -> tuple[Floats, Floats, tuple[int, int]]:
    """Return the densities of a source's good and other observations at all rows of the base, and (good, other) counts.

    Arrays are given as bytes, which can be hashed: features of the given shape, rewards, and the base.
    """
    x, at = np.frombuffer(features).reshape(shape), np.frombuffer(base).reshape(-1, shape[1])
    good, rest = split(np.frombuffer(rewards).reshape(shape[0], -1), quantile)
    return density(x[good], at), density(x[rest], at), (len(good), len(rest))


def split(rewards: Floats, quantile: float) -> tuple[Indices, Indices]:
    """Return the indices of the good ones among (t, objectives) rewards, and of the rest, each best first."""
    order = ranked(rewards)
    many = math.ceil(quantile * len(rewards))
    if rewards.shape[1] > 1:
        many = max(many, int(pareto_front(rewards).sum()))
    return order[:many], order[many:]


def ranked(rewards: Floats) -> Indices:
    """Return the indices of (t, objectives) rewards, best first: by front, then by crowding distance (Deb et al. 2002).

    A single objective is sorted by reward.
    """
    if rewards.shape[1] == 1:
        return np.argsort(-rewards[:, 0], kind="stable")
    order: list[int] = []
    left = np.arange(len(rewards))
    while len(left):
        front = pareto_front(rewards[left])
        here = left[front]
        order.extend(here[np.argsort(-crowding(rewards[here]), kind="stable")].tolist())
        left = left[~front]
    return np.array(order, np.intp)


def crowding(front: Floats) -> Floats:
    """Return the (k,) crowding distances (Deb et al. 2002) of a front's (k, m) rewards; infinite for its ends."""
    total = np.zeros(len(front))
    for values in front.T:
        order = np.argsort(values, kind="stable")
        span = float(values[order[-1]] - values[order[0]]) or 1.0
        gaps = np.full(len(front), np.inf)
        gaps[1:-1] = (values[order[2:]] - values[order[:-2]]) / span
        total[order] += gaps
    return total


def density(x: Floats, at: Floats) -> Floats:
    """Return the (n,) Parzen densities of (k, d) observations at (n, d) points, up to a constant factor.

    Kernels are Gaussian, with one bandwidth per feature by Scott's rule, at least `NARROWEST`. The prior is one more
    kernel, in the middle, of bandwidth 1.
    """
    k, d = x.shape
    widths = np.maximum(x.std(axis=0) * max(k, 1) ** (-1.0 / (d + 4)) if k else np.ones(d), NARROWEST)
    total = np.exp(-0.5 * np.square(at - 0.5).sum(axis=1))
    logs = np.zeros((k, len(at)))
    for column, width in enumerate(widths):
        logs -= 0.5 * np.square((x[:, column, None] - at[:, column]) / width) + np.log(width)
    return np.asarray((total + np.exp(logs).sum(axis=0)) / (k + 1))
