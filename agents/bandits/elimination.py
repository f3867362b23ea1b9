"""Fixed-budget elimination: sequential halving and successive rejects."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np

from hpo_envs.agents.bandits.base import ArmsAgent, budget_of
from hpo_envs.agents.base import whole
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of


def halving_schedule(arms: int, budget: int, rounds: str = "ceil") -> list[tuple[int, int]]:
    """Return the rounds of sequential halving, as in Table 1 of Moss et al. (2019).

    Args:
        arms: Number N of arms, >= 2.
        budget: Evaluations T, at least one of each arm in the first round.
        rounds: Number R of rounds among which the budget is divided: `ceil`(log2 N) as in Algorithm 1, or
            `floor`(log2 N) as in the text of section 4.1, which can exceed the budget unless N is a power of two (260
            instead of 204 evaluations with 12 arms).

    Returns:
        One (number of arms S, evaluations of each) pair per round, first round first: floor(T / (S R)) evaluations,
        after which the floor(S / 2) arms with the worst means are eliminated, until one is left.

    Raises:
        ValueError: `rounds` is neither `ceil` nor `floor`, or the budget is below N R.
    """
    one_of("rounds", rounds, ("ceil", "floor"))
    parts = (arms - 1).bit_length() if rounds == "ceil" else arms.bit_length() - 1
    if budget < arms * parts:
        raise ValueError(f"budget must be >= arms * {rounds}(log2 arms) = {arms * parts} evaluations, got {budget}")
    schedule, left = [], arms
    while left > 1:
        schedule.append((left, budget // (left * parts)))
        left -= left // 2
    return schedule


class Elimination(ArmsAgent):
    """Base class of agents that eliminate arms in rounds; a batch beyond the end of a round repeats the survivors.

    Attributes:
        survivors: Arms that were not eliminated, ascending.
        rounds: (evaluations of each survivor, number of arms kept after them) of the current and later rounds.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self.survivors = list(range(self.arms))
        self.rounds = deque(self.plan())
        self._queue: deque[int] = deque()
        self._due = 0.0
        self._start()

    def plan(self) -> list[tuple[int, int]]:
        """Return the initial value of `rounds`; implemented by subclasses."""
        raise NotImplementedError

    def choose(self) -> int:
        """Return the next arm of the round; once all its evaluations are suggested, cycle through the survivors."""
        if not self._queue:
            self._queue.extend(self.survivors)
        return self._queue.popleft()

    def update(self) -> None:
        """Once a round is complete, eliminate arms and start the next round; after the last round, set `done`."""
        if not self.done and self.belief.counts.sum() >= self._due:
            self._queue.clear()
            self._drop()
            self._start()

    def recommend(self) -> Any:
        """Return the surviving arm with the best mean; for batched actions, a (batch,) vector of this arm."""
        return self._action(max(self.survivors, key=lambda arm: (self.belief.counts[arm] > 0, self.belief.means[arm])))

    def _drop(self) -> None:
        _, keep = self.rounds.popleft()
        self.survivors = sorted(sorted(self.survivors, key=lambda arm: (-self.belief.means[arm], arm))[:keep])

    def _start(self) -> None:
        while self.rounds and not self.rounds[0][0]:  # a round without evaluations decides on the means so far
            self._drop()
        if not self.rounds:
            self.done = True
            return
        self._queue.extend(self.survivors * self.rounds[0][0])
        self._due = self.belief.counts.sum() + len(self._queue)


class SequentialHalving(Elimination):
    """Sequential halving (Moss et al. 2019, Algorithm 1; Karnin, Koren and Somekh 2013).

    The budget is divided equally among ceil(log2 n) rounds of n arms; after each, the worse half of the survivors is
    eliminated. Means are over all evaluations of an arm, as in the package of Moss et al.; Karnin et al. use only
    those of the round.

    Formula:
        round r: each arm of S_r is evaluated floor(T / (|S_r| ceil(log2 n))) times
        S_r+1 = the ceil(|S_r| / 2) arms of S_r with the best means

    Paper: Zohar Karnin, Tomer Koren and Oren Somekh. Almost Optimal Exploration in Multi-Armed Bandits. ICML 2013.
    Henry B. Moss, Andrew Moore, David S. Leslie and Paul Rayson. FIESTA: Fast IdEntification of State-of-The-Art
    models using adaptive bandit algorithms. ACL 2019, Algorithm 1.

    Complexity: O(1) a suggestion, O(n log n) a round of n survivors.

    Example:
        from hpo_envs import run
        runs = run("sh", "FIESTA-tdsa8-v0", seeds=range(5), budget=48)
        [int(r.recommended) for r in runs]  # the last survivor, by seed

    Args:
        rounds: See `halving_schedule`.
        total: Evaluations to plan for; None: the problem's budget. With `rounds="floor"` the plan may need more.

    Raises:
        ValueError: `total`, or without it the problem's budget, is below n ceil(log2 n) (or floor) or not a number of
            evaluations; or `rounds` is unknown.
    """

    def __init__(self, problem: Problem, seed: int, *, rounds: str = "ceil", total: int | None = None) -> None:
        self._rounds, self._total = rounds, total
        super().__init__(problem, seed)

    def plan(self) -> list[tuple[int, int]]:
        """Return the rounds of Algorithm 1, see `Elimination`."""
        budget = budget_of(self.problem, self.arms) if self._total is None else whole("total", self._total, self.arms)
        return [(each, n - n // 2) for n, each in halving_schedule(self.arms, budget, self._rounds)]


class SuccessiveRejects(Elimination):
    """Successive rejects (Audibert, Bubeck and Munos 2010).

    Each of n - 1 phases eliminates one of n arms; T is the budget.

    Formula:
        n_k = max(ceil((T - n) / (logbar(n) (n + 1 - k))), 1), logbar(n) = 1/2 + sum_{i=2..n} 1/i
        after phase k, when each survivor has n_k evaluations, eliminate the arm with the worst mean

    Paper: Jean-Yves Audibert, Sebastien Bubeck and Remi Munos. Best Arm Identification in Multi-Armed Bandits. COLT
    2010, Figure 2.

    Complexity: O(1) a suggestion, O(n log n) a round of n survivors.

    Example:
        from hpo_envs import run
        runs = run("sr", "FIESTA-tdsa8-v0", seeds=range(5), budget=48)
        [int(r.recommended) for r in runs]  # the last survivor, by seed

    Raises:
        ValueError: There is no budget, it is below the number of arms, or it is not in evaluations.
    """

    def plan(self) -> list[tuple[int, int]]:
        """Return the phases of the paper's Figure 2, see `rounds` of `Elimination`."""
        n, budget = self.arms, budget_of(self.problem, self.arms)
        logbar = 0.5 + float(np.add.accumulate(1.0 / np.arange(2, n + 1))[-1])
        totals = [0] + [max(math.ceil((budget - n) / (logbar * (n + 1 - k))), 1) for k in range(1, n)]
        return [(totals[k] - totals[k - 1], n - k) for k in range(1, n)]
