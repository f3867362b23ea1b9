"""Fixed-budget elimination: sequential halving and successive rejects."""

from __future__ import annotations

import functools
import math
import operator
from collections import deque
from typing import Any

from hpo_envs.agents.bandits.base import ArmsAgent, budget_of
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of


def halving_schedule(arms: int, budget: int, rounds: str = "ceil") -> list[tuple[int, int]]:
    """Return the rounds of sequential halving, as in Table 1 of Moss et al. (2019).

    Args:
        arms: Number of arms, >= 2.
        budget: Evaluations, at least one of each arm in the first round.
        rounds: Divisor of the budget: `ceil`(log2 N) as in Algorithm 1, or `floor`(log2 N) as in the
            text of section 4.1, which exceeds the budget unless N is a power of two (260 instead of 204 evaluations
            with 12 arms).

    Returns:
        One (survivors, evaluations of each) pair per round: floor(T / (|S| ceil(log2 N))) evaluations (with `floor`,
        floor(log2 N)), then the worst floor(|S| / 2) are eliminated.

    Raises:
        ValueError: Fewer than two arms, other `rounds`, or a budget below one evaluation per arm in the first round.
    """
    if arms < 2:
        raise ValueError(f"arms must be an int >= 2, got {arms!r}")
    parts = parts_of(arms, rounds)
    if budget < arms * parts:
        raise ValueError(f"budget must be >= arms * {rounds}(log2 arms) = {arms * parts} evaluations, got {budget}")
    schedule, left = [], arms
    while left > 1:
        schedule.append((left, budget // (left * parts)))
        left -= left // 2
    return schedule


def parts_of(arms: int, rounds: str) -> int:
    """Return the divisor of the budget: log2 of the number of arms, rounded up (`ceil`) or down (`floor`).

    Raises:
        ValueError: rounds is neither `ceil` nor `floor`.
    """
    one_of("rounds", rounds, ("ceil", "floor"))
    return (arms - 1).bit_length() if rounds == "ceil" else arms.bit_length() - 1


class Elimination(ArmsAgent):
    """Base class of agents that eliminate arms in rounds; a batch beyond the end of a round repeats its survivors.

    `rounds` lists the current and later rounds as (arms at the start, evaluations of each arm, arms at the end).
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self.survivors = list(range(self.arms))
        self.rounds = deque(self.plan())
        self._queue: deque[int] = deque()
        self._due = 0.0
        self._start()

    def plan(self) -> list[tuple[int, int, int]]:
        """Return the initial value of `rounds`."""
        raise NotImplementedError

    def choose(self) -> int:
        """Return the next arm of the round; after all evaluations, cycle through the survivors to fill the batch."""
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
        _, _, keep = self.rounds.popleft()
        self.survivors = sorted(sorted(self.survivors, key=lambda arm: (-self.belief.means[arm], arm))[:keep])

    def _start(self) -> None:
        while self.rounds and not self.rounds[0][1]:  # a round without evaluations decides on the means so far
            self._drop()
        if not self.rounds:
            self.done = True
            return
        self._queue.extend(self.survivors * self.rounds[0][1])
        self._due = self.belief.counts.sum() + len(self._queue)


class SequentialHalving(Elimination):
    """Sequential halving (Moss et al. 2019, Algorithm 1; Karnin, Koren and Somekh 2013).

    ceil(log2 N) rounds share the budget; after each, the worse half of the survivors is eliminated. Means are over all
    evaluations of an arm, as in the authors' package; Karnin et al. use those of the round alone.

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
        total: Evaluations to plan for; None is the problem's budget. With `rounds="floor"` the plan costs more.

    Raises:
        ValueError: The budget is below N ceil(log2 N) (or floor) or not counted in evaluations, or `rounds` is unknown.
    """

    def __init__(self, problem: Problem, seed: int, *, rounds: str = "ceil", total: int | None = None) -> None:
        self._rounds, self._total = rounds, total
        super().__init__(problem, seed)

    def plan(self) -> list[tuple[int, int, int]]:
        """Return the rounds of Algorithm 1, see `Elimination`."""
        least = self.arms * parts_of(self.arms, self._rounds)
        budget = budget_of(self.problem, least) if self._total is None else self._total
        schedule = halving_schedule(self.arms, budget, self._rounds)
        return [(n, each, n - n // 2) for n, each in schedule]


class SuccessiveRejects(Elimination):
    """Successive rejects (Audibert, Bubeck and Munos 2010).

    N - 1 rounds eliminate one arm each; after round k the survivors have ceil((T - N) / (logbar(N) (N + 1 - k)))
    evaluations, with logbar(N) = 1/2 + sum of 1/i for i = 2..N.

    Formula:
        n_k = ceil((T - n) / (logbar(n) (n + 1 - k))), logbar(n) = 1/2 + sum_{i=2..n} 1/i
        after phase k, when each survivor has n_k evaluations, eliminate the arm with the worst mean

    Paper: Jean-Yves Audibert, Sebastien Bubeck and Remi Munos. Best Arm Identification in Multi-Armed Bandits. COLT
    2010, Figure 2.

    Complexity: O(1) a suggestion, O(n log n) a round of n survivors.

    Example:
        from hpo_envs import run
        runs = run("sr", "FIESTA-tdsa8-v0", seeds=range(5), budget=48)
        [int(r.recommended) for r in runs]  # the last survivor, by seed

    Raises:
        ValueError: The budget is below the number of arms, or not counted in evaluations.
    """

    def plan(self) -> list[tuple[int, int, int]]:
        """Return the rounds of the paper's Figure 2, see `Elimination`."""
        n, budget = self.arms, budget_of(self.problem, self.arms)
        logbar = 0.5 + functools.reduce(operator.add, (1.0 / i for i in range(2, n + 1)), 0.0)
        totals = [0] + [max(math.ceil((budget - n) / (logbar * (n + 1 - k))), 1) for k in range(1, n)]
        return [(n + 1 - k, totals[k] - totals[k - 1], n - k) for k in range(1, n)]
