"""Ax behind the ask/tell interface. Needs the extra `optimizers`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from hpo_envs.agents.base import lost
from hpo_envs.agents.external.base import ExternalOptimizer
from hpo_envs.agents.external.packages import package
from hpo_envs.agents.problem import Axis, Problem, Space
from hpo_envs.tables.checks import one_of

METHODS = ("fast", "quality", "random_search")
"""Generation strategies of `ax.api.client.Client`."""

ENUMERATED = 1000
"""Size from which Ax gets an integer range as reals, because BoTorch lists all integers of shorter ones."""


class Ax(ExternalOptimizer):
    """Ax's client with its default generation strategy (Olson et al. 2025).

    Formula:
        x* = Sobol points, on boxes and grids after their middle; then the argmax of log expected improvement
        next = x* on boxes and grids; on rows the untried one chosen by `look_up`, attached as a trial in place of x*

    Given:
        space: ranges, log ranges, choices, dependent parameters; integers of a wide range as reals
        initial: Ax's Sobol points, in its default number
        choice: argmax of its acquisition function on the space; on rows looked up
        told: the evaluated row, an attached trial; the suggested one is abandoned
        settings: `initialize_with_center=False` on rows, since the middle is not a row; seeds

    Paper: Miles Olson et al. Ax: A Platform for Adaptive Experimentation. AutoML Conference 2025.

    Complexity: a fit and gradient ascent a suggestion, about a second; O(n d) for the look-up among n rows.

    Example:
        from hpo_envs import run
        runs = run("ax", "CushLEPOR-ted-ende-v0", seeds=range(2), budget=6)
        runs.best()

    Args:
        problem: A box, a grid or rows with features; one objective.
        seed: See `ExternalOptimizer`.
        method: One of `METHODS`; `random_search` has Sobol points in place of the model's.

    Raises:
        ModuleNotFoundError: Ax is not installed.
        ValueError: The method is unknown, or the problem is of another kind.
    """

    quiet = True

    def __init__(self, problem: Problem, seed: int, *, method: str = "fast") -> None:
        client = package("ax.api.client")
        package("ax.utils.common.logger").set_ax_logger_levels(logging.ERROR)  # it reports every trial otherwise
        super().__init__(problem, seed)
        one_of("method", method, METHODS)
        own = int(self.rng.integers(2**31))
        with self._generators.active():
            self._client = client.Client(random_seed=own)
            self._client.configure_experiment(parameters=parameters_of(self.space))
            self._client.configure_optimization(objective="reward")
            self._client.configure_generation_strategy(
                method=method, initialization_random_seed=own, initialize_with_center=self._rows is None
            )

    def suggest(self) -> tuple[Any, Mapping[str, Any]]:
        """Return the index and the configuration of a new trial."""
        ((number, values),) = self._client.get_next_trials(max_trials=1).items()
        return number, {name: _natural(self._axis(name), v) for name, v in values.items()}

    def adopt(self, suggestion: Any, action: Any) -> Any:
        """Return the index of the evaluated action's trial; for a row, a new trial replaces the suggested one."""
        if self._rows is None:
            return suggestion
        self._client.mark_trial_abandoned(suggestion)
        config = {a.name: a.natural(0.5) for a in self.space.axes if len(a.when) > 1 or a.others} | self.config(action)
        return self._client.attach_trial({n: _stored(self._axis(n), v) for n, v in config.items()})

    def learn(self, suggestion: Any, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Complete the trial with the reward, or mark it as failed if the run failed or diverged."""
        if lost(info):
            self._client.mark_trial_failed(suggestion)
        else:
            self._client.complete_trial(suggestion, raw_data={"reward": float(reward)})

    def _axis(self, name: str) -> Axis:
        return self.space.axes[self.space.names.index(name)]


def parameters_of(space: Space) -> list[Any]:
    """Return Ax's parameters of a space: ranges with their scales, choices with order and dependent parameters."""
    configs = package("ax.api.configs")
    made: list[Any] = []
    for j, (name, axis) in enumerate(zip(space.names, space.axes, strict=True)):
        if axis.choices or axis.single:
            choices = axis.choices or (axis.natural(0.0),)
            children = [a for a in space.axes if a.parent == j and len(a.when) == 1 and not a.others]  # Ax has no more
            dependent = {_stored(axis, c): [a.name for a in children if k in a.when] for k, c in enumerate(choices)}
            made.append(configs.ChoiceParameterConfig(
                name=name, values=[_stored(axis, c) for c in choices], parameter_type=_type(axis),
                is_ordered=axis.kind != "categorical", dependent_parameters=dependent if children else None,
            ))  # fmt: skip
        else:
            scale = "log" if axis.log else "linear"
            made.append(configs.RangeParameterConfig(name, (axis.low, axis.high), _type(axis), scaling=scale))
    return made


def _type(axis: Axis) -> str:
    """Return the name of Ax's type of a parameter; mixed choices are `str`, but ints and floats together `float`."""
    if not axis.choices and not axis.single:
        return "int" if axis.whole and axis.high - axis.low < ENUMERATED else "float"
    kinds = " ".join(sorted({type(choice).__name__ for choice in axis.choices or (axis.natural(0.0),)}))
    return {"bool": "bool", "int": "int", "float": "float", "float int": "float"}.get(kinds, "str")


def _stored(axis: Axis, value: Any) -> Any:
    """Return Ax's value for a natural value."""
    return {"bool": bool, "int": int, "float": float, "str": str}[_type(axis)](value)


def _natural(axis: Axis, value: Any) -> Any:
    """Return the natural value for a value of Ax."""
    return round(value) if axis.whole else next((c for c in axis.choices if _stored(axis, c) == value), value)
