"""Agents with tree ensembles: random initial design, refits after batches, pending and failed evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents.base import lost, whole
from hpo_envs.agents.candidates import AFFORDABLE, CandidatePool, Candidates, OnCandidates
from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.models.tree_ensembles import Splits, boosted, splits_of
from hpo_envs.agents.problem import Problem


class TreeSearch(OnCandidates):
    """Base class of optimizers that score rows by their features with tree ensembles, after random initial rows.

    No row is repeated before all were tried. Of more than 20,000 rows, only the evaluated ones and some 2,000 others
    are scored (see `CandidatePool`).

    Args:
        problem: Rows or (row, checkpoint) pairs with features, or a grid.
        initial: Random rows at the start.
        batch: Evaluations between two fits of the model.

    Raises:
        ValueError: An argument is out of range, rows or pairs have no features, or the action space is of another kind.
    """

    parallel = True
    random_share: float | None = None

    def __init__(self, problem: Problem, seed: int, initial: int, batch: int) -> None:
        super().__init__(problem, seed)
        self.candidates = Candidates(problem)
        self.x = self.candidates.features
        self.initial, self.batch = whole("initial", initial, 1), whole("batch", batch, 1)
        self.random_first = self.initial
        self._start = self.candidates.permutation(self.rng).tolist()[: self.initial]
        self._outcomes = self._fitted = 0
        self._y: list[float] = []
        self._learnt: list[int] = []
        self._pool = CandidatePool(self.x) if self.candidates.count > AFFORDABLE else None
        self._scored = np.arange(self.candidates.count)  # rows that have scores
        self._splits: Splits | None = None
        self._scores: Floats | None = None

    def ask(self) -> Any:
        """Return the action of an initial random row, then of the free row with the best score or of a random free row.

        The model is refitted after `batch` outcomes; if `batch` is 1, also while evaluations are pending.
        """
        while self._start:
            if not self.candidates.times[row := self._start.pop()]:
                return self.candidates.submit(row)
        return self.candidates.submit(self._next())

    def _next(self) -> int:
        free = self.candidates.free
        if self.random_share is not None and self.rng.random() < self.random_share:
            return int(self.rng.choice(np.flatnonzero(free)))
        beside = self.batch == 1 and bool(self.candidates.pending)  # pending evaluations are in the model, too
        spent = not free[self._scored].any()
        if self._scores is None or self._outcomes >= self._fitted + self.batch or beside or spent:
            self._scores, self._fitted = self._fit(), self._outcomes
        return int(self._scored[np.argmax(np.where(free[self._scored], self._scores, -np.inf))])

    def _fit(self) -> Floats:
        pending = self.candidates.pending if self.batch == 1 else []
        rows = np.array(self._learnt + pending, np.intp)
        if self._pool is not None:
            pool = self._pool.draw(self._learnt, np.array(self._y), self.candidates.free, self.rng)
            self._scored = np.union1d(pool, rows)
        # Random numbers break ties, and stand in while fewer than two runs succeeded.
        jitter = self.rng.random(len(self._scored)) * 1e-9
        if len(self._y) < 2:
            return jitter
        y = np.array(self._y + [float(np.mean(self._y))] * len(pending))
        if self._pool is not None:
            return self.score(Splits(self.x[self._scored]), np.searchsorted(self._scored, rows), y) + jitter
        if self._splits is None:
            self._splits = splits_of(self.x)
        return self.score(self._splits, rows, y) + jitter

    def score(self, splits: Splits, rows: Indices, y: Floats) -> Floats:
        """Fit the model to the (n,) rewards of (n,) rows; return the (m,) scores of all rows of `splits`."""
        raise NotImplementedError

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Record the outcome; the model observes the sum of the rewards, and ignores lost runs (see `lost`)."""
        if not self.candidates.note(action, reward, info):
            return
        self._outcomes += 1
        if not lost(info):
            self._learnt.append(self.candidates.row(action))
            self._y.append(float(np.sum(reward)))


