"""Other packages get the native search space: kinds, natural values and conditions."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents.problem import Axis, Problem
from hpo_envs.benchmarks.runs import problem_of
from tests.helpers import missing_extra

IDS = ("CharHPO-g2p-geo-transformer-v0", "CharHPO-v0")
"""A table and a box with the same hyperparameters."""

ACTIVE = {"reduceonplateau": {"factor", "min_lr", "patience"}, "warmupinvsqrt": {"warmup_samples"}, "none": set()}


def played(name: str, env_id: str, steps: int = 14) -> Any:
    """An agent after some steps with rewards computed from its actions."""
    arguments = {"architecture": "transformer"} if env_id == "CharHPO-v0" else {}
    problem = problem_of(gym.make(env_id, disable_env_checker=True, **arguments))
    agent = agents.make(name, problem, 1)
    agent.said = []  # type: ignore[attr-defined]
    for _ in range(steps):
        action = agent.ask()
        agent.said.append(action)  # type: ignore[attr-defined]
        agent.tell(action, float(np.sum(action)), {"status": "ok"})
    return agent


def conditional(config: dict[str, Any]) -> bool:
    return {n for names in ACTIVE.values() for n in names} & config.keys() == ACTIVE[config["scheduler"]]


@pytest.mark.parametrize("env_id", IDS)
def test_tpe_gets_categories_integers_logarithms_and_conditions(env_id: str) -> None:
    pytest.importorskip("optuna")
    agent = played("tpe", env_id)
    kinds = {name: type(d).__name__ for name, d in agent._axes.items()}
    assert (kinds["scheduler"], kinds["batch_size"], kinds["warmup_samples"], kinds["dropout"]) == (
        "CategoricalDistribution", "IntDistribution", "IntDistribution", "FloatDistribution",
    )  # fmt: skip
    assert agent._axes["learning_rate"].log
    trials = agent._study.get_trials()
    assert len({t.params["scheduler"] for t in trials}) == 3
    assert all(conditional(t.params) for t in trials)
    assert len(trials) == 14
    if env_id != "CharHPO-v0":
        for trial, row in zip(trials, agent.said, strict=True):
            config = agent.space.config(agent._points[row])
            assert (trial.params.keys(), trial.params["scheduler"]) == (config.keys(), config["scheduler"])
            assert trial.params["learning_rate"] == pytest.approx(config["learning_rate"])


def test_tpe_learns_the_choice_that_pays() -> None:
    pytest.importorskip("optuna")
    problem = problem_of(gym.make("CharHPO-g2p-geo-transformer-v0", disable_env_checker=True))
    found, share = [], 0.0
    for seed in range(4):
        agent: Any = agents.make("tpe", problem, seed)
        pays = np.array([agent.space.config(p)["scheduler"] == "warmupinvsqrt" for p in agent._points])
        share = float(pays.mean())
        for _ in range(40):
            row = agent.ask()
            found.append(pays[row])
            agent.tell(row, float(pays[row]), {"status": "ok"})
    late = np.array(found).reshape(4, 40)[:, 12:]
    assert late.mean() > 1.5 * share


@pytest.mark.parametrize("env_id", IDS)
def test_smac_gets_categories_ordinals_logarithms_and_conditions(env_id: str) -> None:
    pytest.importorskip("smac")
    agent = played("smac", env_id, 4)
    kinds = {name: type(h).__name__.removesuffix("Hyperparameter") for name, h in agent._space.items()}
    names = ("scheduler", "batch_size", "warmup_samples", "dropout")
    assert [kinds[n] for n in names] == ["Categorical", "Ordinal", "UniformInteger", "UniformFloat"]
    assert agent._space["learning_rate"].log
    assert len(agent._space.conditions) == 4
    configs = [dict(config) for config in agent._smac.runhistory.get_configs()]
    assert len(configs) == 4
    assert all(conditional(config) for config in configs)
    if env_id != "CharHPO-v0":
        for config, row in zip(configs, agent.said, strict=True):
            ours = agent.space.config(agent._points[row])
            assert config == {n: pytest.approx(v) if isinstance(v, float) else v for n, v in ours.items()}


def of_nevergrad(agent: Any) -> dict[str, str]:
    def kinds(parameters: Any) -> dict[str, str]:
        found = {}
        for name, p in parameters.items():
            found[name] = type(p).__name__ + ("Integer" if getattr(p, "integer", False) else "")
            if name == "scheduler":
                for choice in p.choices:
                    inner = kinds({n: v for n, v in choice.items() if n != name})
                    assert inner.keys() == ACTIVE[choice["scheduler"].value]
                    found |= inner
        return found

    return kinds(agent._parameter)


def of_ax(agent: Any) -> dict[str, str]:
    found = {}
    for name, p in agent._client._experiment.search_space.parameters.items():
        ranged = ("Log" if p.log_scale else "") + p.parameter_type.name
        found[name] = ranged if not hasattr(p, "values") else "Ordered" if p.is_ordered else "Choice"
        if name == "scheduler":
            assert {k: set(v) for k, v in p.dependents.items()} == ACTIVE
    return found


def of_syne_tune(agent: Any) -> dict[str, str]:
    space = agent._scheduler.config_space
    scales = {n: type(d.get_sampler()).__name__.strip("_") for n, d in space.items()}
    return {n: type(d).__name__ + scales[n].removeprefix("Uniform") for n, d in space.items()}


NATIVE = {
    "nevergrad": (of_nevergrad, ("Choice", "ScalarInteger", "ScalarInteger", "Scalar", "Log")),  # ten values or more
    "ax": (of_ax, ("Choice", "Ordered", "FLOAT", "FLOAT", "LogFLOAT")),  # integers of a wide range are reals
    "syne-cqr": (of_syne_tune, ("Categorical", "Ordinal", "Integer", "Float", "FloatLogUniform")),
}
"""Native form of a category, ordered values, an integer, a real and a logarithmic number in three more packages."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("name", NATIVE)
def test_other_packages_get_kinds_and_conditions(name: str, env_id: str) -> None:
    if missing_extra(name):
        pytest.skip("package not installed")
    kinds_of, expected = NATIVE[name]
    agent = played(name, env_id, 4)
    names = ("scheduler", "batch_size", "warmup_samples", "dropout", "learning_rate")
    kinds = kinds_of(agent)
    assert (tuple(kinds[n] for n in names), set(kinds)) == (expected, set(agent.space.names))


def test_smac_ends_where_its_space_is_exhausted() -> None:
    pytest.importorskip("smac")
    points = (np.arange(6.0)[:, None] + 0.5) / 6
    axes = (Axis(tuple(points[:, 0]), name="size", choices=(1, 2, 4, 8, 16, 32)),)
    space = gym.spaces.MultiDiscrete([6, 3])
    levels = np.array([1.0, 3.0, 9.0])
    problem = Problem(space, features=points, levels=levels, budget=500.0, unit="s", axes=axes, points=points)
    agent = agents.make("smac-mf", problem, 0)
    told = 0
    while not agent.done and told < 60:
        action = agent.ask()
        agent.tell(action, float(action[0]), {"status": "ok", "cost": 1.0})
        told += 1
    assert agent.done
    assert told >= 6
