"""Fixed orders of the candidates, computed from source tasks; nothing is learned during the run."""

from __future__ import annotations

import numpy as np

from hpo_envs.agents.problem import Problem
from hpo_envs.agents.transfer.base import TransferAgent


class ZeroShot(TransferAgent):
    """Search through the candidates in the order of the mean normal scores predicted from other tables.

    Formula:
        next = argmax_x (1 / J) sum_j s_j(x)        s_j(x): prediction of source j, see `TransferAgent`

    Paper: Martin Wistuba, Nicolas Schilling and Lars Schmidt-Thieme. Sequential Model-Free Hyperparameter Tuning.
    ICDM 2015 (its ranking before any observation), with predictions where a table lacks the configuration.

    Complexity: O(n) a suggestion, n candidates.

    Example:
        from hpo_envs import run
        runs = run("zero-shot", "NMTHPO-swen-v0", seeds=range(2), budget=5, transfer="family")
        runs[0].rewards  # of the first five in the fixed order

    Args:
        problem: A finite problem with features, one objective and sources.
        seed: See `TransferAgent`.
    """

    def _suggest(self) -> int:
        return self._first()


class Portfolio(TransferAgent):
    """Greedy portfolio: each suggestion is the candidate that improves most on the previous ones over other tables.

    The predictions of each tree of each source count as one table. Greedy selection achieves at least 1 - 1 / e of the
    value of the best portfolio of its size, because the objective is monotone and submodular. The mean prediction
    breaks ties, and decides once no candidate improves a table.

    Formula:
        next = argmax_x sum_w max(0, s_w(x) - max_{x' in P} s_w(x'))    w: trees, P: suggestions so far

    Paper: Matthias Feurer, Katharina Eggensperger, Stefan Falkner, Marius Lindauer and Frank Hutter. Auto-Sklearn 2.0:
    Hands-free AutoML via Meta-Learning. JMLR 23:1-61, 2022, section 3.2.1.

    Complexity: O(W n) a suggestion, W trees (16 a source), n candidates.

    Example:
        from hpo_envs import run
        runs = run("portfolio", "NMTHPO-swen-v0", seeds=range(2), budget=5, transfer="family")
        runs[0].rewards  # of the first five in the portfolio

    Args:
        problem: A finite problem with features, one objective and sources.
        seed: See `TransferAgent`.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self._trees = self.scores[0].reshape(-1, self.scores.shape[-1])
        self._best = np.full(len(self._trees), self._trees.min())

    def _suggest(self) -> int:
        gains = np.maximum(self._trees - self._best[:, None], 0.0).mean(axis=0)
        row = self.best_free(gains + 1e-6 * self.means[0].mean(axis=0))
        self._best = np.maximum(self._best, self._trees[:, row])
        return row

    _first = _suggest
