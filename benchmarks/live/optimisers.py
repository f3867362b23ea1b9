"""Optimizers of live problems: this suite's agents, and other packages in their usual setup."""

import logging
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs import agents
from hpo_envs.benchmarks.live.problems import Config, LiveProblem
from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.table import Hyperparameter
from hpo_envs.tables.user.space import space_of, to_configspace


@dataclass(frozen=True)
class Optimiser:
    """An optimizer of one problem, as two functions; several suggestions may be pending.

    `ask()` returns a handle and the configuration to evaluate: natural values of the active hyperparameters.
    `tell(handle, score, violations=())` reports its score, higher is better, and how far constraints are violated; at
    most 0 means that a constraint holds.
    """

    ask: Callable[[], tuple[Any, Config]]
    tell: Callable[..., None]


def of_suite(problem: LiveProblem, seed: int, budget: int, agent: str) -> Optimiser:
    """Return an agent of this suite by its registered name, on a box if it supports one, else on candidates."""
    actions = "box" if "box" in agents.entry(agent).supports else "candidates"
    given = {"function": problem.function, "space": problem.search_space, "actions": actions, "budget": budget}
    env: Any = gym.make("FunctionHPO-v0", disable_env_checker=True, **given)
    params = env.unwrapped.params
    chosen = agents.make(agent, agents.Problem(**params.problem()), seed)

    def ask() -> tuple[Any, Config]:
        action = chosen.ask()
        return action, params.points.config(params.stored(action))

    def tell(action: Any, score: float, violations: Sequence[float] = ()) -> None:
        info = {"cost": 1.0, "metrics": {"score": score}, "status": "ok"}
        chosen.tell(action, score, info | ({"violations": np.array(violations)} if violations else {}))

    return Optimiser(ask, tell)


SAMPLERS: dict[str, tuple[str, dict[str, Any]]] = {
    "optuna-tpe": ("TPESampler", {}),
    "optuna-tpe-univariate": ("TPESampler", {"multivariate": False}),
    "optuna-gp": ("GPSampler", {}),
}
"""Samplers of Optuna: class and arguments."""


def of_optuna(
    problem: LiveProblem, seed: int, name: str, first: Iterable[Config] = (), constraints: int = 0
) -> Optimiser:
    """Return a sampler of Optuna (key of `SAMPLERS`) in a define-by-run study that begins with configurations, `first`.

    `constraints` is the number of violations that `tell` gets.
    """
    optuna = extra_module("optuna", "optuna", "live studies")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler, given = SAMPLERS[name]
    limits = {"constraints_func": lambda trial: trial.user_attrs["violations"]} if constraints else {}
    made = getattr(optuna.samplers, sampler)(seed=seed, **given, **limits)
    study, space = optuna.create_study(direction="maximize", sampler=made), space_of(problem.search_space)
    for config in first:
        study.enqueue_trial(config)

    def ask() -> tuple[Any, Config]:
        trial = study.ask()
        return trial, active_of(space, lambda h: suggested(trial, h))

    def tell(trial: Any, score: float, violations: Sequence[float] = ()) -> None:
        trial.set_user_attr("violations", [*violations])
        study.tell(trial, score)

    return Optimiser(ask, tell)


def suggested(trial: Any, h: Hyperparameter) -> Any:
    """Return the value that a trial of Optuna suggests for a hyperparameter."""
    if h.values:
        return trial.suggest_categorical(h.name, h.values)
    if h.kind == "int":
        return trial.suggest_int(h.name, int(h.low), int(h.high), log=h.log)
    return trial.suggest_float(h.name, h.low, h.high, log=h.log)


def of_smac(problem: LiveProblem, seed: int, budget: int) -> Optimiser:
    """Return SMAC3's facade for hyperparameter optimisation, which ignores violations; silence its warnings."""
    smac = extra_module("smac", "optimizers", "live studies")
    from smac.runhistory.dataclasses import TrialValue

    logging.getLogger("smac").setLevel(logging.ERROR)
    folder = tempfile.TemporaryDirectory()
    space = to_configspace(space_of(problem.search_space))
    scenario = smac.Scenario(space, n_trials=budget, seed=seed, output_directory=folder.name)
    facade = smac.HyperparameterOptimizationFacade(scenario, lambda config, seed: 0.0, logging_level=False)
    facade.folder = folder  # kept as long as the facade

    def ask() -> tuple[Any, Config]:
        trial = facade.ask()
        return trial, {k: v.item() if isinstance(v, np.generic) else v for k, v in trial.config.items()}

    def tell(trial: Any, score: float, violations: Sequence[float] = ()) -> None:
        facade.tell(trial, TrialValue(cost=-score))

    return Optimiser(ask, tell)


def of_ax(problem: LiveProblem, seed: int, constraints: int = 0) -> Optimiser:
    """Return BoTorch through Ax's client, with its default generation strategy.

    Conditions are not passed on, since in Ax a hyperparameter can depend on only one value of a parent; suggestions for
    inactive hyperparameters are ignored. `constraints` is the number of violations that `tell` gets.
    """
    from ax.api import client, configs
    from ax.utils.common.logger import set_ax_logger_levels

    set_ax_logger_levels(logging.ERROR)
    space, search = space_of(problem.search_space), client.Client(random_seed=seed)
    parameters: list[Any] = []
    for h in space:
        if h.values:
            kind = {bool: "bool", int: "int", float: "float"}.get(type(h.values[0]), "str")
            parameters.append(configs.ChoiceParameterConfig(h.name, list(h.values), kind, is_ordered=False))
        else:
            kind, scaling = "int" if h.kind == "int" else "float", "log" if h.log else None
            parameters.append(configs.RangeParameterConfig(h.name, (h.low, h.high), kind, scaling=scaling))
    search.configure_experiment(parameters)
    limits = [f"limit{k} <= 0" for k in range(constraints)]
    search.configure_optimization("score", outcome_constraints=limits or None)

    def ask() -> tuple[Any, Config]:
        ((number, given),) = search.get_next_trials(1).items()
        return number, active_of(space, lambda h: given[h.name])

    def tell(number: Any, score: float, violations: Sequence[float] = ()) -> None:
        search.complete_trial(number, {"score": score, **{f"limit{k}": float(v) for k, v in enumerate(violations)}})

    return Optimiser(ask, tell)


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
        return of_smac(problem, seed, budget)
    if name == "botorch-ax":
        return of_ax(problem, seed, constraints)
    if name in SAMPLERS:
        return of_optuna(problem, seed, name, constraints=constraints)
    return of_suite(problem, seed, budget, name)
