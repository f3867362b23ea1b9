"""Optuna's TPE and Gaussian process as agents, with their criteria at every candidate. Needs the extra `optuna`."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from hpo_envs.agents.external.optuna.samplers import AnySampler
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.problem import Problem


class CandidateSampler(AnySampler):
    """Base class of samplers of Optuna that maximise their criterion over all unevaluated candidates.

    Densities, Gaussian process and acquisition functions are Optuna's with its defaults; only the set over which they
    are maximised is replaced. Random candidates come first. Private interfaces of Optuna 5 are used.

    Args:
        problem: Rows with features, or (row, checkpoint) pairs, which are trained to the end.
        seed: Seed of `self.rng` and of the sampler.
        sampler: Name of Optuna's sampler, which is used unchanged on boxes and grids.
        on_rows: `on_rows(agent)` returns a subclass of the sampler for the candidates of an agent.
        **settings: See `AnySampler`; the rest are arguments of the sampler.

    Attributes:
        chosen: The candidate chosen last; 0 at first.
    """

    def __init__(self, problem: Problem, seed: int, *, sampler: Any, on_rows: Any, **settings: Any) -> None:
        def made(seed: int, **given: Any) -> Any:
            return on_rows(self)(seed=seed, **given)

        super().__init__(problem, seed, sampler=made if self.lists(problem) else sampler, **settings)
        self.random_first = settings.get("n_startup_trials", 10)
        self.chosen = 0

    @property
    def free(self) -> Any:
        """(k,) indices of the free candidates, those tried least often, ascending."""
        return np.flatnonzero(self._rows.free)

    def choose(self, row: int) -> dict[str, Any]:
        """Set `chosen`; return Optuna's values, by name, of the active hyperparameters of the candidate."""
        self.chosen = int(row)
        return self.params(self._points[row])

    def row(self, suggestion: Any, point: Any) -> int:
        """Return `chosen`, the candidate of the suggestion."""
        return self.chosen


class TPE(CandidateSampler):
    """Tree-structured Parzen estimator (Bergstra et al. 2011) of Optuna, the sampler of the cushLEPOR paper.

    On boxes and grids it samples as Optuna does. On rows the densities are evaluated at every candidate; those of a
    hyperparameter are fitted and evaluated only where it is active.

    Formula:
        l_j(x), g_j(x) = Parzen densities of hyperparameter j of the good and of the other evaluations
        next = argmax over untried rows of sum over active j of log l_j(x_j) - log g_j(x_j)
        on boxes and grids: argmax of log l(x) - log g(x) among draws from l

    Given:
        space: categories, integers, floats, logarithms, while their condition holds; ordered values by index
        initial: ten random rows; on boxes and grids Optuna's random points
        choice: its densities at every untried row, in place of draws from them
        told: the evaluated row, which is the suggested one
        settings: `constant_liar=True`, for pending evaluations; seed

    Paper: James Bergstra, Remi Bardenet, Yoshua Bengio and Balazs Kegl. Algorithms for Hyper-Parameter
    Optimization. NeurIPS 2011. Implementation: Takuya Akiba et al. Optuna: A Next-generation Hyperparameter
    Optimization Framework. KDD 2019.

    Complexity: O(t d) for the densities of t evaluations in d dimensions, and O(t n d) at n rows; some milliseconds.

    Example:
        from hpo_envs import run
        runs = run("tpe", "NMTHPO-swen-v0", seeds=range(2), budget=15)
        runs.to_frame()  # a row for each evaluation

    Args:
        problem: A box, a grid, rows with features, or (row, checkpoint) pairs, which are trained to the end.
        seed: Seed of the sampler.
        **settings: See `AnySampler`; the rest are arguments of `optuna.samplers.TPESampler`.

    Raises:
        ModuleNotFoundError: Optuna is not installed.
        ValueError: Rows without features, or several objectives.
    """

    several = False

    def __init__(self, problem: Problem, seed: int, **settings: Any) -> None:
        super().__init__(problem, seed, sampler="TPESampler", on_rows=_tpe, **{"constant_liar": True, **settings})


