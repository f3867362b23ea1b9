"""Base classes of transfer agents: trees fitted to source tasks, and a Gaussian process of the problem itself."""

from __future__ import annotations

import abc
import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.gp.kernels import KernelFit, KernelPrior, is_due
from hpo_envs.agents.models.gp.sources import normal_scores
from hpo_envs.agents.models.source import Source
from hpo_envs.agents.models.tree_ensembles import Splits
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.search.base import CandidateAgent

TREES = 32
"""Number of trees fitted to each source."""

SHARE, LEAST = 0.7, 4
"""Fraction of the features considered by a split, and smallest number of bootstrap rows of a node that is split."""


class TransferAgent(CandidateAgent):
    """Base class of optimizers whose first suggestion is the candidate with the best prediction from other tables.

    An ensemble of regression trees is fitted to the normal scores of each source's rewards and predicts every
    candidate; one whose shared features are in the source gets the mean of the scores measured there. Agents share the
    ensembles. Sources that share no feature with the problem are ignored.

    Args:
        problem: A finite problem with features and sources.
        seed: Seed of `self.rng`, which draws the half of the trees that this agent uses, and breaks ties.

    Attributes:
        most: Largest number of objectives that the agent supports.
        scores: (objectives, sources, TREES // 2, candidates) normal scores predicted by the agent's trees.
        means: (objectives, sources, candidates) means of `scores` over the trees.

    Raises:
        ValueError: No source shares a feature with the problem, or there are too many objectives.
    """

    most: int = 1

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed, initial=1, design="random")
        self.random_first = 0
        if problem.objectives > self.most:
            raise ValueError(f"objectives must be at most {self.most} for this agent, got {problem.objectives}")
        known = shared(problem, self.features)
        half = np.sort(self.rng.choice(TREES, TREES // 2, replace=False))
        rows = slice(None) if self.problem.index is None else self.problem.index
        self.scores = np.stack([predictions(known, j)[:, half][:, :, rows] for j in range(problem.objectives)])
        self.means = self.scores.mean(axis=2)

    def _first(self) -> int:
        """Return the free candidate with the highest mean prediction of the sources."""
        return self.best_free(self.means.mean(axis=(0, 1)))

    @property
    def observed(self) -> tuple[Indices, Floats]:
        """(t,) candidates in `rows` and (t,) rewards of the first objective."""
        return np.array(self.rows, np.intp), np.array(self.rewards)[:, 0]


def shared(problem: Problem, features: Floats) -> list[tuple[Source, Floats, Floats]]:
    """Return (source, its features, those of the problem's base) of each source, with only the columns that both have.

    Args:
        problem: The problem; sources that share no feature with it are left out.
        features: (rows, d) features of all candidates, which are the base if the problem has none.

    Raises:
        ValueError: No source shares a feature with the problem.
    """
    base = features if problem.base is None else problem.base
    columns = [(s, *s.shared(problem.feature_names)) for s in problem.sources]
    found = [(s, s.features[:, theirs], base[:, mine]) for s, theirs, mine in columns if theirs]
    if not found:
        raise ValueError(
            "sources must be tables that share a feature with the problem for this agent, which learns from them "
            f"(transfer=, or sources= of tune), got {len(problem.sources)} that share none"
        )
    return found


def predictions(known: Sequence[tuple[Source, Floats, Floats]], objective: int = 0) -> Floats:
    """Return (sources, TREES, rows) normal scores of the rows of the base by each source, see `TransferAgent`.

    Args:
        known: Result of `shared`.
        objective: Index of the objective.
    """
    each = ((*(a.tobytes() for a in (x, s.rewards[:, objective], at)), x.shape[1]) for s, x, at in known)
    return np.stack([_predicted(*packed) for packed in each])


@functools.lru_cache(maxsize=256)
def _predicted(features: bytes, rewards: bytes, base: bytes, d: int) -> Floats:
    x, at = np.frombuffer(features).reshape(-1, d), np.frombuffer(base).reshape(-1, d)
    z, t = normal_scores(np.frombuffer(rewards)), len(x)
    rng = np.random.default_rng(0)
    weights = rng.multinomial(t, np.full(t, 1.0 / t), size=TREES).astype(np.float64)
    grown = Splits(np.concatenate([x, at])).grow(
        np.arange(t), np.tile(z, (TREES, 1)), weights, least=LEAST, share=SHARE, rng=rng
    )[:, t:]
    measured: dict[bytes, list[float]] = {}
    for row, score in zip(x, z.tolist(), strict=True):
        measured.setdefault(row.tobytes(), []).append(score)
    for k, row in enumerate(at):
        if known := measured.get(row.tobytes()):
            grown[:, k] = np.mean(known)
    grown.setflags(write=False)
    return grown


@dataclass(frozen=True)
class Posterior:
    """Posterior of a Gaussian process at all candidates, and its leave-one-out predictions.

    Attributes:
        mean: (n,) posterior mean of every candidate.
        deviation: (n,) posterior deviation of every candidate.
        left_out: (t,) predicted mean of each observation given all others.
        left_out_deviation: (t,) deviation of each of these predictions, noise included.
    """

    mean: Floats
    deviation: Floats
    left_out: Floats
    left_out_deviation: Floats


REFIT = 0.1
"""Relative growth of the number of observations after which a kernel is re-estimated."""


class TargetAgent(TransferAgent):
    """Base class of transfer agents with a Gaussian process fitted to the observations of the problem.

    The kernel is Matern 5/2 with one length-scale per feature.
    """

    _fit: KernelFit | None = None
    _fitted_at = 0

    @abc.abstractmethod
    def _given(self) -> tuple[Indices, Floats]:
        """Return the training data of the process: (t,) observed candidates and (t,) transformed rewards."""

    @classmethod
    def prepare(cls, agents: Sequence[TargetAgent]) -> None:
        """Re-estimate in one batch the kernels of the agents that are past the initial design and due, see `REFIT`."""
        given = [(agent, *agent._given()) for agent in agents if not agent._in_design()]
        due = [(a, a.features[rows], y) for a, rows, y in given if is_due(len(y), a._fitted_at, REFIT)]
        fits = KernelFit.estimate_each("matern52", [(x, y, a._fit) for a, x, y in due], KernelPrior())
        for (agent, _, y), fit in zip(due, fits, strict=True):
            agent._fit, agent._fitted_at = fit, len(y)

    def posterior(self) -> Posterior:
        """Return the posterior given the observations, after re-estimating the kernel if that is due.

        Leave-one-out predictions follow equation 5.12 of Rasmussen and Williams (2006).
        """
        from scipy.linalg import cho_factor, cho_solve

        self.prepare([self])
        rows, y = self._given()
        x, fit = self.features[rows], self._fit
        assert fit is not None
        factor = cho_factor(fit.covariance(x, x) + fit.noise * np.eye(len(y)), lower=True)
        inverse = cho_solve(factor, np.eye(len(y)))
        alpha, cross = inverse @ y, fit.covariance(x, self.features)
        variance = fit.amplitude - (cross * (inverse @ cross)).sum(axis=0)
        precision = inverse.diagonal()
        return Posterior(
            alpha @ cross, np.sqrt(np.maximum(variance, 1e-12)), y - alpha / precision, np.sqrt(1.0 / precision)
        )


def standardised(y: Floats) -> Floats:
    """Return (t,) observations scaled to mean 0 and deviation 1; zeros if all are equal."""
    scale = float(y.std())
    return np.asarray((y - y.mean()) / (scale if scale > 1e-12 * max(1.0, float(np.abs(y).max())) else 1.0))
