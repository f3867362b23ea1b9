"""Adapters make the same suggestions as the package's own loop, step by step, on live problems."""

import datetime
from collections.abc import Callable, Generator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("sklearn")

from hpo_envs import agents
from hpo_envs.agents.problem import Problem
from hpo_envs.benchmarks.live.problems import PROBLEMS
from hpo_envs.tables.store import TableNotInstalled
from tests.helpers import WIDE, missing_extra

Loop = Generator[dict[str, Any], float, None]
"""A package's own loop as a generator: it yields configurations and receives their scores."""


def of_optuna(twin: Any) -> Loop:
    while True:
        trial, config = twin.suggest()  # the define-by-run function
        twin._study.tell(trial, (yield config))


def of_smac(twin: Any) -> Loop:
    from smac.runhistory import TrialValue

    while True:
        trial = twin._smac.ask()
        twin._smac.tell(trial, TrialValue(cost=-(yield dict(trial.config))), save=False)


def of_nevergrad(twin: Any) -> Loop:
    optimizer = twin._optimizer
    while True:
        asked = optimizer.ask()
        nested = [v if isinstance(v, dict) else {n: v} for n, v in asked.value.items()]
        config = {n: v for values in nested for n, v in values.items()}
        optimizer.tell(asked, -(yield config | {n: c[config[n]] for n, c in twin._indexed.items() if n in config}))


def of_syne_tune(twin: Any) -> Loop:
    from syne_tune.backend.trial_status import Trial

    scheduler, number = twin._scheduler, 0
    while True:
        trial = Trial(number, scheduler.suggest().config, datetime.datetime.fromtimestamp(0))
        scheduler.on_trial_add(trial)
        scheduler.on_trial_complete(trial, {"loss": -(yield trial.config)})
        number += 1


SMALLER = ("branin-shifts", "schedule", "charhpo-g2p-dut")
"""Problems with categories, logarithmic scales and conditions, and with ordered values."""

LOOPS: dict[str, tuple[Callable[[Any], Loop], tuple[str, ...]]] = {
    "tpe": (of_optuna, tuple(p.name for p in PROBLEMS) if WIDE else SMALLER),
    "smac": (of_smac, SMALLER),
    "nevergrad": (of_nevergrad, SMALLER),
    "syne-cqr": (of_syne_tune, SMALLER),
}
"""Own loop and problems of each agent; run nightly where the packages are not installed."""


def test_smaller_set_is_part_of_live_problems() -> None:
    assert {*SMALLER} <= {p.name for p in PROBLEMS}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "problem"), [(n, p) for n, (_, problems) in LOOPS.items() for p in problems])
def test_suggestions_equal_those_of_a_loop_without_this_package(name: str, problem: str) -> None:
    if missing_extra(name):
        pytest.skip("package not installed")
    try:
        (space,) = (p.search_space for p in PROBLEMS if p.name == problem)
    except TableNotInstalled as error:
        pytest.skip(str(error))
    made: Any = gym.make(
        "FunctionHPO-v0", disable_env_checker=True, function=lambda config: 0.0, space=space, actions="box", budget=20
    )
    params = made.unwrapped.params
    agent, twin = (agents.make(name, Problem(**params.problem()), 5) for _ in range(2))
    own, score = LOOPS[name][0](twin), None
    for _ in range(20):
        with twin._generators.active():  # type: ignore[attr-defined]
            config = next(own) if score is None else own.send(score)
        action = agent.ask()
        evaluated = agent.config(action)  # type: ignore[attr-defined]
        native = {n: v.item() if isinstance(v, np.generic) else v for n, v in config.items() if n in evaluated}
        assert evaluated == {n: pytest.approx(v, rel=1e-4) if isinstance(v, float) else v for n, v in native.items()}
        score = -float(np.square(agent.space.point(native) - 0.3).sum())  # type: ignore[attr-defined]
        agent.tell(action, score, {"status": "ok"})
