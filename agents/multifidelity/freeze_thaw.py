"""Freeze-thaw optimisation: initial rows, choice of the row to train next, pending and failed trainings, ties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents.base import lost
from hpo_envs.agents.candidates import TIE, Candidates, OnCandidates
from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.models.gp.curves import CurveProcess, curve_prior
from hpo_envs.agents.models.gp.kernels import gram, square_distances
from hpo_envs.agents.problem import Problem

LARGEST = 1000
"""Largest number of rows in the model; if there are more, the agent uses a random subset of them."""

NEIGHBOURS, MEASURED = 0.5, 300
"""Length-scale, in units of the median distance of candidates, and about how many of them determine the median."""

INITIAL = 3
"""Number of random rows before the first model, unless curves of sources determine the scale of rewards."""

LEAST = 1e-12
"""Smallest cost by which improvements are divided."""


class FreezeThaw(OnCandidates):
    """Bayesian optimisation over partly trained rows, with a prior learned from other tables' curves.

    A Gaussian process predicts each row's best reward so far at geometrically spaced checkpoints, including rows not
    yet started (see `CurveProcess`). If the problem has sources with curves, these define its prior: mean and
    covariance of their curves, and their predictions from the features. The row with the largest expected improvement
    of the best reward per unit of cost, at any checkpoint, is trained to its next checkpoint; the others pause.
    Training stops at every checkpoint of the table on the way, at the same total cost. If the cost is a number of
    evaluations, the row is trained at once to the checkpoint of the largest improvement.

    Formula:
        y_i(k) = m_i(k) + sum_r B_kr z_ir;  cov(z_i, z_j) = (c + s k(x_i, x_j) + o [i = j]) I + sum_e u_ei u_ej'
        next row = argmax_i max_{k > k_i} E[max(y_i(k) - best, 0)] / (cost(i, k) - cost(i, k_i))

    Paper: Kevin Swersky, Jasper Snoek and Ryan P. Adams. Freeze-Thaw Bayesian Optimization. arXiv:1406.3896, 2014,
    with curves' shapes from other tables, as in Kevin Swersky, Jasper Snoek and Ryan P. Adams. Multi-Task Bayesian
    Optimization. NIPS 2013, in place of exponential decay, and expected improvement per cost (Snoek, Larochelle and
    Adams. Practical Bayesian Optimization of Machine Learning Algorithms. NIPS 2012) in place of entropy search.

    Complexity: O(t n R + n K R) an observation, t of them, n rows, K checkpoints, R shapes; O(n^3) a source.

    Example:
        from hpo_envs import run
        runs = run("freeze-thaw", "NMTLC-ft-zhen-v0", seeds=range(1), ratio=4.0)
        runs.best()  # the row, and the fidelity that it was trained to

    Args:
        problem: Actions are (row, checkpoint) pairs, with features.
        ratio: Ratio of the resources of neighbouring checkpoints in the model.

    Raises:
        ValueError: The problem has other actions or several objectives, or `ratio` is not above 1.
    """

    parallel = True

    def __init__(self, problem: Problem, seed: int, ratio: float = 1.6) -> None:
        super().__init__(problem, seed)
        self.candidates = rows = Candidates(problem)
        if not rows.pairs or problem.objectives != 1:
            raise ValueError(f"action_space must be (row, level) pairs with one objective, got {problem}")
        if not ratio > 1:
            raise ValueError(f"ratio must be > 1, got {ratio!r}")
        self._rungs = spaced(rows.levels, ratio)
        n = min(rows.count, LARGEST)
        self._pool = np.arange(n) if n == rows.count else np.sort(self.rng.choice(rows.count, n, replace=False))
        self._place = {int(row): i for i, row in enumerate(self._pool)}
        self._jumps = problem.unit == "evaluations"
        self._process: CurveProcess | None = None
        self._shift, self._scale = 0.0, 1.0
        self._observed: list[tuple[int, int, float]] = []  # row, rung, best reward
        self._renewal = INITIAL  # number of rows with rewards at which the model is created (again)
        self._at = np.full(n, -1)  # last rung reached
        self._level = np.full(n, -1)  # last checkpoint reached
        self._peak = np.full(n, -np.inf)
        self._paid = np.zeros(n)
        self._best = -np.inf
        self._aims: dict[int, int] = {}  # target rung of each row in training
        self._waiting: list[int] = []  # rows in training without a pending evaluation

    def ask(self) -> Any:
        """Return the action that continues an interrupted training, else that of the most promising row."""
        if self._waiting:
            i = self._waiting.pop(0)
        else:
            i, rung = self._promising()
            self._aims[i] = rung
        level = self._rungs[self._aims[i]] if self._jumps else min(self._level[i] + 1, self._rungs[-1])
        return self.candidates.submit(int(self._pool[i]), int(level))

    def _promising(self) -> tuple[int, int]:
        """Return the row to train and its target rung, as if pending evaluations had their expected results.

        Rows are indices in the model. Before the model exists, return a random row (one not started, if there is any)
        and its next rung; if each row is in training or complete, a random row and the last rung.
        """
        top = len(self._rungs) - 1
        open_ = self._at < top
        open_[list(self._aims)] = False
        if not open_.any():
            return int(self.rng.integers(len(self._at))), top
        if self._process is None or np.isfinite(self._peak).sum() >= self._renewal:
            self._begin()
        if self._process is None:
            fresh = open_ & (self._at < 0)
            i = int(self.rng.choice(np.flatnonzero(fresh if fresh.any() else open_)))
            return i, int(self._at[i]) + 1
        process = self._process
        mark = process.mark()
        for i, rung in self._aims.items():
            process.observe(i, rung, process.mean[i, rung])
        if np.isfinite(self._best):
            best = (self._best - self._shift) / self._scale
            scores = expected_improvement(process.mean, process.deviation, best) / self._costs()
        else:
            scores = process.mean
        process.undo(mark)
        scores = np.where(open_[:, None] & (np.arange(top + 1) > self._at[:, None]), scores, -np.inf)
        most = scores.max(axis=1)
        i = int(self.rng.choice(np.flatnonzero(most >= most.max() - TIE * abs(most.max()))))
        return i, int(scores[i].argmax()) if self._jumps else int(self._at[i]) + 1

    def _costs(self) -> Floats:
        """Return the (n, rungs) costs of training each row from its checkpoint to each rung; 1 in evaluations."""
        if self._jumps:
            return np.ones((len(self._at), len(self._rungs)))
        started = self._level >= 0
        spent = np.where(started, self.candidates.levels[self._level], 0.0)
        prices = self._paid / np.where(started, spent, 1.0)
        prices[~started] = prices[started].mean() if started.any() else 1.0
        return np.asarray(np.maximum(prices[:, None] * (self.candidates.levels[self._rungs] - spent[:, None]), LEAST))

    def _begin(self) -> None:
        """Create the model; without curves of sources, only once `INITIAL` rows determine the scale of the rewards.

        Then it is created again at each doubling of the rows with rewards, as the first may all have failed to learn.
        """
        features = self.candidates.features
        base = self.problem.base if self.problem.base is not None else features
        some = base[:: max(len(base) // MEASURED, 1)]
        length = NEIGHBOURS * float(np.sqrt(np.median(square_distances(some, some)))) or 1.0
        x, resources = features[self._pool], self.candidates.levels[self._rungs]
        prior, learned = curve_prior(resources, x, self.problem.feature_names, length, self.problem.sources)
        if learned:
            self._renewal = len(self._at) + 1
        else:
            known = self._peak[(self._at >= 0) & np.isfinite(self._peak)]
            if len(known) < min(self._renewal, len(self._at)):
                return
            self._renewal = 2 * len(known)
            self._shift, self._scale = float(np.median(known)), float(known.std()) or 1.0
        self._process = CurveProcess(prior, gram("matern52", x, length))
        for i, at, peak in self._observed:
            self._process.observe(i, at, (peak - self._shift) / self._scale)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Observe the best reward that a row has reached, and update `done`; steps without a result are ignored."""
        if not self.candidates.note(action, reward, info):
            return
        row, level = (int(v) for v in action)
        failed = lost(info)
        if not failed:
            self._best = max(self._best, float(reward))
        if row not in self._place:
            return
        i, top = self._place[row], len(self._rungs) - 1
        reached = min(level, int(info.get("reached", level)))
        self._paid[i] += info["cost"]
        self._level[i] = max(self._level[i], reached, 0)
        ended = failed or reached < level or level >= self._rungs[top]
        at = top if ended else int(np.searchsorted(self._rungs, self._level[i], side="right")) - 1
        if not failed:
            self._peak[i] = max(self._peak[i], float(info.get("best", reward)))
            if at > self._at[i]:
                self._observed.append((i, at, float(self._peak[i])))
                if self._process is not None:
                    self._process.observe(i, at, (self._peak[i] - self._shift) / self._scale)
        self._at[i] = max(self._at[i], at)
        if self._at[i] >= self._aims.get(i, -1):
            self._aims.pop(i, None)
            self._waiting = [j for j in self._waiting if j != i]
        elif i not in self._waiting:
            self._waiting.append(i)
        self.done = bool((self._at == top).all())


def spaced(levels: Floats, ratio: float) -> Indices:
    """Return ascending indices of checkpoints spaced by a factor of about `ratio`, with the first and the last."""
    count = int(np.ceil(np.log(levels[-1] / levels[0]) / np.log(ratio))) + 1 if len(levels) > 1 else 1
    targets = levels[0] * ratio ** np.arange(count) * (1 + 1e-9)
    return np.unique(np.append(np.searchsorted(levels, targets, side="right") - 1, len(levels) - 1))
