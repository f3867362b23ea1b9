"""Bayesian optimisation with a Gaussian process on a continuous box."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.agents.base import Agent, positive, whole
from hpo_envs.agents.candidates import Incumbent, lost
from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.models.kernel_fit import KernelFit, Prior
from hpo_envs.agents.models.kernels import KERNELS
from hpo_envs.agents.problem import Problem
from hpo_envs.checks import one_of

Floats = npt.NDArray[np.float64]


class BoxBayesianOptimisation(Agent):
    """Expected improvement under a Gaussian process, on a `Box` of any dimension.

    The first suggestions are a Latin hypercube. Then rewards are standardised, the kernel's length-scales (one a
    dimension), amplitude and noise are estimated by maximum a posteriori whenever the number of observations has grown
    by `refit`, and expected improvement is maximised over random points, points near the best ones, and a few rounds
    of ever smaller steps from the best candidates.

    Formula:
        theta = argmax p(y | X, theta) p(theta)    length-scales, amplitude, noise
        m(x), v(x): posterior as in BayesianOptimisation
        next = argmax over candidates of EI(x) = (m - b) Phi(u) + sqrt(v) phi(u), u = (m - b) / sqrt(v), b = max y

    Paper: Donald R. Jones, Matthias Schonlau and William J. Welch. Efficient Global Optimization of Expensive
    Black-Box Functions. Journal of Global Optimization 13:455-492, 1998. Estimated length-scales: Jasper Snoek,
    Hugo Larochelle and Ryan P. Adams. Practical Bayesian Optimization of Machine Learning Algorithms. NeurIPS 2012.

    Complexity: O(t^2 c) a suggestion after t observations, c candidates; a refit O(t^3) an iteration.

    Args:
        problem: A bounded `Box` problem with one objective.
        initial: Suggestions before the first model, an int >= 2.
        candidates: Random points at which the acquisition is compared, an int >= 1.
        kernel: `matern52` or `rbf`.
        refit: Relative growth in observations after which the kernel is estimated again.

    Raises:
        ValueError: Another kind of space, several objectives, or a setting breaks its rule.
    """

    parallel = True

    def __init__(
        self,
        problem: Problem,
        seed: int,
        *,
        initial: int = 10,
        candidates: int = 512,
        kernel: str = "matern52",
        refit: float = 0.1,
    ) -> None:
        super().__init__(problem, seed)
        space = problem.action_space
        if not isinstance(space, gym.spaces.Box) or not space.is_bounded() or problem.levels is not None:
            raise ValueError(f"action_space must be a bounded Box without levels for this agent, got {space}")
        if problem.objectives != 1:
            raise ValueError(f"objectives must be 1 for this agent, got {problem.objectives}")
        initial = whole("initial", initial, 2)
        self.kernel, self.candidates = one_of("kernel", kernel, KERNELS), whole("candidates", candidates, 1)
        self.refit = positive("refit", refit)
        self._space = space
        self._low, self._high = (a.ravel().astype(np.float64) for a in (space.low, space.high))
        self._d = len(self._low)
        strata = np.stack([self.rng.permutation(initial) for _ in range(self._d)], axis=1)
        self._design = list((strata + self.rng.random(strata.shape)) / initial)
        self._x: list[Floats] = []
        self._y: list[float] = []
        self._pending = [self._unit(action) for action in problem.pending]
        self._told = Incumbent()
        self._fit: KernelFit | None = None
        self._fitted_at = 0

    def ask(self) -> Any:
        """Returns the next point of the design, or the point of largest expected improvement found."""
        action = self._action(self._design.pop() if self._design else self._suggest())
        self._pending.append(self._unit(action))
        return action

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Adds an observation, unless its run failed."""
        if not self._told.note(action, reward, info):
            return
        x = self._unit(action)
        at = next((i for i, p in enumerate(self._pending) if np.array_equal(p, x)), None)
        if at is not None:
            del self._pending[at]
        if not lost(info):
            self._x.append(x)
            self._y.append(float(reward))

    def recommend(self) -> Any:
        """Returns the best action told, or the middle of the box before the first."""
        return self._action(np.full(self._d, 0.5)) if self._told.best is None else self._told.best[1]

    def _unit(self, action: Any) -> Floats:
        return (np.asarray(action, dtype=np.float64).ravel() - self._low) / (self._high - self._low)

    def _action(self, x: Floats) -> Any:
        point = (self._low + x * (self._high - self._low)).astype(self._space.dtype).reshape(self._space.shape)
        # Rounding to a shorter float may step over the edge.
        return np.clip(point, self._space.low, self._space.high)

    def _suggest(self) -> Floats:
        from scipy.linalg import cho_factor, cho_solve, solve_triangular

        x, y = np.array(self._x), np.array(self._y)
        if len(y) < 2 or y.std() <= 1e-12 * max(float(np.abs(y).max()), 1e-300):
            return self.rng.random(self._d)
        z = (y - y.mean()) / y.std()
        if self._fit is None or len(y) >= self._fitted_at * (1.0 + self.refit):
            self._fit, self._fitted_at = KernelFit.estimate(self.kernel, x, z, Prior(), self._fit), len(y)
        fit = self._fit
        factor = cho_factor(fit.covariance(x, x) + fit.noise * np.eye(len(z)), lower=True)
        weights = cho_solve(factor, z)
        if self._pending:  # taken for what the model expects of them (kriging believer)
            pending = np.array(self._pending)
            z = np.concatenate([z, fit.covariance(pending, x) @ weights])
            x = np.concatenate([x, pending])
            factor = cho_factor(fit.covariance(x, x) + fit.noise * np.eye(len(z)), lower=True)
            weights = cho_solve(factor, z)

        def acquisition(points: Floats) -> Floats:
            cross = fit.covariance(points, x)
            half = solve_triangular(factor[0], cross.T, lower=True)
            variance = np.maximum(fit.amplitude - np.einsum("ij,ij->j", half, half), 1e-12)
            return expected_improvement(cross @ weights, np.sqrt(variance), float(z.max()))

        best = x[np.argsort(-z)[:5]]
        near = best[self.rng.integers(len(best), size=self.candidates // 2)]
        near = np.clip(near + self.rng.normal(0.0, 0.1, near.shape), 0.0, 1.0)
        points = np.concatenate([self.rng.random((self.candidates, self._d)), near])
        scores = acquisition(points)
        for step in (0.05, 0.02, 0.008, 0.003):
            top = points[np.argsort(-scores)[:4]]
            fresh = np.clip(np.repeat(top, 24, axis=0) + self.rng.normal(0.0, step, (96, self._d)), 0.0, 1.0)
            points = np.concatenate([top, fresh])
            scores = acquisition(points)
        result: Floats = points[int(np.argmax(scores))]
        return result
