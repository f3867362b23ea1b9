"""Successive halving and Hyperband: brackets, rungs, reduction factor (eta), survivors, diverged runs."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.base import Planned, lost, positive, whole
from hpo_envs.agents.candidates import Candidates, OnCandidates
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of

SMALLEST_ETA = 1.01
"""Smallest `eta`: with one nearer to 1, rungs would be almost equal and too many."""

Plan = Generator[Any, tuple[Any, Mapping[str, Any]], None]


def checkpointed(problem: Problem, eta: float, score: str) -> Candidates:
    """Return the candidates of a problem whose actions are (row, checkpoint) pairs, after checks of the arguments.

    Raises:
        ValueError: The problem has other actions, `eta` is too small, or `score` is neither `last` nor `best`.
    """
    rows = Candidates(problem)
    if not rows.pairs:
        raise ValueError(f"action_space must be (row, level) pairs, got {problem.action_space}")
    if not eta >= SMALLEST_ETA:
        raise ValueError(f"eta must be >= {SMALLEST_ETA}, got {eta!r}")
    one_of("score", score, ("last", "best"))
    return rows


def halvings(maximum: float, eta: float) -> int:
    """Return s_max = floor(log_eta R), at least 0, by powers of eta: a computed log_3 243 may be below 5."""
    s = 0
    while eta ** (s + 1) <= maximum * (1 + 1e-12):
        s += 1
    return s


def bracket(n: int, maximum: float, eta: float, s: int) -> list[tuple[int, int]]:
    """Return the s + 1 rungs of a bracket: (number of configurations, resource of each), both rounded down.

    Li et al. 2018, Algorithm 1, lines 4 to 6: n_i = n eta^-i, r_i = R eta^(i - s).
    """
    return [(int(n / eta**i + 1e-9), int(maximum / eta ** (s - i) + 1e-9)) for i in range(s + 1)]


def brackets(maximum: float, eta: float, trainings: float | None = None) -> list[list[tuple[int, int]]]:
    """Return all brackets of Hyperband (Li et al. 2018, Algorithm 1).

    Args:
        maximum: R, largest resource of one configuration, in units of the smallest.
        eta: 1 / eta of the configurations survive each rung.
        trainings: B / R, budget of a bracket in full trainings; None: s_max + 1, as in the paper.

    Returns:
        For each s = s_max, ..., 0, the rungs of a bracket that starts with n = ceil(B / R eta^s / (s + 1)) rows.
    """
    top = halvings(maximum, eta)
    share = top + 1 if trainings is None else trainings
    starts = [(s, int(np.ceil(share * eta**s / (s + 1) - 1e-9))) for s in range(top, -1, -1)]
    return [bracket(n, maximum, eta, s) for s, n in starts]


class Halving(OnCandidates, Planned):
    """Base class of successive halving and Hyperband, which run brackets.

    Args:
        eta: 1 / eta of the configurations survive each rung.
        score: Criterion for survivors: `"last"`, the reward at the rung's checkpoint, or `"best"`, the best reward at
            any checkpoint up to it (if over-fitting is common and the best checkpoint is kept).
        shift: Number of checkpoints trained beyond each rung's resource. It is 1 in the code released with
            NAS-Bench-NLP, which trains to the epoch of index r, for r + 1 epochs.
        fresh: Whether a bracket starts with untried rows while there are any, instead of any rows.

    Raises:
        ValueError: An argument is not valid, or actions are not (row, checkpoint) pairs.
    """

    _rounds = math.inf
    _brackets: list[list[tuple[int, int]]]

    def __init__(
        self, problem: Problem, seed: int, eta: float = 3.0, score: str = "best", shift: int = 0, fresh: bool = True
    ) -> None:
        super().__init__(problem, seed)
        self.candidates = checkpointed(problem, eta, score)
        self.eta, self.score, self.shift = float(eta), score, whole("shift", shift, 0)
        self.fresh, self._spent = fresh, 0.0

    def plan(self) -> Plan:
        """Yield the actions of all brackets; repeat this for the number of rounds, or until a round uses no budget."""
        done, spent = 0, -1.0
        while self._spent > spent and done < self._rounds:
            done, spent = done + 1, self._spent
            for rungs in self._brackets:
                yield from self.run_bracket(rungs)

    def start(self, n: int) -> npt.NDArray[np.intp]:
        """Return at most n random rows for a new bracket; if `fresh`, untried ones first."""
        drawn = self.candidates.permutation(self.rng)
        if self.fresh:
            drawn = drawn[np.argsort(self.candidates.times[drawn] > 0, kind="stable")]
        return drawn[:n]

    def run_bracket(self, rungs: list[tuple[int, int]]) -> Plan:
        """Yield the actions of a bracket, rung by rung; failed and diverged runs never survive."""
        rows, alive = self.candidates, self.start(rungs[0][0])
        for i, (_, resource) in enumerate(rungs):
            level = min(rows.level_of(max(resource, 1)) + self.shift, rows.top)
            scores = np.full(len(alive), -np.inf)
            for k, row in enumerate(alive):
                action = rows.submit(int(row), level)
                reward, info = yield action
                rows.note(action, reward, info)
                self._spent += info["cost"]
                if not lost(info):
                    scores[k] = info.get("best", reward) if self.score == "best" else reward
            if i + 1 < len(rungs):
                order = np.argsort(-scores, kind="stable")[: rungs[i + 1][0]]
                alive = alive[order[np.isfinite(scores[order])]]


class SuccessiveHalving(Halving):
    """Successive halving (Jamieson and Talwalkar 2016), repeated until the budget is used up.

    `n` random rows are trained to a small resource, the best 1/eta of them to eta times as much, and so on up to the
    last checkpoint; then `n` new rows. The agent is done once a bracket has nothing left to train.

    Formula:
        n_i = floor(n eta^-i), r_i = floor(R eta^(i - s)), i = 0, ..., s
        rung i: train n_i rows to resource r_i, keep the best n_{i+1}

    Paper: Kevin Jamieson and Ameet Talwalkar. Non-stochastic Best Arm Identification and Hyperparameter
    Optimization. AISTATS 2016.

    Complexity: O(n log n) a rung.

    Example:
        from hpo_envs import run
        runs = run("successive-halving", "NMTLC-swen-v0", seeds=range(2), eta=3)
        runs.best()  # the row, and the fidelity that it was trained to

    Args:
        n: Rows of the first rung; None: eta^s, so that one row reaches the last checkpoint.
        s: Number of halvings; None: as many as fit between the first and the last checkpoint.
        **options: See `Halving`.
    """

    def __init__(self, problem: Problem, seed: int, n: int | None = None, s: int | None = None, **options: Any) -> None:
        super().__init__(problem, seed, **options)
        maximum = self.candidates.maximum
        s = halvings(maximum, self.eta) if s is None else whole("s", s, 0)
        n = int(np.ceil(self.eta**s)) if n is None else whole("n", n, 1)
        self._brackets = [bracket(n, maximum, self.eta, s)]


class Hyperband(Halving):
    """Hyperband (Li et al. 2018, Algorithm 1): successive halving with every trade-off of rows against resource.

    The agent is done after `rounds` rounds of brackets, or once a round has nothing left to train.

    Formula:
        for s = floor(log_eta R), ..., 0: n = ceil((B / R) eta^s / (s + 1)), B = (s_max + 1) R
        rungs n_i = floor(n eta^-i), r_i = floor(R eta^(i - s)), i = 0, ..., s, as in SuccessiveHalving

    Paper: Lisha Li, Kevin Jamieson, Giulia DeSalvo, Afshin Rostamizadeh and Ameet Talwalkar. Hyperband: A Novel
    Bandit-Based Approach to Hyperparameter Optimization. JMLR 18(185):1-52, 2018, Algorithm 1.

    Complexity: O(n log n) a rung of n rows.

    Example:
        from hpo_envs import run
        runs = run("hyperband", "NMTLC-swen-v0", seeds=range(2), eta=3)
        runs.best()  # the row, and the fidelity that it was trained to

    Args:
        problem: Actions are (row, checkpoint) pairs.
        trainings: B / R of the brackets; None: s_max + 1. NAS-Bench-NLP's comparison uses B = N R / 3.5 with
            N = 100, so 100 / 3.5.
        rounds: Number of times that all brackets are run; None: until the budget is used up.
        **options: See `Halving`; the paper's eta is 3.
    """

    def __init__(
        self, problem: Problem, seed: int, trainings: float | None = None, rounds: int | None = None, **options: Any
    ) -> None:
        super().__init__(problem, seed, **options)
        trainings = None if trainings is None else positive("trainings", trainings)
        self._rounds = math.inf if rounds is None else whole("rounds", rounds, 1)
        self._brackets = brackets(self.candidates.maximum, self.eta, trainings)
