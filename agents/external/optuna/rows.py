"""Optuna's TPE and Gaussian process with their criteria evaluated at every candidate."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpo_envs.agents.external.optuna.samplers import AnySampler
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.models import Floats
from hpo_envs.agents.problem import Problem
from hpo_envs.tables.checks import one_of


class OptunaOnRows(AnySampler):
    """A sampler of Optuna that maximises its criterion over all unevaluated candidates.

    Densities, Gaussian process and acquisition functions are Optuna's with its defaults; only what they are maximised
    over is replaced. Random candidates come first. The interfaces are private ones of Optuna 5.

    Formula:
        TPE: next = argmax of sum over features j of log l_j(x_j) - log g_j(x_j)
        GP: next = argmax of log EI(x), or of log EHVI(x) with several objectives

    Paper: Takuya Akiba, Shotaro Sano, Toshihiko Yanase, Takeru Ohta and Masanori Koyama. Optuna: A Next-generation
    Hyperparameter Optimization Framework. KDD 2019.

    Complexity: O(t n d) for TPE with t observations and n candidates; the GP's fit costs O(t^3) a step.

    Args:
        problem: Rows with features, or (row, checkpoint) pairs, which are trained to the end.
        seed: Of the sampler.
        method: `TPE` or `GP`.
        **settings: See `AnySampler`; the rest are arguments of the sampler.

    Raises:
        ModuleNotFoundError: Optuna is not installed, or torch, which its Gaussian process needs.
        ValueError: No such method; actions of another kind, or without features.
    """

    def __init__(self, problem: Problem, seed: int, *, method: str = "TPE", **settings: Any) -> None:
        if problem.features is None:
            raise ValueError(f"problem must have features for this agent, got {problem}")
        make = {"TPE": _tpe, "GP": _gp}[one_of("method", method, ("TPE", "GP"))]

        def sampler(seed: int, **given: Any) -> Any:
            return make(self)(seed=seed, **given)

        super().__init__(problem, seed, sampler=sampler, **settings)
        self.random_first = settings.get("n_startup_trials", 10)

    def free(self) -> Floats:
        """(k, d) features of the candidates not tried."""
        return np.asarray(self._x[self._rows.free])

    def point(self, row: Floats) -> dict[str, Any]:
        """(d,) features of a candidate as parameters."""
        return dict(zip(self._axes, row.tolist(), strict=True))


def _startup(base: Any, agent: OptunaOnRows) -> Any:
    """A sampler class whose first suggestions are random candidates."""

    class Startup(base):  # type: ignore[misc]
        def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
            return agent._axes

        def sample_relative(self, study: Any, trial: Any, search_space: dict[str, Any]) -> dict[str, Any]:
            finished = study.get_trials(deepcopy=False, states=[package("optuna").trial.TrialState.COMPLETE])
            if len(finished) < self._n_startup_trials:
                return agent.point(agent.rng.choice(agent.free()))
            return dict(self.best(study, trial, search_space))

    return Startup


def _tpe(agent: OptunaOnRows) -> Any:
    class TPE(_startup(package("optuna").samplers.TPESampler, agent)):  # type: ignore[misc]
        """Sums the log ratio of densities over the features, which TPE takes as independent."""

        def best(self, study: Any, trial: Any, search_space: dict[str, Any]) -> dict[str, Any]:
            self._points = agent.free()
            self._scores = np.zeros(len(self._points))
            for name, distribution in search_space.items():
                self._sample(study, trial, {name: distribution})
            return agent.point(self._points[int(np.argmax(self._scores))])

        def _build_parzen_estimator(self, study: Any, search_space: Any, trials: Any, handle_below: bool) -> Any:
            made = super()._build_parzen_estimator(study, search_space, trials, handle_below)
            columns = {name: self._points[:, j] for j, name in enumerate(agent._axes) if name in search_space}
            made.sample = lambda rng, size: columns  # TPE draws from the density; these are evaluated instead
            return made

        def _compute_acquisition_func(self, samples: Any, below: Any, above: Any) -> Any:
            scores = super()._compute_acquisition_func(samples, below, above)
            self._scores += scores
            return scores

    return TPE


def _gp(agent: OptunaOnRows) -> Any:
    base = package("optuna").samplers.GPSampler

    class GP(_startup(base, agent)):  # type: ignore[misc]
        """Evaluates the acquisition function at the candidates, scaled as the sampler scales its parameters."""

        def best(self, study: Any, trial: Any, search_space: dict[str, Any]) -> dict[str, Any]:
            return dict(base.sample_relative(self, study, trial, search_space))

        def _optimize_acqf(self, acqf: Any, best_params: Any) -> Any:
            points = (agent.free() - agent._low) / (agent._high - agent._low)
            return points[int(np.argmax(acqf.eval_acqf_no_grad(points)))]

    return GP
