"""Bayesian optimisation on candidates: kernels and their refits, posterior draws, pools of many candidates."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hpo_envs.agents.base import positive
from hpo_envs.agents.candidates import AFFORDABLE, CandidatePool
from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.gp import kernels
from hpo_envs.agents.models.gp.conditioning import FiniteGP, root
from hpo_envs.agents.models.gp.kernels import KernelFit, KernelPrior, is_due
from hpo_envs.agents.problem import Problem
from hpo_envs.agents.search.posterior_search import PosteriorSearch
from hpo_envs.tables.checks import one_of

DRAWN, LEARNED = 500, 300
"""Largest number of free candidates in a posterior draw if there are more than `kernels.LARGEST_SHARED` candidates, and
of observations from which a kernel is estimated if there are more than `AFFORDABLE`."""


class BayesianOptimisation(PosteriorSearch):
    """Gaussian-process Bayesian optimisation (Zhang and Duh 2020, section 5.1).

    With `fit=False` the kernel is fixed and by default nothing is normalised: features in [0, 1], length-scale 1,
    amplitude 1, noise 1e-4, prior mean 0 (footnote 11), raw rewards. The paper does not state these values; they are
    the ones that reproduce its Table 3. With `fit=True` (registered as `bo`) rewards are standardised and
    length-scales, amplitude and noise are estimated by maximum a posteriori, one length-scale per feature.

    Formula:
        k(x, x') = a (1 + z + z^2 / 3) exp(-z), z = sqrt(5) |x - x'| / l    (matern52)
        k(x, x') = a exp(-|x - x'|^2 / (2 l^2))                             (rbf)
        m(x) = k(x, X) (K + s^2 I)^-1 y
        v(x) = k(x, x) - k(x, X) (K + s^2 I)^-1 k(X, x)
        EI(x) = (m - b) Phi(u) + sqrt(v) phi(u), u = (m - b) / sqrt(v), b = max y
        UCB(x) = m + sqrt(beta v); Thompson: the largest value of one draw of N(m, V)
        EHVI(x) = E[HV(Y and y(x)) - HV(Y)], exact for two objectives

    Paper: Xuan Zhang and Kevin Duh. Reproducible and Efficient Benchmarks for Hyperparameter Optimization of Neural
    Machine Translation Systems. Transactions of the ACL 8:393-408, 2020, section 5.1, equations 1 to 3, and section
    5.4. EHVI: Michael Emmerich, Andre Deutz and Jan Willem Klinkenberg. Hypervolume-based expected improvement:
    Monotonicity properties and exact computation. CEC 2011.

    Complexity: O(t n) a suggestion with a fixed kernel, t observations and n candidates; a refit costs O(t^2 (t +
    n)) and happens after each observation at first, then whenever t has grown by `refit`. Of more than 20,000
    candidates only those observed and some 2,000 others are scored, redrawn at each refit (see `CandidatePool`), and a
    kernel is estimated from at most 300 observations.

    Example:
        from hpo_envs import run
        runs = run("bo", "NMTHPO-swen-v0", seeds=range(2), budget=10, acquisition="ucb")
        runs.best()  # the best configuration of both seeds

    Args:
        problem: Rows or (row, checkpoint) pairs with features, or a grid; with one or two objectives.
        kernel: `matern52` or `rbf`.
        length_scale: Length-scale of all features; with `fit`, the median of its prior.
        amplitude: Prior variance of the fixed kernel.
        noise: Observation variance of the fixed kernel.
        standardise: Shift and scale each objective's observations to mean 0 and standard deviation 1; None: as `fit`.
        fit: Estimate the kernel from the observations.
        spread: Standard deviation of the log-normal prior of each length-scale.
        refit: Relative growth in observations after which the kernel is re-estimated.
        **common: See `PosteriorSearch`.

    Raises:
        ValueError: A setting is not valid, or the problem is not supported.
    """

    def __init__(
        self, problem: Problem, seed: int, *, kernel: str = "matern52", length_scale: float = 1.0,
        amplitude: float = 1.0, noise: float = 1e-4, standardise: bool | None = None, fit: bool = False,
        spread: float = 1.0, refit: float = 0.1, **common: Any,
    ) -> None:  # fmt: skip
        super().__init__(problem, seed, **common)
        self.kernel = one_of("kernel", kernel, kernels.KERNELS)
        self.length_scale = positive("length_scale", length_scale)
        self.amplitude = positive("amplitude", amplitude)
        self.noise = positive("noise", noise)
        self.standardise = bool(fit if standardise is None else standardise)
        self.refit = positive("refit", refit)
        self.fit = bool(fit)
        self._prior = KernelPrior(self.length_scale, positive("spread", spread))
        fixed = KernelFit(kernel, np.full(self.features.shape[1], self.length_scale), self.amplitude, self.noise)
        self._fits: list[KernelFit | None] = [None if fit else fixed] * problem.objectives
        self._roots: dict[int, Floats] = {}
        self._fitted_at = 0
        self._scaled: tuple[int, tuple[Floats, Floats]] = -1, super()._units()
        self._pool = CandidatePool(self.features) if len(self.features) > AFFORDABLE else None
        self._gps: list[FiniteGP] = []
        if not (fit or self._pool):
            rows, variance = self.candidates.gram_rows(kernel, self.length_scale), self.amplitude
            variances = np.full(len(self.features), variance)
            self._gps.append(FiniteGP(lambda k: variance * rows(k), variances, self.noise, problem.objectives))

    @property
    def _models(self) -> list[FiniteGP]:
        return self._gps

    @classmethod
    def prepare(cls, agents: Sequence[BayesianOptimisation]) -> None:
        """Refit those posteriors that are due after the initial design, with all kernels estimated in one batch."""
        cls._renew([agent for agent in agents if agent._due() and not agent._in_design()])

    def _observe(self, row: int, rewards: Floats) -> None:
        if self.scored is not None and row not in self.scored:
            self._fitted_at = 0  # not suggested: the next posterior is of another pool
            return
        if self._due() and not self.pretended:
            return  # the next posterior is recomputed
        place = int(self._places(np.array(row)))
        for j, gp in enumerate(self._gps):
            gp.observe(place, rewards[j : j + 1] if self.fit else rewards)

    def _units(self) -> tuple[Floats, Floats]:
        if not self.standardise:
            return super()._units()
        count = len(self.rewards) - self.pretended
        if self._scaled[0] != count:
            observed = np.array(self.rewards[:count])
            scale = observed.std(axis=0)
            # The round-off of the mean of equal observations is no scale.
            flat = scale <= 1e-12 * np.maximum(np.abs(observed).max(axis=0), 1e-300)
            self._scaled = count, (observed.mean(axis=0), np.where(flat, 1.0, scale))
        return self._scaled[1]

    def _posterior(self) -> tuple[Floats, Floats, Floats]:
        if not self.pretended and (self._due() or (self.scored is not None and not self.free[self.scored].any())):
            self._renew([self])
        shift, scale = self._units()
        observed = (np.array(self.rewards) - shift) / scale
        outputs = [(gp, mean) for gp in self._gps for mean in gp.means[1:]]
        means = [(mean - shift[j] * gp.means[0]) / scale[j] for j, (gp, mean) in enumerate(outputs)]
        return np.array(means), np.array([np.sqrt(gp.variances) for gp, _ in outputs]), observed

    def _draw(self) -> Floats:
        self._posterior()
        prior_draw = self._prior_draw()
        shift, scale = self._units()
        values = (np.array(self.rewards)[:, 0] - shift[0]) / scale[0]
        return self._gps[0].sample(prior_draw, self._places(np.array(self.rows)).tolist(), values, self.rng)

    def _prior_draw(self) -> Floats:
        n = len(self.features) if self.scored is None else len(self.scored)
        if n > kernels.LARGEST_SHARED or self.scored is not None:
            # The root of all would be n^2 numbers for each agent: only the observed and some others are drawn.
            free = np.flatnonzero(self.free if self.scored is None else self.free[self.scored])
            seen = self._places(np.array(self.rows))
            some = np.union1d(seen, self.rng.choice(free, min(DRAWN, len(free)), replace=False))
            draw = np.full(n, -np.inf)
            factor = self._root(some if self.scored is None else self.scored[some])
            draw[some] = factor @ self.rng.standard_normal(len(some))
            return draw
        if 0 not in self._roots:
            self._roots[0] = self._root(None)
        return self._roots[0] @ self.rng.standard_normal(n)

    def _root(self, rows: Indices | None) -> Floats:
        """Return the Cholesky factor of the first objective's prior covariance of some candidates (None: of all)."""
        x, fit = self.features if rows is None else self.features[rows], self._fits[0]
        if fit is not None and (self.fit or rows is not None):
            return root(fit.covariance(x, x))
        if self.problem.index is None:
            return _fixed_root(self.kernel, x.tobytes(), x.shape, self.length_scale, self.amplitude)
        matrix, index = self.candidates.base_gram(self.kernel, self.length_scale)
        return root(self.amplitude * (matrix if index is None else matrix[np.ix_(index, index)]))

    def _due(self) -> bool:
        """Return whether the posterior has to be refitted with the new observations."""
        return (self.fit or self._pool is not None) and is_due(len(self.rows), self._fitted_at, self.refit)

    @staticmethod
    def _renew(agents: Sequence[BayesianOptimisation]) -> None:
        """Draw new pools, fit the kernel of each objective if `fit` is set, and recompute the posteriors."""
        for agent in agents:
            agent._draw_pool()
        if agents and agents[0].fit:  # the same in all agents of a run
            given = [data for agent in agents for data in agent._estimates()]
            fits = iter(KernelFit.estimate_each(agents[0].kernel, given, agents[0]._prior))
            for agent in agents:
                agent._fits = [next(fits) for _ in agent._fits]
        for agent in agents:
            agent._condition()

    def _draw_pool(self) -> None:
        if self._pool is None:
            return
        pool = self._pool.draw(self.rows, np.array(self.rewards).sum(axis=1), self.free, self.rng)
        self.scored = np.unique(np.concatenate([pool, self.rows, self.candidates.pending])).astype(np.intp)
        self._gps = []  # frees memory for the new ones

    def _estimates(self) -> Iterator[tuple[Floats, Floats, KernelFit | None]]:
        """Yield, for each objective, (t, d) features, (t,) rewards in the model's units and the last estimate."""
        shift, scale = self._units()
        observed = (np.array(self.rewards) - shift) / scale
        for j in range(self.problem.objectives):
            rows, y = np.array(self.rows, dtype=np.intp), observed[:, j]
            if self._pool is not None and len(rows) > LEARNED:
                some = np.sort(self.rng.choice(len(rows), LEARNED, replace=False))
                rows, y = rows[some], y[some]
            yield self.features[rows], y, self._fits[j]

    def _condition(self) -> None:
        """Compute the posteriors under the current kernels."""
        rows, observed = np.array(self.rows, dtype=np.intp), np.array(self.rewards)
        # A fixed kernel has one process for all objectives.
        columns = np.split(observed, observed.shape[1], axis=1) if self.fit else [observed]
        self._gps = [self._gp_of(fit, rows, values) for fit, values in zip(self._fits, columns, strict=False) if fit]
        self._roots.clear()
        self._fitted_at = len(rows)

    def _gp_of(self, fit: KernelFit, rows: Indices, values: Floats) -> FiniteGP:
        x, places = self.features if self.scored is None else self.features[self.scored], self._places(rows)
        variances = np.full(len(x), fit.amplitude)
        gp = FiniteGP(lambda k: fit.covariance(x[k : k + 1], x)[0], variances, fit.noise, values.shape[1])
        cross = fit.covariance(x[places], x)
        factor = np.asarray(np.linalg.cholesky(cross[:, places] + fit.noise * np.eye(len(rows))), np.float64)
        gp.load(places, cross, factor, values)
        return gp


@functools.lru_cache(maxsize=4)
def _fixed_root(kernel: str, content: bytes, shape: tuple[int, int], length_scale: float, amplitude: float) -> Floats:
    """Return the Cholesky factor of a fixed prior covariance; all agents on the same candidates share it."""
    features = np.frombuffer(content).reshape(shape)
    matrix = root(amplitude * kernels.gram(kernel, features, length_scale))
    matrix.setflags(write=False)
    return matrix
