"""Ranking-weighted ensemble of models of other tables and of the problem."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.base import whole
from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.transfer.base import TargetAgent, standardised


class RGPE(TargetAgent):
    """Expected improvement of an ensemble of models, one per table, weighted by how well they rank the observations.

    The weight of a model is the fraction of samples of its predictions at the observed candidates in which it misranks
    the fewest pairs; the Gaussian process of the problem itself is judged by leave-one-out predictions. A source whose
    median number of misranked pairs exceeds the 95 % quantile of the process's has weight 0. Sources are modelled by
    trees, not by the paper's Gaussian processes: a sample is one of the trees.

    Formula:
        L_i = sum_{j, k} [ (f_i(x_j) < f_i(x_k)) xor (y_j < y_k) ]      f_i: a sample of model i
        w_i = P(i = argmin L), ties shared
        m(x) = sum_i w_i m_i(x),  v(x) = sum_i w_i^2 v_i(x)
        next = argmax EI(m, v, max_j m(x_j))

    Paper: Matthias Feurer, Benjamin Letham and Eytan Bakshy. Scalable Meta-Learning for Bayesian Optimization using
    Ranking-Weighted Gaussian Process Ensembles. AutoML workshop at ICML 2018.

    Complexity: O(S J t^2 + t n) a suggestion, S samples, J sources, t observations, n candidates; t^3 more whenever the
        kernel is re-estimated.

    Example:
        from hpo_envs import run
        runs = run("rgpe", "NMTHPO-swen-v0", seeds=range(2), budget=5, transfer="family")
        runs.best()

    Args:
        problem: A finite problem with features, one objective and sources.
        seed: Seed of `self.rng`, which draws the samples.
        samples: Number of samples of each model.

    Attributes:
        weights: (sources + 1,) weights of the models at the last suggestion, that of the problem last; before it, equal
            ones of the sources, and 0.
    """

    def __init__(self, problem: Problem, seed: int, *, samples: int = 64) -> None:
        super().__init__(problem, seed)
        self.samples = whole("samples", samples, 1)
        self.weights = np.append(np.full(len(self.means[0]), 1.0 / len(self.means[0])), 0.0)
        self._deviations = self.scores[0].std(axis=1)

    def _given(self) -> tuple[Indices, Floats]:
        rows, y = self.observed
        return rows, standardised(y)

    def _suggest(self) -> int:
        rows, y = self.observed
        own = self.posterior()
        drawn = self.rng.integers(self.scores.shape[2], size=self.samples)
        theirs = self.scores[0][:, drawn][:, :, rows]  # (J, S, t)
        noise = self.rng.standard_normal((self.samples, len(y)))
        left_out = own.left_out + own.left_out_deviation * noise
        self.weights = weights(misranked(theirs, y), misranked(left_out, standardised(y), left_out=True))
        mean = self.weights[:-1] @ self.means[0] + self.weights[-1] * own.mean
        variance = self.weights[:-1] ** 2 @ self._deviations**2 + (self.weights[-1] * own.deviation) ** 2
        return self.best_free(expected_improvement(mean, np.sqrt(variance), float(mean[rows].max())))


def misranked(samples: Floats, y: Floats, left_out: bool = False) -> npt.NDArray[np.int64]:
    """Return the (...,) numbers of ordered pairs that (..., t) predictions rank differently from (t,) observations.

    Args:
        samples: Samples of predictions.
        y: Observations, in the unit of the predictions if `left_out`.
        left_out: Whether these are leave-one-out predictions, which are compared with the other observations.
    """
    wrong = (samples[..., :, None] < (y if left_out else samples[..., None, :])) ^ (y[:, None] < y)
    wrong[..., np.arange(len(y)), np.arange(len(y))] = False
    return np.asarray(wrong.sum(axis=(-2, -1)))


def weights(theirs: npt.NDArray[np.int64], own: npt.NDArray[np.int64]) -> Floats:
    """Return the (J + 1,) weights of the models, that of the problem last.

    Args:
        theirs: (J, S) numbers of misranked pairs in each sample of the sources' models.
        own: (S,) numbers of misranked pairs in each sample of the problem's model.
    """
    losses = np.vstack([theirs, own]).astype(np.float64)
    diluting = np.median(theirs, axis=1) > np.quantile(own, 0.95)
    losses[:-1][diluting] = np.inf
    best = losses == losses.min(axis=0)
    return np.asarray((best / best.sum(axis=0)).mean(axis=1))
