"""Optimisers of live problems: this suite's agents, and other packages in their usual setup."""

import abc
import logging
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs import agents
from hpo_envs.benchmarks.live.problems import Config, LiveProblem
from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user.space import space_of, to_configspace


class Optimiser(abc.ABC):
    """An optimizer of one problem; several suggestions may be pending."""

    @abc.abstractmethod
    def ask(self) -> tuple[Any, Config]:
        """Return a handle and the configuration to evaluate: natural values of the active hyperparameters."""

    @abc.abstractmethod
    def tell(self, handle: Any, score: float, violations: Sequence[float] = ()) -> None:
        """Report the score for a handle, higher is better, and violations of constraints, which hold if at most 0."""


class SuiteOptimiser(Optimiser):
    """An agent of this suite by its registered name, on a box if it supports one, else on candidates."""

    def __init__(self, problem: LiveProblem, seed: int, budget: int, agent: str) -> None:
        actions = "box" if "box" in agents.entry(agent).supports else "candidates"
        given = {"function": _score, "space": problem.search_space, "actions": actions, "budget": budget}
        env: Any = gym.make("FunctionHPO-v0", disable_env_checker=True, **given)
        self._params = env.unwrapped.params
        self._agent = agents.make(agent, agents.Problem(**self._params.problem()), seed)

    def ask(self) -> tuple[Any, Config]:
        """Return the agent's next action and its configuration."""
        action = self._agent.ask()
        return action, self._params.points.config(self._params.stored(action))

    def tell(self, handle: Any, score: float, violations: Sequence[float] = ()) -> None:
        """Report the score to the agent, and the violations if there are any."""
        info = {"cost": 1.0, "metrics": {"score": score}, "status": "ok"}
        self._agent.tell(handle, score, info | ({"violations": np.array(violations)} if violations else {}))


def _score(config: Config) -> float:
    """Placeholder function: this study calls the problem's function itself."""
    raise NotImplementedError


SAMPLERS: dict[str, tuple[str, dict[str, Any]]] = {
    "optuna-tpe": ("TPESampler", {}),
    "optuna-tpe-univariate": ("TPESampler", {"multivariate": False}),
    "optuna-gp": ("GPSampler", {}),
}
"""Samplers of Optuna: class and arguments."""


class Optuna(Optimiser):
    """A sampler of Optuna (key of `SAMPLERS`) in a define-by-run study that begins with the configurations `first`."""

    def __init__(
        self, problem: LiveProblem, seed: int, name: str, first: Iterable[Config] = (), constraints: int = 0
    ) -> None:
        optuna = extra_module("optuna", "optuna", "live studies")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler, given = SAMPLERS[name]
        limits = {"constraints_func": lambda trial: trial.user_attrs["violations"]} if constraints else {}
        made = getattr(optuna.samplers, sampler)(seed=seed, **given, **limits)
        self._study = optuna.create_study(direction="maximize", sampler=made)
        self._space = space_of(problem.search_space)
        for config in first:
            self._study.enqueue_trial(config)

    def ask(self) -> tuple[Any, Config]:
        """Return the next trial and its suggestions for the active hyperparameters."""
        trial = self._study.ask()
        return trial, active_of(self._space, lambda h: suggested(trial, h))

    def tell(self, handle: Any, score: float, violations: Sequence[float] = ()) -> None:
        """Store the violations in a trial and complete it with its score."""
        handle.set_user_attr("violations", [*violations])
        self._study.tell(handle, score)


def suggested(trial: Any, h: Hyperparameter) -> Any:
    """Return the value that a trial of Optuna suggests for a hyperparameter."""
    if h.values:
        return trial.suggest_categorical(h.name, h.values)
    if h.kind == "int":
        return trial.suggest_int(h.name, int(h.low), int(h.high), log=h.log)
    return trial.suggest_float(h.name, h.low, h.high, log=h.log)


