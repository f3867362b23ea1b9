"""Bayesian optimisation on a box: initial design, duplicates, pending and failed evaluations, constraints, costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents.base import Agent, Incumbent, lost, whole
from hpo_envs.agents.models import Floats
from hpo_envs.agents.models.acquisition import BEST, KernelAxes, expected_hypervolume_improvement, maximise
from hpo_envs.agents.models.gp.box import BoxGP, Feasibility, Slope, cheapness, half_linear, summed
from hpo_envs.agents.models.gp.kernels import KernelFit, is_due
from hpo_envs.agents.models.gp.tasks import Tasks
from hpo_envs.agents.problem import MIDDLE, Axis, Problem, Space

ALWAYS = 150
"""Number of observations up to which the kernel is re-estimated at each suggestion; later, after 10 % more of them."""


class BoxBayesianOptimisation(Agent):
    """Gaussian process with a length-scale per hyperparameter and expected improvement, on a box.

    The first suggestion is the centre of the box, the next ones are scrambled Sobol points. Then a Gaussian process
    with a Matern 5/2 kernel is estimated by maximum a posteriori before each suggestion, later less often. Coordinates
    are those of the evaluated values: integers are rounded, categories are at equal distances, inactive hyperparameters
    are in the middle. Observations below the median are replaced by normal scores (with constraints, by logarithms, see
    `half_linear`), those of failed and diverged runs by the worst. Expected improvement over the best posterior mean is
    maximised from random points and neighbours of the best observations, by moves along all axes and by L-BFGS-B along
    the real ones. No configuration is suggested twice while others are found. Pending evaluations count with their
    expected reward (kriging believer). Observations of sources are further tasks of the process, see `Tasks`, and
    replace the design. With two objectives, each has its own process, and the expected hypervolume improvement is
    maximised. Constraints have processes, too; the improvement over feasible observations is multiplied by the
    probability that all hold, and left out before the first feasible observation.

    Formula:
        theta = argmax p(z | X, theta) p(theta)     length-scales, amplitude, noise; z: half-ranked rewards
        next = argmax log E[max(f(x) - b, 0)],      b = max over observed x_i of the posterior mean

    Paper: Donald R. Jones, Matthias Schonlau and William J. Welch. Efficient Global Optimization of Expensive
    Black-Box Functions. Journal of Global Optimization 13:455-492, 1998. Logarithm: Sebastian Ament et al. Unexpected
    Improvements to Expected Improvement for Bayesian Optimization. NeurIPS 2023. Snapped integers and categories:
    Eduardo C. Garrido-Merchan and Daniel Hernandez-Lobato. Dealing with Categorical and Integer-valued Variables in
    Bayesian Optimization with Gaussian Processes. Neurocomputing 380:20-35, 2020. Constraints: Jacob R. Gardner et al.
    Bayesian Optimization with Inequality Constraints. ICML 2014.

    Complexity: O(t^3) an iteration of the estimate, O(t^2) for each of some 2,000 points, after t observations.

    Example:
        from hpo_envs import run
        runs = run("box-bo", "CushLEPOR-ted-ende-v0", seeds=range(2), budget=8, initial=5)
        runs[0].recommended  # six weights in [-1, 1]

    Args:
        problem: A bounded `Box` problem with one or two objectives; `problem.axes` describes its coordinates.
        initial: Number of suggestions before the first model, at least 2; default: hyperparameters + 1, at most 10.
        per_cost: Divide the improvement by the predicted cost (Snoek et al. 2012), in `problem.unit`.

    Raises:
        ValueError: The space is of another kind, there are more than two objectives, or a setting is not valid.
    """

    parallel = True
    constrained = True

    def __init__(self, problem: Problem, seed: int, *, initial: int | None = None, per_cost: bool = False) -> None:
        super().__init__(problem, seed)
        box = problem.action_space
        if not isinstance(box, gym.spaces.Box) or not box.is_bounded() or problem.levels is not None:
            raise ValueError(f"action_space must be a bounded Box without levels for this agent, got {box}")
        if problem.objectives > 2:
            raise ValueError(f"objectives must be 1 or 2 for this agent, got {problem.objectives}")
        if per_cost and problem.unit == "evaluations":
            raise ValueError("per_cost must be False for a budget of evaluations, got True")
        self._box, self._per_cost = box, per_cost
        self._low, self._high = (a.ravel().astype(np.float64) for a in (box.low, box.high))
        self._space = BoxSpace(problem.axes or (Axis(),) * len(self._low))
        count = min(len(self._space) + 1, 10) if initial is None else whole("initial", initial, 2)
        self._design, self._first_model = self._first(count), count
        self._x: list[Floats] = []
        self._y: list[Floats | None] = []
        self._costs: list[float] = []
        self._violations: list[Floats | None] = []
        self._constraint_fits: list[KernelFit] = []
        self._pending: list[Floats] = []
        self._incumbent = Incumbent(problem.objectives)
        self._fits: list[KernelFit | None] = [None] * problem.objectives
        known = [s for s in problem.sources if s.features.shape[1] == len(self._space) and len(s.rewards) > 1]
        known = [s for s in known if s.rewards.shape[1] == problem.objectives]
        self._tasks = [Tasks(self._space, known, j) for j in range(problem.objectives)] if known else []
        self._fitted_at = 0

    def _first(self, count: int) -> list[Floats]:
        """Return `count` snapped points, the centre and scrambled Sobol points, in the reverse order of suggestion."""
        from scipy.stats import qmc

        d = len(self._space)
        sobol = qmc.Sobol(d, scramble=True, rng=self.rng).random_base2(max(count - 1, 1).bit_length())[: count - 1]
        return [*self._space.snap(np.concatenate([np.full((1, d), 0.5), sobol]))[::-1]]

    def ask(self) -> Any:
        """Return the action of the next design point, or else of a new point; it is pending until it is reported."""
        designed = self._design and not self._tasks and len(self._x) + len(self._pending) < self._first_model
        action = self._action(self._unseen([self._design.pop()] if designed else self._suggest()))
        self._pending.append(self._point(action))
        return action

    def pend(self, action: Any) -> None:
        """Record a pending action, which another process evaluates."""
        self._pending.append(self._point(action))

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Add an observation with its cost and violations; failed and diverged evaluations count as the worst one."""
        violations = None if lost(info) else info.get("violations")
        infeasible = violations is not None and bool((np.asarray(violations) > 0.0).any())
        if not self._incumbent.note(action, reward, {**info, "status": "failed"} if infeasible else info):
            return
        x = self._point(action)
        if (at := next((i for i, p in enumerate(self._pending) if np.array_equal(p, x)), None)) is not None:
            del self._pending[at]
        self._x.append(x)
        self._costs.append(float(info.get("cost", 0.0)))
        self._violations.append(None if violations is None else np.array(violations, dtype=np.float64))
        self._y.append(None if lost(info) else np.atleast_1d(np.asarray(reward, dtype=np.float64)))

    def recommend(self) -> Any:
        """Return the best evaluated action, a feasible one if any is; before any evaluation, the centre of the box."""
        if self._incumbent.best is not None:
            return self._incumbent.best[1]
        return self._action(self._space.snap(np.full((1, len(self._space)), 0.5))[0])

    def _point(self, action: Any) -> Floats:
        """Return the (d,) coordinates of an action in the unit cube, snapped."""
        unit = (np.asarray(action, dtype=np.float64).ravel() - self._low) / (self._high - self._low)
        return np.asarray(self._space.snap(unit[None])[0])

    def _action(self, x: Floats) -> Any:
        point = (self._low + x * (self._high - self._low)).astype(self._box.dtype).reshape(self._box.shape)
        # A value that is rounded to a shorter float may be out of bounds.
        return np.clip(point, self._box.low, self._box.high)

    def _unseen(self, points: list[Floats] | Floats) -> Floats:
        """Return the first of the points, or else of 256 random ones, that is neither evaluated nor pending.

        If there is none, return the first of the points.
        """
        seen = {p.tobytes() for p in (*self._x, *self._pending)}
        fresh = self._space.snap(self.rng.random((256, len(self._space))))
        return next((p for p in (*points, *fresh) if p.tobytes() not in seen), np.asarray(points[0]))

    def _suggest(self) -> Floats:
        """Return (n, d) points, those of largest acquisition first, see `maximise`.

        Before two runs (with sources, one) have succeeded, return one random point.
        """
        known = [y for y in self._y if y is not None]
        if len(known) < (1 if self._tasks else 2):
            return self._space.snap(self.rng.random((1, len(self._space))))
        worst = np.min(known, axis=0)
        x, y = np.array(self._x), np.array([worst if y is None else y for y in self._y])
        total, factors = np.zeros(len(x)), list[Slope]()
        if limited := [i for i, v in enumerate(self._violations) if v is not None]:
            violations = np.array([self._violations[i] for i in limited])
            total[:] = np.inf
            total[limited] = np.maximum(violations, 0.0).sum(axis=1)
        z = np.stack([half_linear(column, total == 0.0 if limited else None) for column in y.T])
        data = self._data(x, z)
        if len(x) <= ALWAYS or is_due(len(x), self._fitted_at, 0.1):
            each = zip(self._spaces, data, self._fits, strict=True)
            self._fits = [BoxGP.estimate(space, *observed, fit) for space, observed, fit in each]
            self._fitted_at = len(x)
        models = self._models(x, data)
        if self._pending:
            pending = np.array(self._pending)
            expected = np.stack([model.mean(pending) for model in models])
            x, z = np.concatenate([x, pending]), np.concatenate([z, expected], axis=1)
            total = np.append(total, np.full(len(pending), np.inf if limited else 0.0))
            models = self._models(x, self._data(x, z))
        if limited:
            feasibility = Feasibility(self._space, x[limited], violations, self._constraint_fits)
            self._constraint_fits = feasibility.fits
            factors.append(feasibility.log_slope)
        if self._per_cost and np.ptp(costs := np.log(np.maximum(self._costs, 1e-9))) > 0.0:
            factors.append(cheapness(self._space, x[: len(costs)], costs))
        best = x[np.lexsort((-z.sum(axis=0), total))[:BEST]]
        feasible = total == 0.0
        if feasible.any() and len(models) == 2:
            return maximise(self._space, _gain(models, z, z[:, feasible], factors), None, best, self.rng)
        if feasible.any():
            if not factors:
                return maximise(self._space, models[0].log_ei, models[0].log_ei_slope, best, self.rng)
            models[0].best = float(models[0].mean(x[feasible]).max())
            factors.insert(0, models[0].log_ei_slope)
        slope = summed(factors)
        return maximise(self._space, lambda p: slope(p)[0], slope, best, self.rng)

    @property
    def _spaces(self) -> Sequence[KernelAxes]:
        """Axes of the model of each objective; with sources, they include the task as a further axis."""
        return self._tasks or [self._space] * len(self._fits)

    def _data(self, x: Floats, z: Floats) -> list[tuple[Floats, Floats]]:
        """Return (points, observations) for the model of each objective, including those of sources."""
        if self._tasks:
            return [tasks.joined(x, column) for tasks, column in zip(self._tasks, z, strict=True)]
        return [(x, column) for column in z]

    def _models(self, x: Floats, data: list[tuple[Floats, Floats]]) -> list[BoxGP]:
        models = []
        for space, observed, fit in zip(self._spaces, data, self._fits, strict=True):
            assert fit is not None
            models.append(BoxGP(space, *observed, fit))
            if self._tasks:
                models[-1].best = float(models[-1].mean(x).max())
        return models