class BaggedTrees(TreeSearch):
    """Bayesian optimisation with bagged gradient-boosted trees and an upper confidence bound.

    Klyuchnikov et al. 2020, section 5: "a bagged XGBoost regressor to estimate uncertainty of predictions"; 20 random
    rows, then batches of 10 by the lowest mean - beta * standard deviation over the bag (for rewards, the highest mean
    + beta * standard deviation). Plain gradient boosting (Friedman 2001) replaces XGBoost, at its default rate of 0.3.

    Formula:
        m(x), s(x) = mean and standard deviation of B boosted regressors, each fitted to a random half of the runs
        next = argmax over untried rows of m(x) + beta s(x)

    Paper: Nikita Klyuchnikov et al. NAS-Bench-NLP: Neural Architecture Search Benchmark for Natural Language
    Processing. arXiv:2006.07116, 2020, section 5.

    Complexity: O(bag x trees x 2^depth n k) a fit, k <= 32 d splits, as matrix products.

    Example:
        from hpo_envs import run
        runs = run("bagged-trees", "NMTHPO-swen-v0", seeds=range(2), budget=8, initial=5)
        runs.best()

    Args:
        initial: Random rows at the start.
        batch: Evaluations between two fits of the model.
        beta: Weight of the standard deviation.
        bag: Regressors in the bag, each trained on a random half of the evaluations, drawn without replacement.
        trees: Boosted trees in each regressor.
        depth: Depth of the trees; 15 in the released code.
    """

    def __init__(
        self, problem: Problem, seed: int, initial: int = 20, batch: int = 10, beta: float = 2.0, bag: int = 14,
        trees: int = 50, depth: int = 3,
    ) -> None:  # fmt: skip
        super().__init__(problem, seed, initial, batch)
        self.beta, self.depth = float(beta), whole("depth", depth, 1)
        self.bag, self.trees = whole("bag", bag, 1), whole("trees", trees, 1)

    def score(self, splits: Splits, rows: Indices, y: Floats) -> Floats:
        """Return the (m,) upper confidence bounds of the rewards of all rows of `splits`."""
        halves = self.rng.random((self.bag, len(y))).argsort(axis=1) < max(len(y) // 2, 1)
        predictions = boosted(splits, rows, y, halves, trees=self.trees, depth=self.depth, rate=0.3)
        return np.asarray(predictions.mean(axis=0) + self.beta * predictions.std(axis=0))


class ForestSearch(TreeSearch):
    """Random-forest Bayesian optimisation in the manner of SMAC (Hutter et al. 2011).

    The acquisition function is expected improvement under the mean and variance over the trees of a random forest; by
    default half of the suggestions are random rows, which keeps the search consistent when the model is wrong.

    Formula:
        m(x), s(x) = mean and standard deviation over the trees of a random forest
        EI(x) = (m - b) Phi(u) + s phi(u), u = (m - b) / s, b = max y
        next = argmax of EI over untried rows; with probability random_share a random untried row

    Paper: Frank Hutter, Holger H. Hoos and Kevin Leyton-Brown. Sequential Model-Based Optimization for General
    Algorithm Configuration. LION 2011.

    Complexity: O(trees x n^2 k) a fit, k <= 32 d splits, as matrix products.

    Example:
        from hpo_envs import run
        runs = run("smac-like", "NMTHPO-swen-v0", seeds=range(2), budget=8, initial=5)
        runs.best()

    Args:
        initial: Random rows at the start.
        batch: Evaluations between two fits of the model.
        trees: Trees of the forest; 10 in SMAC.
        random_share: Probability of a random suggestion; 1/2 in SMAC.
    """

    def __init__(
        self, problem: Problem, seed: int, initial: int = 10, batch: int = 1, trees: int = 10, random_share: float = 0.5
    ) -> None:
        super().__init__(problem, seed, initial, batch)
        if not 0 <= random_share <= 1:
            raise ValueError(f"random_share must be in [0, 1], got {random_share!r}")
        self.trees, self.random_share = whole("trees", trees, 1), float(random_share)

    def score(self, splits: Splits, rows: Indices, y: Floats) -> Floats:
        """Return the (m,) expected improvements of all rows of `splits` over the best reward."""
        # Bootstrap samples, as numbers of draws with replacement.
        samples = self.rng.multinomial(len(y), np.full(len(y), 1 / len(y)), self.trees).astype(float)
        targets = np.tile(y, (self.trees, 1))
        predictions = splits.grow(rows, targets, samples, least=3, share=5 / 6, rng=self.rng)
        mean, deviation = predictions.mean(axis=0), np.maximum(predictions.std(axis=0), 1e-9)
        return expected_improvement(mean, deviation, float(y.max()))
