"""What is no action, budget or option is refused in both forms of every engine with an error that says so."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

IDS = [
    "NMTHPO-swen-v0",
    "NMTLC-swen-v0",
    "FIESTA-tdsa8-v0",
    "CushLEPOR-ted-ende-v0",
    "CharHPO-v0",
    "NASBenchNLP-cell-v0",
]


@pytest.mark.parametrize("env_id", IDS)
def test_options(env_id: str) -> None:
    for env in (gym.make(env_id), gym.make_vec(env_id, num_envs=2)):
        env.reset(seed=0, options={})
        for options in ({"tabel": "swen"}, {1: 2}):
            with pytest.raises(ValueError, match=r"keys of options must be among .*, got "):
                env.reset(options=options)
        for wrong in ("table", ["table"], 3):
            with pytest.raises(ValueError, match="options must be None or a mapping, got"):
                env.reset(options=wrong)  # type: ignore[arg-type]
        env.close()


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize(
    "budget", [10**400, np.timedelta64(5, "s"), np.ma.masked, np.ma.array([5]), float("inf")], ids=str
)
def test_budgets(env_id: str, budget: Any) -> None:
    with pytest.raises(ValueError, match=r"budget must be None or a .*number > 0"):
        gym.make(env_id, budget=budget)


@pytest.mark.parametrize("env_id", IDS)
def test_actions(env_id: str) -> None:
    for env in (gym.make(env_id).unwrapped, gym.make_vec(env_id, num_envs=2).unwrapped):
        env.reset(seed=0)
        action = np.asarray(env.action_space.sample())
        wrong = [np.ma.array(action, mask=True), np.ma.array(action), action.astype(np.int64).astype("m8[s]")]
        for one in [*wrong, wrong[-1][()]]:
            with pytest.raises(ValueError, match="actions? must be"):
                env.step(one)
        env.step(env.action_space.sample())
