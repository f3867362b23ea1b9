"""Base class of agents that score candidates: initial designs, pending suggestions, ties, checks of rewards."""

import abc
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.base import lost, whole
from hpo_envs.agents.candidates import TIE, Candidates, OnCandidates
from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.gp.kernels import gram
from hpo_envs.agents.models.source import Source
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of

SPREAD_NOISE, SPREAD_OVER = 1e-2, 2000
"""Observation variance that `spread` assumes, relative to the prior's, and largest number of candidates it compares."""


class CandidateAgent(OnCandidates):
    """Base class of optimizers that score candidates and suggest the best free one.

    Args:
        problem: Actions are rows with features, values of a grid, or (row, level) pairs with features, which are
            trained to the last level.
        initial: Number of candidates of the initial design (3 in section 4.3 of Zhang and Duh 2020).
        design: Initial design. `random`: the candidates that the agent `random` suggests with the same seed, so that
            runs of several agents are paired; `spread`: see `spread_row`; `auto`: if source tasks have the same
            features, the candidates nearest to the best of each in turn (Feurer et al. 2015); else random ones, or
            `spread` while evaluations of parallel workers are pending.

    Attributes:
        candidates: The candidates, with suggestions and results.
        features: (candidates, d) float64.
        rows: Candidates with successful runs, in the order of the results, repeats included.
        rewards: (objectives,) float64 rewards of each entry of `rows`.
        pretended: Number of entries at the end of `rows` that stand for pending evaluations, with expected rewards.
        scored: (k,) candidates that the model scores, ascending; None: all.

    Raises:
        ValueError: A setting is not valid, rows or pairs have no features, or the action space is of another kind.
    """

    parallel = True

    def __init__(self, problem: Problem, seed: int, *, initial: int = 3, design: str = "auto") -> None:
        super().__init__(problem, seed)
        self.design = one_of("design", design, ("auto", "random", "spread"))
        self.initial = whole("initial", initial, 1)
        self._hints = best_of(problem.sources, self.initial) if design == "auto" else []
        self.random_first = 0 if design == "spread" or self._hints else self.initial
        self.candidates = Candidates(problem)
        self.features = self.candidates.features
        self.candidates.shuffle(self.rng)
        self._suggested = 0
        self.pretended = 0
        self.scored: Indices | None = None
        self.rows: list[int] = []
        self.rewards: list[Floats] = []

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """(candidates,) mask of candidates to suggest next, see `Candidates.free`."""
        return self.candidates.free

    def ask(self) -> Any:
        """Return the action of a free candidate: an untried one, or, once all were tried, one tried least often."""
        if self._in_design():
            row = self._first()
        else:
            row = self._suggest_beside(list(dict.fromkeys(self.candidates.pending)))
        self._suggested += 1
        return self.candidates.submit(row)

    def _in_design(self) -> bool:
        """Return whether the next candidate is one of the initial design."""
        return max(self._suggested, len(self.rows)) < self.initial or not self.rows

    def _first(self) -> int:
        """Return the next candidate of the initial design."""
        if self._hints:
            return self.candidates.nearest(np.square(self.features - self._hints.pop(0)).sum(axis=1), fresh=True)
        if self.design == "spread" or (self.design == "auto" and self.candidates.pending):
            return self.spread_row()
        return self.candidates.draw(self.rng)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Record the outcome of a candidate, suggested or not; the model ignores failed and diverged runs.

        Raises:
            ValueError: `reward` is not finite, or has another number of objectives.
        """
        if not self.candidates.note(action, reward, info):
            return
        if not lost(info):
            row, rewards = self.candidates.row(action), np.atleast_1d(np.asarray(reward, dtype=np.float64))
            self.rows.append(row)
            self.rewards.append(rewards)
            self._observe(row, rewards)

    def _suggest_beside(self, pending: list[int]) -> int:
        """Return the next candidate, as if pending ones had expected rewards (kriging believer, Ginsbourger 2010).

        Without models that can be undone, pending candidates are only excluded.
        """
        if not pending or self._models is None:
            return int(self._suggest())
        count, expected = len(self.rows), self._expected(np.array(pending))  # may recreate the models
        marks = [m.mark() for m in self._models]
        self.pretended = len(pending)
        for row, rewards in zip(pending, expected, strict=True):
            self.rows.append(row)
            self.rewards.append(rewards)
            self._observe(row, rewards)
        try:
            return int(self._suggest())
        finally:
            self.pretended = 0
            del self.rows[count:], self.rewards[count:]
            for model, mark in zip(self._models, marks, strict=True):
                model.undo(mark)

    @property
    def _models(self) -> Sequence[Any] | None:
        """Models that `_observe` updates, which have `mark` and `undo`; None: pending candidates are only excluded."""
        return None

    def _expected(self, rows: Indices) -> Floats:
        """Return the (k, objectives) expected rewards of (k,) candidates; by default, the mean of the observed ones."""
        return np.tile(np.mean(self.rewards, axis=0), (len(rows), 1))

    @abc.abstractmethod
    def _suggest(self) -> int:
        """Return the next candidate, one of the free ones."""

    def _observe(self, row: int, rewards: Floats) -> None:
        """Update the model with an observation; by default, do nothing."""

    def best_free(self, scores: Floats, rows: Indices | None = None) -> int:
        """Return the free candidate with the highest of (k,) scores; ties (`TIE`) are broken at random.

        `rows` are the (k,) candidates that have these scores; None: all, in order.
        """
        free = np.flatnonzero(self.free if rows is None else self.free[rows])
        values = scores[free]
        top = values.max()
        ties = free[values >= top - TIE * abs(top)]
        best = int(ties[0] if len(ties) == 1 else ties[self.rng.integers(len(ties))])
        return best if rows is None else int(rows[best])

    def spread_row(self) -> int:
        """Return the free candidate that is most informative about all candidates under the prior.

        Under a Gaussian process with a Matern 5/2 kernel of length-scale 1, observing k lowers the summed variance of
        all candidates by sum_j C_jk^2 / (C_kk + noise), C the covariance given the candidates tried so far: the first
        choice is a central candidate (Cohn's criterion, Seo et al. 2000). Ties are broken at random. Of more than
        `SPREAD_OVER` candidates, only the tried ones and a random subset count.
        """
        tried, n = np.flatnonzero(~self.free), len(self.features)
        if n > SPREAD_OVER:
            some = np.union1d(tried, self.rng.choice(n, SPREAD_OVER, replace=False))
            covariance = gram("matern52", self.features[some], 1.0)
            return self.best_free(lowered(covariance, np.arange(len(some)), np.searchsorted(some, tried)), some)
        covariance, index = self.candidates.base_gram("matern52", 1.0)
        index = np.arange(n) if index is None else index
        return self.best_free(lowered(covariance, index, index[tried])[index])


def lowered(covariance: Floats, among: Indices, observed: Indices) -> Floats:
    """Return the (n,) reductions of the summed variance of some variables by an observation of each of n variables.

    Given the observed ones the covariance is C = G - V'V, and the sums of its squared columns follow from products of
    G with the rows of V: neither C, n^2 numbers for each agent, nor a copy of G is made.

    Args:
        covariance: (n, n) prior covariance G.
        among: Indices of the variables whose variances are summed, including the observed ones.
        observed: Indices of the variables observed before.
    """
    counted = np.zeros(len(covariance))
    counted[among] = 1.0
    squares = np.einsum("jk,jk,k->j", covariance, covariance, counted)
    variances = covariance.diagonal().copy()
    rows: list[Floats] = []
    for k in observed:
        row = covariance[k] - sum(r[k] * r for r in rows)
        row /= np.sqrt(row[k] + SPREAD_NOISE)
        part = row * counted
        squares += row * (row * (part @ row) + 2.0 * (sum((part @ r) * r for r in rows) - covariance @ part))
        variances -= row * row
        rows.append(row)
    return np.asarray(squares / (np.maximum(variances, 0.0) + SPREAD_NOISE))


def best_of(sources: Sequence[Source], count: int) -> list[Floats]:
    """Return the (d,) features of the best observations of each source in turn, distinct and at most `count` in all.

    Sources whose features differ from the problem's are ignored. With several objectives, the best have the largest
    sum of rewards, each divided by its standard deviation (Matthias Feurer, Jost Tobias Springenberg and Frank Hutter.
    Initializing Bayesian Hyperparameter Optimization via Meta-Learning. AAAI 2015).
    """
    ranked = []
    for source in (s for s in sources if not s.feature_names):
        spread = source.rewards.std(axis=0)
        order = np.argsort(-(source.rewards / np.where(spread > 0, spread, 1.0)).sum(axis=1), kind="stable")
        ranked.append(list(dict.fromkeys(tuple(x) for x in source.features[order].tolist()))[:count])
    turns = (x for turn in itertools.zip_longest(*ranked) for x in turn if x is not None)
    return [np.array(x) for x in itertools.islice(dict.fromkeys(turns), count)]
