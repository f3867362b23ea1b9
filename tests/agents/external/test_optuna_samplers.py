"""Samplers of Optuna as agents."""

import functools
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.benchmarks import run

optuna = pytest.importorskip("optuna", reason="extra optuna is not installed")
optuna.logging.set_verbosity(optuna.logging.WARNING)

IDS = {
    "CushLEPOR-ted-ende-v0": 4,  # a box
    "CharHPO-v0": 4,  # a box of 16 dimensions
    "NMTHPO-v0": 6,  # a grid
    "NMTHPO-zhen-v0": 6,  # rows
    "NMTHPO-zhen-mo-v0": 6,  # two objectives
}
NEEDS = {"GPSampler": "torch", "CmaEsSampler": "cmaes"}


@pytest.mark.filterwarnings("ignore:.*independent:UserWarning")
@pytest.mark.parametrize(
    ("sampler", "env_id"),
    [
        *(("TPESampler", env_id) for env_id in IDS), ("CmaEsSampler", "CharHPO-v0"), ("CmaEsSampler", "NMTHPO-v0"),
        ("GPSampler", "CushLEPOR-ted-ende-v0"), ("GPSampler", "NMTHPO-zhen-v0"), ("NSGAIISampler", "NMTHPO-zhen-mo-v0"),
        ("QMCSampler", "NMTHPO-v0"),
    ],
)  # fmt: skip
def test_any_sampler_of_optuna_is_an_agent(sampler: str, env_id: str) -> None:
    if sampler in NEEDS:
        pytest.importorskip(NEEDS[sampler])
    several = env_id == "NMTHPO-zhen-mo-v0"
    settings = {"n_startup_trials": 2} if sampler in ("GPSampler", "TPESampler", "CmaEsSampler") else {}
    budget = 3 if sampler == "GPSampler" else IDS[env_id]  # a fit takes long
    play = functools.partial(run, "optuna", env_id, budget=budget, sampler=sampler, **settings)
    one, two = play([3, 4])
    (again,) = play([3])
    assert len(one) == budget
    assert np.array_equal(one.actions, again.actions)
    assert not np.array_equal(one.actions, two.actions) or sampler == "QMCSampler"
    assert one.header["hyperparameters"] == {"sampler": sampler, **settings}
    assert one.rewards.shape == ((budget, 2) if several else (budget,))
    if env_id.startswith("NMTHPO-zhen"):
        assert len(set(one.actions.tolist())) == len(one)


def test_a_sampler_of_the_user_is_an_agent() -> None:
    problem = Problem(gym.spaces.MultiDiscrete([4, 4]))
    for own in (
        lambda: optuna.samplers.RandomSampler(seed=5),
        optuna.samplers.RandomSampler(seed=5),
        functools.partial(optuna.samplers.RandomSampler),
        optuna.samplers.RandomSampler,
    ):
        agent, again = (agents.make("optuna", problem, 0, sampler=own) for _ in range(2))
        for _ in range(5):
            asked = agent.ask()
            assert asked in problem.action_space
            assert np.array_equal(asked, again.ask())
            agent.tell(asked, 1.0, {})
            again.tell(asked, 1.0, {})
    made = agents.make("optuna", problem, 0, sampler="NSGAIISampler", population_size=7)
    assert made._study.sampler._population_size == 7


def test_the_default_sampler_is_that_of_the_agent_tpe() -> None:
    for env_id in ("CushLEPOR-ted-ende-v0", "NMTHPO-v0"):
        plain = run("tpe", env_id, [2], budget=14)
        (ours,) = run("optuna", env_id, [2], budget=14)
        assert np.array_equal(plain[0].actions, ours.actions)
        assert np.array_equal(plain[0].recommended, ours.recommended)


@pytest.mark.parametrize(
    ("sampler", "settings"),
    [("BruteForceSampler", {}), ("GridSampler", {"search_space": {"x0": [0, 1, 2], "x1": [0, 1]}})],
)
def test_samplers_that_have_tried_everything_are_done(sampler: str, settings: dict[str, Any]) -> None:
    agent = agents.make("optuna", Problem(gym.spaces.MultiDiscrete([3, 2])), 0, sampler=sampler, **settings)
    seen = []
    while not agent.done:
        seen.append(agent.ask())
        agent.tell(seen[-1], float(seen[-1].sum()), {})
    assert sorted(map(tuple, seen)) == [(i, j) for i in range(3) for j in range(2)]
    assert agent.recommend().tolist() == [2, 1]


def test_errors_name_an_unknown_sampler() -> None:
    problem = Problem(gym.spaces.MultiDiscrete([4, 4]))
    with pytest.raises(ValueError, match="sampler must be one of .*, got 'GPSample', did you mean 'GPSampler'"):
        agents.make("optuna", problem, 0, sampler="GPSample")
    with pytest.raises(ValueError, match="sampler must be a name, a sampler or a factory of samplers, got 3"):
        agents.make("optuna", problem, 0, sampler=3)
    with pytest.raises(ValueError, match="sampler must return an Optuna sampler, got 'tpe'"):
        agents.make("optuna", problem, 0, sampler=lambda: "tpe")
    with pytest.raises(ValueError, match="settings must be set on the sampler itself, got n_startup_trials"):
        agents.make("optuna", problem, 0, sampler=optuna.samplers.TPESampler(), n_startup_trials=3)
    with pytest.raises(ValueError, match="problem must have features or a MultiDiscrete grid"):
        agents.make("optuna", Problem(gym.spaces.Discrete(3)), 0)
