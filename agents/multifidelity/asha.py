"""Asynchronous successive halving (ASHA): rungs, reduction factor (eta), promotions, pending trainings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents.base import lost, positive
from hpo_envs.agents.candidates import OnCandidates
from hpo_envs.agents.multifidelity.hyperband import checkpointed, halvings
from hpo_envs.agents.problem import Problem


class ASHA(OnCandidates):
    """Asynchronous successive halving (Li et al. 2020, Algorithm 2).

    Whenever a worker is free, the best row that is in the top 1/eta of its rung and not yet promoted is promoted by one
    rung; if there is none, a new random row starts in the lowest rung. No worker waits for a rung to fill. Once every
    row was tried, the best remaining ones are promoted, but never failed or diverged ones; once none is left, the agent
    is done. `ask` may be called several times before results arrive, and results may arrive in any order; with one
    worker, every result is known before the next suggestion.

    Formula:
        from the highest rung down: a row among the best floor(|rung_k| / eta) of rung k, not yet promoted -> rung k + 1
        if there is none: a new random row -> rung 0; resource of rung k: r eta^k

    Paper: Liam Li, Kevin Jamieson, Afshin Rostamizadeh, Ekaterina Gonina, Jonathan Ben-tzur, Moritz Hardt, Benjamin
    Recht and Ameet Talwalkar. A System for Massively Parallel Hyperparameter Tuning. MLSys 2020, Algorithm 2.

    Complexity: O(rungs n log n) a suggestion in the worst case, n rows tried.

    Example:
        from hpo_envs import run
        runs = run("asha", "NMTLC-swen-v0", seeds=range(2), env_kwargs={"workers": 4})
        runs.best()  # the row, and the fidelity that it was trained to

    Args:
        problem: Actions are (row, checkpoint) pairs.
        eta: Reduction factor.
        minimum: Lower bound of the lowest rung, which is the last checkpoint divided by eta as often as possible, in
            units of the first checkpoint; None: 1.
        score: `"last"`, the reward at the rung's checkpoint, or `"best"`, the best up to it.

    Raises:
        ValueError: Actions are not (row, checkpoint) pairs, `eta` is not above 1, `minimum` is not positive, or `score`
            is unknown.
    """

    parallel = True

    def __init__(
        self, problem: Problem, seed: int, eta: float = 3.0, minimum: float | None = None, score: str = "best"
    ) -> None:
        super().__init__(problem, seed)
        rows = self.candidates = checkpointed(problem, eta, score)
        self.eta, self.score = float(eta), score
        s = halvings(rows.maximum / (1.0 if minimum is None else positive("minimum", minimum)), self.eta)
        resources = [rows.maximum / self.eta ** (s - k) for k in range(s + 1)]
        self.rungs = sorted({rows.level_of(r) for r in resources})  # one rung for each checkpoint
        self._results: list[dict[int, float]] = [{} for _ in self.rungs]
        self._promoted: list[set[int]] = [set() for _ in self.rungs]
        self._pending: dict[tuple[int, int], int] = {}
        self._order = rows.permutation(self.rng, backwards=True).tolist()

    def ask(self) -> Any:
        """Return the action of a promotion if there is one, else that of a new row in the lowest rung.

        Once all rows were tried and none can be promoted, return the action of a random row at the first checkpoint.
        """
        # Once all rows were tried, the best ones not yet promoted are, whatever their rank.
        for eta in (self.eta,) if self._order else (self.eta, 1.0):
            for k in range(len(self.rungs) - 2, -1, -1):
                if (row := self._promotable(k, eta)) is not None:
                    self._promoted[k].add(row)
                    return self._submit(row, k + 1)
        if self._order:
            return self._submit(self._order.pop(), 0)
        return self.candidates.submit(int(self.rng.integers(self.candidates.count)), 0)

    def _promotable(self, k: int, eta: float) -> int | None:
        results = self._results[k]
        best = sorted(results, key=lambda row: (-results[row], row))[: int(len(results) / eta)]
        return next((row for row in best if row not in self._promoted[k] and np.isfinite(results[row])), None)

    def _submit(self, row: int, rung: int) -> Any:
        self._pending[row, self.rungs[rung]] = rung
        return self.candidates.submit(row, self.rungs[rung])

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Add a result to its rung, and update `done`; steps without a result are ignored.

        Results of actions that are not pending in a rung count only in `recommend`.
        """
        if not self.candidates.note(action, reward, info):
            return
        row, level = (int(v) for v in action)
        if (rung := self._pending.pop((row, level), None)) is None:
            return
        score = info.get("best", reward) if self.score == "best" else reward
        self._results[rung][row] = -np.inf if lost(info) else float(score)
        waiting = any(self._promotable(k, 1.0) is not None for k in range(len(self.rungs) - 1))
        self.done = not (self._order or self._pending or waiting)
