"""Adapters make the suggestions of the package's own loop, step by step, on the live problems."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("sklearn")

from hpo_envs import agents
from hpo_envs.agents.problem import Problem
from hpo_envs.benchmarks.live.problems import PROBLEMS
from hpo_envs.tables.store import TableNotInstalled

LOOPS: dict[str, tuple[str, dict[str, Any], Callable[[Any, Any, float], None]]] = {
    "tpe": ("optuna", {}, lambda twin, suggestion, score: twin._study.tell(suggestion, score))
}
"""Package, arguments and its own way to take a score, for each agent."""


def test_there_are_sixteen_problems() -> None:
    assert len(PROBLEMS) == 16


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("name", LOOPS)
def test_suggestions_equal_those_of_own_loop(name: str, problem: Any) -> None:
    package, given, tell = LOOPS[name]
    pytest.importorskip(package)
    try:
        space = problem.search_space
    except TableNotInstalled as error:
        pytest.skip(str(error))
    made: Any = gym.make(
        "FunctionHPO-v0", disable_env_checker=True, function=lambda config: 0.0, space=space, actions="box", budget=20
    )
    params = made.unwrapped.params
    agent, twin = (agents.make(name, Problem(**params.problem()), 5, **given) for _ in range(2))
    for _ in range(20):
        with twin._generators.active():  # type: ignore[attr-defined]
            suggestion, config = twin.suggest()  # type: ignore[attr-defined]
        action = agent.ask()
        evaluated = agent.config(action)  # type: ignore[attr-defined]
        own = {n: v.item() if isinstance(v, np.generic) else v for n, v in config.items() if n in evaluated}
        assert evaluated == {n: pytest.approx(v, rel=1e-4) if isinstance(v, float) else v for n, v in own.items()}
        score = -float(np.square(agent.space.point(own) - 0.3).sum())  # type: ignore[attr-defined]
        agent.tell(action, score, {"status": "ok"})
        with twin._generators.active():  # type: ignore[attr-defined]
            tell(twin, suggestion, score)