def _gain(models: list[BoxGP], z: Floats, observed: Floats, factors: list[Slope]) -> Callable[[Floats], Floats]:
    """Return a function of (n, d) points: expected hypervolume improvement times exp(the sum of `factors`).

    It is the improvement over (2, k) `observed` values; the reference point follows from the (2, t) values `z`.
    """
    reference = -z.min(axis=1) + 0.1 * np.ptp(z, axis=1)

    def gain(points: Floats) -> Floats:
        mean, deviation = np.stack([model.predict(points) for model in models], axis=1)
        weight: Floats = np.exp(np.sum([factor(points)[0] for factor in factors], axis=0))
        return expected_hypervolume_improvement(-mean, deviation, -observed.T, reference) * weight

    return gain


class BoxSpace(Space):
    """The search space of a box, and the inputs of a kernel on it.

    Attributes:
        real: (r,) indices of the continuous axes.
        groups: (c,) index of the axis of each column of `inputs`; a categorical axis has one column per value.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        super().__init__(axes)
        self.real = np.array([j for j, a in enumerate(axes) if not a.values], np.intp)
        widths = [len(a.values) if a.categorical else 1 for a in axes]
        self.groups = np.repeat(np.arange(len(axes)), widths)

    def snap(self, x: Floats) -> Floats:
        """Return the (n, d) configurations nearest to points: clipped to [0, 1], with inactive axes at `MIDDLE`."""
        snapped = np.clip(x, 0.0, 1.0)
        for j, grid in enumerate(self._grids):
            if len(grid):
                snapped[:, j] = grid[self.values(snapped, j)]
        return np.where(self.active(snapped), snapped, MIDDLE)

    def inputs(self, x: Floats) -> Floats:
        """Return the (n, c) inputs of a kernel at (n, d) snapped points.

        Two categories are at distance 1, and an inactive axis is at the same distance from all categories.
        """
        columns, active = [], self.active(x)
        for j, axis in enumerate(self.axes):
            if axis.categorical:
                one_hot = self.values(x, j)[:, None] == np.arange(len(axis.values))
                columns.append(np.where(active[:, j, None], one_hot, 0.0) / np.sqrt(2.0))
            else:
                columns.append(x[:, j, None])
        return np.concatenate(columns, axis=1)

    def neighbours(self, x: Floats, rng: np.random.Generator, spread: Floats | float) -> Floats:
        """Return (n, d) neighbours of snapped points: one or more active axes are moved, or redrawn if categorical.

        An axis changes with probability 1/4, or 2/d if that is more, and one changes in any case. `spread`, (n, 1) or a
        number, is the standard deviation of a change along an ordered axis.
        """
        n, d = x.shape
        active = self.active(x)
        changed = (rng.random((n, d)) < max(0.25, min(1.0, 2.0 / d))) & active
        one = np.where(active, rng.random((n, d)), -1.0).argmax(axis=1)
        changed[np.arange(n), one] = True
        moved = x + rng.normal(0.0, spread, (n, d))
        for j, (axis, grid) in enumerate(zip(self.axes, self._grids, strict=True)):
            if axis.categorical:
                moved[:, j] = grid[rng.integers(len(grid), size=n)]
            elif len(grid):
                step = np.rint((moved[:, j] - x[:, j]) * (len(grid) - 1)).astype(np.intp)
                step = np.where(step == 0, rng.choice([-1, 1], n), step)
                moved[:, j] = grid[np.clip(self.values(x, j) + step, 0, len(grid) - 1)]
        return self.snap(np.where(changed, moved, x))
