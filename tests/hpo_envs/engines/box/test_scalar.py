"""The scalar form of an environment on a box, on a function computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from hpo_envs.engines.box.scalar import BoxEnv
from tests.hpo_envs.engines.box.toy import params


def test_an_episode_by_hand() -> None:
    env = BoxEnv(params())
    observation, info = env.reset(options={"hill": 1})
    assert observation.tolist() == [0, 0, -5, 0, -5, 1, 1]
    assert (info["table"], info["kind"], info["hill"]) == ("toy/high", "surrogate", "high")
    observation, reward, terminated, truncated, info = env.step(np.array([0.2, -0.5], np.float32))
    assert (reward, terminated, truncated) == (11.0, False, False)
    assert observation == pytest.approx([0.2, -0.5, 11, 1, 11, 1, 2 / 3])
    assert info == {
        "cost": 1.0,
        "metrics": {"height": 11.0, "loss": 0.0, "duration": 6.0},
        "held_out": {"height": 5.0},
        "config": {"x": 6, "shape": "round"},
        "status": "ok",
        "status_code": 0,
        "clipped": False,
    }
    observation, *_, info = env.step([-1.0, 1.0])
    assert observation == pytest.approx([-1, 1, 5, 1, 11, 1, 1 / 3])
    assert info["config"] == {"x": 0, "shape": "flat"}
    assert env.step([0.0, 0.0])[2]
    with pytest.raises(ResetNeeded):
        env.step([0.0, 0.0])


def test_vector_rewards_are_oriented_and_observations_stay_in_their_bounds() -> None:
    env = BoxEnv(params(objective=("loss", "height"), cost="duration", budget=7.5))
    env.reset(options={"hill": 0})
    observation, reward, terminated, _, info = env.step([1.0, 1.0])
    assert reward.tolist() == [-1.0, 10.0]
    assert info["cost"] == 10.0
    assert terminated
    assert observation.tolist() == [1, 1, -1, 10, 4, -1, 10, 0, 0], "cost beyond its bound, budget spent"


def test_tasks_are_drawn_by_the_seed() -> None:
    env = BoxEnv(params())
    tables = [env.reset(seed=s)[1]["table"] for s in range(30)]
    assert tables == [env.reset(seed=s)[1]["table"] for s in range(30)]
    assert set(tables) == {"toy/low", "toy/high"}
    assert env.table.name == tables[-1]


def test_gymnasium_accepts_it() -> None:
    check_env(BoxEnv(params()), skip_render_check=True)


def test_actions_of_configurations() -> None:
    env = BoxEnv(params())
    env.reset(seed=0)
    assert env.step(env.action_of({"x": 7}))[4]["config"] == {"x": 7, "shape": "flat"}
