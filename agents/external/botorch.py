"""Acquisition functions of BoTorch, evaluated at every candidate. Needs the extra `optimizers`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.agents.base import lost, whole
from hpo_envs.agents.candidates import Candidates, OnCandidates
from hpo_envs.agents.external.packages import Generators, package
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of

ACQUISITIONS = ("LogEI", "qLogNEI", "qLogNEHVI")

CHUNK = 1024
"""Number of candidates in one call of an acquisition function."""


class BoTorch(OnCandidates):
    """Bayesian optimisation with BoTorch's Gaussian process and acquisition functions (Balandat et al. 2020).

    Model, fit and acquisition function are the package's, with its defaults; the acquisition function is evaluated at
    every untried candidate, instead of gradient ascent, so nothing is rounded. Random candidates come first.

    Formula:
        f ~ GP with a Matern or RBF kernel of one length-scale per feature, by maximum a posteriori (SingleTaskGP)
        LogEI(x) = log E max(f(x) - max y, 0)
        qLogNEI(x) = the same over the unknown best of f at the evaluated points, by 128 Sobol samples
        qLogNEHVI(x) = log of the expected gain in hypervolume, likewise
        next = argmax over untried candidates

    Given:
        space: the features in [0, 1]; it models reals
        initial: random candidates (`initial`)
        choice: the acquisition function at every untried candidate, in place of gradient ascent
        told: the evaluated candidate, which is the suggested one
        settings: none

    Paper: Maximilian Balandat et al. BoTorch: A Framework for Efficient Monte-Carlo Bayesian Optimization. NeurIPS
    2020. Sebastian Ament et al. Unexpected Improvements to Expected Improvement for Bayesian Optimization. NeurIPS
    2023. Samuel Daulton, Maximilian Balandat and Eytan Bakshy. Parallel Bayesian Optimization of Multiple Noisy
    Objectives with Expected Hypervolume Improvement. NeurIPS 2021.

    Complexity: O(t^3) a step of the fit with t observations, O(t^2 n) for the scores of n candidates.

    Example:
        from hpo_envs import run
        runs = run("botorch", "NMTHPO-swen-v0", seeds=range(2), budget=6)
        runs.best()

    Args:
        problem: Rows with features, a grid, or (row, checkpoint) pairs, which are trained to the end.
        seed: Seed of `self.rng`, which seeds the generators of torch, NumPy and `random` during `ask`.
        acquisition: `LogEI`, `qLogNEI` (one objective) or `qLogNEHVI` (several). The last two treat pending evaluations
            as pending points, the first ignores them.
        initial: Number of random candidates at the start, at least 2.

    Raises:
        ModuleNotFoundError: BoTorch is not installed.
        ValueError: An unknown acquisition function, one for another number of objectives, `initial` < 2, or candidates
            without features.
    """

    parallel = True

    def __init__(self, problem: Problem, seed: int, *, acquisition: str = "LogEI", initial: int = 3) -> None:
        super().__init__(problem, seed)
        package("botorch")
        self.candidates = Candidates(problem)
        self._x = self.candidates.features
        self.acquisition = one_of("acquisition", acquisition, ACQUISITIONS)
        if (problem.objectives > 1) != (acquisition == "qLogNEHVI"):
            raise ValueError(f"acquisition must suit {problem.objectives} objectives, got {acquisition!r}")
        self.random_first = whole("initial", initial, 2)
        self._learnt: list[tuple[int, Floats]] = []
        self._generators = Generators(int(self.rng.integers(2**31)), quiet=True)  # the fit warns before it is repeated

    def ask(self) -> Any:
        """Return the action of a random candidate, or, after `initial`, of the free one with the highest acquisition.

        Until two runs have succeeded, candidates are random.
        """
        rows = self.candidates
        if rows.times.sum() < self.random_first or len(self._learnt) < 2:
            return rows.submit(rows.draw(self.rng))
        free = np.flatnonzero(rows.free)
        with self._generators.active():
            return rows.submit(int(free[int(np.argmax(self._scores(free)))]))

    def _scores(self, free: Any) -> Floats:
        import torch

        tried = [row for row, _ in self._learnt]
        x, y = (torch.tensor(np.array(v), dtype=torch.double) for v in (self._x[tried], [r for _, r in self._learnt]))
        pending = torch.tensor(self._x[self.candidates.pending], dtype=torch.double)
        acquisition = self._function(_fitted(x, y), x, y, pending if len(pending) else None)
        points = torch.tensor(self._x[free], dtype=torch.double)[:, None, :]
        with torch.no_grad():
            return np.concatenate([acquisition(part).numpy() for part in points.split(CHUNK)])

    def _function(self, model: Any, x: Any, y: Any, pending: Any) -> Any:
        """Return BoTorch's acquisition function for (t, d) features, (t, objectives) rewards and pending features."""
        import torch

        botorch = package("botorch")
        if self.acquisition == "LogEI":
            return botorch.acquisition.LogExpectedImprovement(model, best_f=y.max())
        sampler = botorch.sampling.SobolQMCNormalSampler(torch.Size([128]), seed=int(torch.randint(2**31 - 1, ())))
        given = {"sampler": sampler, "prune_baseline": True, "X_pending": pending}
        if y.shape[1] == 1:
            return botorch.acquisition.qLogNoisyExpectedImprovement(model, x, **given)
        utils, several = package("botorch.utils.multi_objective"), package("botorch.acquisition.multi_objective.logei")
        reference = utils.infer_reference_point(y[utils.is_non_dominated(y)])
        return several.qLogNoisyExpectedHypervolumeImprovement(model, reference, x, **given)

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Record the outcome; the model ignores diverged and failed runs."""
        if self.candidates.note(action, reward, info) and not lost(info):
            self._learnt.append((self.candidates.row(action), np.atleast_1d(np.asarray(reward, dtype=np.float64))))


def _fitted(x: Any, y: Any) -> Any:
    """Return BoTorch's Gaussian process of the standardised rewards, with its default priors, fitted by its routine."""
    botorch, mlls = package("botorch"), package("gpytorch.mlls")
    model = botorch.models.SingleTaskGP(x, y)
    botorch.fit_gpytorch_mll(mlls.ExactMarginalLogLikelihood(model.likelihood, model))
    return model