class Smac(Optimiser):
    """SMAC3's facade for hyperparameter optimisation."""

    def __init__(self, problem: LiveProblem, seed: int, budget: int) -> None:
        smac = extra_module("smac", "optimizers", "live studies")
        logging.disable(logging.WARNING)
        self._folder = tempfile.TemporaryDirectory()
        space = to_configspace(space_of(problem.search_space))
        scenario = smac.Scenario(space, n_trials=budget, seed=seed, output_directory=self._folder.name)
        facade = smac.HyperparameterOptimizationFacade
        self._facade = facade(scenario, lambda config, seed: 0.0, logging_level=50)

    def ask(self) -> tuple[Any, Config]:
        """Return the next trial and its configuration."""
        trial = self._facade.ask()
        return trial, {k: v.item() if isinstance(v, np.generic) else v for k, v in trial.config.items()}

    def tell(self, handle: Any, score: float, violations: Sequence[float] = ()) -> None:
        """Complete a trial with the negated score as its cost; violations are ignored."""
        from smac.runhistory.dataclasses import TrialValue

        self._facade.tell(handle, TrialValue(cost=-score))


class AxClient(Optimiser):
    """BoTorch through Ax's client, with its default generation strategy.

    Conditions are not passed on, since in Ax a hyperparameter can depend on only one value of a parent; suggestions for
    inactive hyperparameters are ignored.
    """

    def __init__(self, problem: LiveProblem, seed: int, constraints: int = 0) -> None:
        from ax.api import client, configs
        from ax.utils.common.logger import set_ax_logger_levels

        set_ax_logger_levels(logging.ERROR)
        self._space = space_of(problem.search_space)
        self._client = client.Client(random_seed=seed)
        parameters: list[Any] = []
        for h in self._space:
            if h.values:
                kind = {bool: "bool", int: "int", float: "float"}.get(type(h.values[0]), "str")
                parameters.append(configs.ChoiceParameterConfig(h.name, list(h.values), kind, is_ordered=False))
            else:
                kind, scaling = "int" if h.kind == "int" else "float", "log" if h.log else None
                parameters.append(configs.RangeParameterConfig(h.name, (h.low, h.high), kind, scaling=scaling))
        self._client.configure_experiment(parameters)
        limits = [f"limit{k} <= 0" for k in range(constraints)]
        self._client.configure_optimization("score", outcome_constraints=limits or None)

    def ask(self) -> tuple[Any, Config]:
        """Return the number of the next trial and its configuration."""
        ((number, given),) = self._client.get_next_trials(1).items()
        return number, active_of(self._space, lambda h: given[h.name])

    def tell(self, handle: Any, score: float, violations: Sequence[float] = ()) -> None:
        """Complete a trial with its score and violations."""
        limits = {f"limit{k}": float(v) for k, v in enumerate(violations)}
        self._client.complete_trial(handle, {"score": score, **limits})


def active_of(space: Iterable[Hyperparameter], value: Callable[[Hyperparameter], Any]) -> Config:
    """Return the values of the active hyperparameters by name; `value` is called only for these."""
    config: dict[str, Any] = {}
    for h in space:
        if all(config.get(parent) in choices for parent, choices in h.conditions.items()):
            config[h.name] = value(h)
    return config


def make(name: str, problem: LiveProblem, seed: int, budget: int, constraints: int = 0) -> Optimiser:
    """Create an optimizer by name, for a number of evaluations (`budget`) and of constraints.

    Names are registered agents, `optuna-tpe` (multivariate by default since Optuna 5), `optuna-tpe-univariate`,
    `optuna-gp`, `smac3` and `botorch-ax`.
    """
    if name == "smac3":
        return Smac(problem, seed, budget)
    if name == "botorch-ax":
        return AxClient(problem, seed, constraints)
    if name in SAMPLERS:
        return Optuna(problem, seed, name, constraints=constraints)
    return SuiteOptimiser(problem, seed, budget, name)
