"""Optimizers of other packages: their random generators, and their valid suggestions."""

import json
import random
import re
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.external.base import ExternalOptimizer
from hpo_envs.agents.external.packages import Generators, _too_old, package
from hpo_envs.agents.registry import install
from hpo_envs.benchmarks.runs import run
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import Entrant, Environment, Study


def test_agents_draw_from_their_own_states_and_leave_global_ones_alone() -> None:
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002

    def draws(own: Generators) -> tuple[float, float]:
        with own.active():
            return random.random(), float(np.random.random())  # noqa: NPY002

    one, same, other = Generators(3), Generators(3), Generators(4)
    first = draws(one)
    assert draws(other) != first
    second = draws(one)
    assert second != first
    assert [draws(same), draws(same)] == [first, second]
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]  # noqa: NPY002


def test_what_is_not_installed_or_too_old_says_which_extra_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert package("json") is json
    with pytest.raises(ModuleNotFoundError, match=r'^agents of nowhere need nowhere: pip .*\[nowhere\]"$'):
        package("nowhere.inside")
    assert [install(n) for n in ("ax", "optuna")] == [f'pip install "hpo_envs[{e}]"' for e in ("optimizers", "optuna")]
    monkeypatch.setattr(metadata, "requires", lambda name: ["numpy>=1", 'smac>=2.4; extra == "optimizers"'])
    monkeypatch.setattr(metadata, "version", lambda name: "2.3.9rc1")
    monkeypatch.setattr("hpo_envs.agents.external.packages._too_old", _too_old.__wrapped__)  # without the cache
    monkeypatch.setitem(sys.modules, "smac", json)
    with pytest.raises(ModuleNotFoundError, match=r"^agents of smac need smac>=2.4, got 2.3.9rc1: pip install \S+$"):
        package("smac")
    assert install("dehb").startswith("pip install --no-deps dehb")


X = np.array([[0.0, 0.2, 0.5], [0.5, 0.2, 0.5], [1.0, 0.2, 1.0], [0.5, 0.2, 0.6]])
OK, FAILED = {"status": "ok"}, {"status": "failed"}


class Scripted(ExternalOptimizer):
    """Suggests given configurations one after the other, and records the results."""

    def __init__(self, problem: Problem, configs: list[dict[str, Any]]) -> None:
        super().__init__(problem, 0)
        self.configs, self.heard, self.adopted = list(enumerate(configs)), [], []  # type: ignore[var-annotated]

    def suggest(self) -> tuple[Any, Any]:
        return self.configs.pop(0)

    def adopt(self, suggestion: Any, action: Any) -> Any:
        self.adopted.append(self.config(action))
        return suggestion

    def learn(self, suggestion: Any, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        self.heard.append((suggestion, reward, info["status"]))


def test_rows_that_stand_for_suggestions_are_fresh_and_told() -> None:
    """A constant feature is no dimension; the box has the others."""
    agent = Scripted(Problem(gym.spaces.Discrete(4), features=X), [{"x0": 0.5, "x1": 0.5}, {"x0": 0.5, "x1": 0.6}] * 2)
    assert len(agent.space) == 2
    asked = [agent.ask() for _ in range(3)]
    assert asked[:2] == [1, 3]  # rows that equal the suggestions
    assert asked[2] in (0, 2)
    assert agent.adopted[:2] == [{"x0": 0.5, "x1": 0.5}, {"x0": 0.5, "x1": pytest.approx(0.6)}]
    for row, reward, info in ((3, 0.4, OK), (asked[2], 9.0, FAILED), (2 - asked[2], 0.1, OK), (1, 0.7, OK)):
        agent.tell(row, reward, info)
    assert agent.heard == [(1, 0.4, "ok"), (2, 9.0, "failed"), (0, 0.7, "ok")]  # one row was not asked for
    assert agent.recommend() == 1


def test_pairs_are_trained_to_the_end() -> None:
    space = gym.spaces.MultiDiscrete([4, 3])
    agent = Scripted(Problem(space, features=X, levels=np.array([1.0, 2.0, 4.0])), [{"x0": 1.0, "x1": 1.0}])
    assert agent.ask().tolist() == [2, 2]


def test_boxes_are_scaled_and_grids_listed() -> None:
    box = Scripted(Problem(gym.spaces.Box(-1.0, 3.0, (2,))), [{"x0": -1.0, "x1": 2.0}])
    assert (box.ask().tolist(), box.adopted) == ([-1.0, 2.0], [{"x0": -1.0, "x1": 2.0}])
    grid = Scripted(Problem(gym.spaces.MultiDiscrete([4, 2])), [{"x0": 1, "x1": 1}])
    assert (grid.ask().tolist(), grid.adopted) == ([1, 1], [{"x0": 1, "x1": 1}])
    assert grid.recommend() in grid.problem.action_space


@pytest.mark.parametrize(
    ("space", "config", "rule"),
    [
        (gym.spaces.Box(-1.0, 3.0, (2,)), {"x0": 3.5, "x1": 0.0}, r"x0 must be in \[-1, 3\], got 3.5"),
        (gym.spaces.MultiDiscrete([4, 2]), {"x0": 0, "x1": 2}, "x1 must be one of 0, 1, got 2"),
    ],
)
def test_a_suggestion_outside_of_the_space_names_package_rule_and_value(
    space: gym.Space[Any], config: dict[str, Any], rule: str
) -> None:
    with pytest.raises(ValueError, match=rf"^\S+ suggested a configuration outside the space: {rule}$"):
        Scripted(Problem(space), [config]).ask()


def test_problems_of_other_kinds_are_rejected() -> None:
    with pytest.raises(ValueError, match="objectives must be 1 for this agent, got 2"):
        Scripted(Problem(gym.spaces.Discrete(4), features=X, objectives=2), [])
    with pytest.raises(ValueError, match="must be a Box, MultiDiscrete, Discrete for this agent, got Dict"):
        Scripted(Problem(gym.spaces.Dict({"a": gym.spaces.Discrete(2)})), [])


@pytest.mark.parametrize(
    "agent, given, needed, extra",
    [
        ("syne-bohb", {}, "statsmodels", "syne_tune"),
        ("syne-cqr", {}, "xgboost", "syne_tune"),
        ("syne-cqr", {"scheduler": "TPE"}, "statsmodels", "syne_tune"),
        ("syne-asha", {"scheduler": "ASHACQR"}, "xgboost", "syne_tune"),
        ("optuna", {"sampler": "GPSampler"}, "torch", "live"),
        ("optuna", {"sampler": "CmaEsSampler"}, "cmaes", "optuna"),
    ],
)
def test_one_line_says_what_else_a_package_needs(
    agent: str, given: dict[str, Any], needed: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = agents.entry(agent).extra
    assert package is not None
    pytest.importorskip(package)
    monkeypatch.setitem(sys.modules, needed, None)
    line = rf'agents with \w+ need {needed}: pip install "hpo_envs\[{extra}\]"'
    with pytest.raises(ModuleNotFoundError, match=f"^{line}$"):
        run(agent, "NMTLC-zhen-v0", [0], budget=3, **given)
    study = Study((Environment("NMTLC-zhen-v0"),), (Entrant("mine", agent, given),), (0,))
    (said,) = conduct(study, tmp_path).errors.values()
    assert re.fullmatch(line, said)