class GP(CandidateSampler):
    """Optuna's Gaussian process on the features, with its criterion evaluated at every candidate (Akiba et al. 2019).

    Formula:
        next = argmax over untried rows of log EI(x), or of log EHVI(x) with several objectives

    Given:
        space: the features in [0, 1]; it has no conditions
        initial: ten random rows
        choice: its acquisition function at every untried row, in place of its local search
        told: the evaluated row, which is the suggested one
        settings: seed

    Paper: Takuya Akiba, Shotaro Sano, Toshihiko Yanase, Takeru Ohta and Masanori Koyama. Optuna: A Next-generation
    Hyperparameter Optimization Framework. KDD 2019.

    Complexity: O(t^3) for a fit to t evaluations, O(t^2 n) for the criterion at n candidates.

    Example:
        from hpo_envs import run
        runs = run("optuna-gp", "NMTHPO-swen-v0", seeds=range(2), budget=12)
        runs.best()

    Args:
        problem: Rows with features, or (row, checkpoint) pairs, which are trained to the end.
        seed: Seed of the sampler.
        **settings: See `AnySampler`; the rest are arguments of `optuna.samplers.GPSampler`.

    Raises:
        ModuleNotFoundError: Optuna, or torch, which its Gaussian process needs, is not installed.
        ValueError: Actions of another kind, or without features.
    """

    def __init__(self, problem: Problem, seed: int, **settings: Any) -> None:
        if problem.features is None:
            raise ValueError(f"problem must have features for this agent, got {problem}")
        flat = dataclasses.replace(problem, axes=(), points=None)  # a hyperparameter that may be inactive is no input
        super().__init__(flat, seed, sampler="GPSampler", on_rows=_gp, **settings)


def _startup(base: Any, agent: CandidateSampler) -> Any:
    """Return a sampler class, derived from `base`, whose first suggestions are random candidates."""

    class Startup(base):  # type: ignore[misc]
        def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
            return {name: axis for name, axis in agent._axes.items() if not axis.single()}

        def sample_relative(self, study: Any, trial: Any, search_space: dict[str, Any]) -> dict[str, Any]:
            finished = study.get_trials(deepcopy=False, states=[package("optuna").trial.TrialState.COMPLETE])
            if len(finished) < self._n_startup_trials:
                return agent.choose(agent.rng.choice(agent.free))
            return agent.choose(self.best(study, trial, search_space))

    return Startup


def _tpe(agent: CandidateSampler) -> Any:
    base = package("optuna").samplers.TPESampler

    class TPE(_startup(base, agent)):  # type: ignore[misc]
        """Sampler that sums the log ratio of densities over the hyperparameters, which TPE treats as independent."""

        def best(self, study: Any, trial: Any, search_space: dict[str, Any]) -> int:
            free = agent.free
            points = agent._points[free]
            active, scores = agent.space.active(points), np.zeros(len(free))
            for j, (name, axis) in enumerate(zip(agent.space.names, agent.space.axes, strict=True)):
                if name in search_space and active[:, j].any():
                    self._column = agent.column(axis, points[active[:, j], j])
                    self._sample(study, trial, {name: search_space[name]})
                    scores[active[:, j]] += self._scores
            return int(free[int(np.argmax(scores))])

        def _build_parzen_estimator(self, study: Any, search_space: Any, trials: Any, handle_below: bool) -> Any:
            made = super()._build_parzen_estimator(study, search_space, trials, handle_below)
            (name,) = search_space
            made.sample = lambda rng, size: {name: self._column}  # TPE draws from the density; these are evaluated
            return made

        def _compute_acquisition_func(self, samples: Any, below: Any, above: Any) -> Any:
            self._scores = super()._compute_acquisition_func(samples, below, above)
            return self._scores

    return TPE


def _gp(agent: CandidateSampler) -> Any:
    base = package("optuna").samplers.GPSampler

    class GP(_startup(base, agent)):  # type: ignore[misc]
        """Sampler that evaluates the acquisition function at the candidates, as points of the unit cube."""

        def best(self, study: Any, trial: Any, search_space: dict[str, Any]) -> int:
            base.sample_relative(self, study, trial, search_space)
            return self._chosen

        def _optimize_acqf(self, acqf: Any, best_params: Any) -> Any:
            points = agent._points[agent.free]
            best = int(np.argmax(acqf.eval_acqf_no_grad(points)))
            self._chosen = int(agent.free[best])
            return points[best]

    return GP
