"""What a step on a function does: calls it once, pays, keeps what went wrong; trainings are paused and gone on with."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks import run

CALLS: list[dict[str, Any]] = []
SPACE = {"x": [1, 2, 3, 4], "opt": ["sgd", "adam"], "momentum": {"low": 0.0, "high": 1.0, "if": {"opt": ["sgd"]}}}


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def train(config: dict[str, Any]) -> dict[str, float]:
    CALLS.append(dict(config))
    if config["x"] == 4:
        raise RuntimeError("out of memory")
    return {"score": float(config["x"]), "cost": 10.0, "loss": -1.0}


def epochs(config: dict[str, Any]) -> Iterator[dict[str, float]]:
    for epoch in (1, 2, 3):
        CALLS.append({**config, "epoch": epoch})
        yield {"score": config["x"] - 1.0 / epoch, "cost": 2.0}


def resumed(config: dict[str, Any], resume_from: Path, epochs: int) -> dict[str, float]:
    before = sorted(p.name for p in resume_from.iterdir())
    (resume_from / str(epochs)).touch()
    return {"score": float(epochs), "before": len(before), "cost": 1.0}


def test_step_calls_function_once_with_active_hyperparameters() -> None:
    env: Any = gym.make("FunctionHPO-v0", function=train, space=SPACE, budget=3)
    env.reset(seed=0)
    row = env.unwrapped.action_of({"x": 3, "opt": "adam"})
    observation, reward, terminated, _, info = env.step(row)
    assert CALLS == [{"x": 3, "opt": "adam"}] == [info["config"]]
    assert (reward, info["cost"], info["spent"], info["status"], info["error"]) == (3.0, 10.0, 1.0, "ok", "")
    assert info["metrics"] == {"score": 3.0, "loss": -1.0}
    assert info["action_mask"][row] == 0
    assert info["action_mask"].sum() == env.action_space.n - 1
    assert observation[-1] == pytest.approx(2 / 3)
    assert not terminated


def test_what_it_raises_is_failed_evaluation() -> None:
    env: Any = gym.make("FunctionHPO-v0", function=train, space=SPACE, bounds=(0, 5))
    env.reset(seed=0)
    _, reward, _, _, info = env.step(env.unwrapped.action_of({"x": 4, "opt": "adam"}))
    assert (reward, info["status"], info["metrics"]) == (0.0, "failed", {})
    assert "RuntimeError: out of memory" in info["error"]


def test_episodes_that_began_in_same_step_do_not_wait_for_reset() -> None:
    envs: Any = gym.make_vec(
        "FunctionHPO-v0", num_envs=2, function=train, space=SPACE, budget=1, autoreset_mode="SameStep"
    )
    envs.reset(seed=0)
    row = envs.unwrapped.action_of({"x": 3, "opt": "adam"})
    envs.step(np.array([row, row]))
    envs.reset(options={"reset_mask": np.array([True, False])})
    rewards = envs.step(np.array([row, row]))[1]
    assert rewards.tolist() == [3.0, 3.0]
    assert len(CALLS) == 4


def test_budget_may_be_one_of_cost() -> None:
    env: Any = gym.make("FunctionHPO-v0", function=train, space=SPACE, budget=15.0, budget_unit="cost")
    env.reset(seed=0)
    row = env.unwrapped.action_of({"x": 1, "opt": "adam"})
    assert [env.step(row)[2] for _ in range(2)] == [False, True]


def test_runs_waste_no_call_and_agents_hear_costs_in_unit_of_budget() -> None:
    runs = run("random", "FunctionHPO-v0", [0, 1], budget=5, env_kwargs={"function": train, "space": SPACE})
    assert len(CALLS) == 10
    for r in runs:
        assert r.costs.tolist() == [1.0] * 5
        assert set(r.evaluated["price"][r.evaluated["status"] == 0]) == {10.0}
        assert r.header["cost_unit"] == "evaluations"
        assert r.header["env_kwargs"]["function"] == f"{__name__}:train"


def test_training_pays_new_epochs_only() -> None:
    env: Any = gym.make("FunctionLC-v0", function=epochs, space=SPACE, epochs=3)
    env.reset(seed=0)
    row = int(env.unwrapped.action_of({"x": 2, "opt": "adam"})[0])
    first, second, again = (env.step(np.array([row, level])) for level in (0, 2, 1))
    assert (first[1], first[4]["cost"], first[4]["spent"], first[4]["reached"]) == (1.0, 2.0, 1.0, 0)
    assert (second[1], second[4]["cost"], second[4]["spent"]) == (pytest.approx(5 / 3), 4.0, 2.0)
    assert second[4]["best"] == pytest.approx(5 / 3)
    assert (again[1], again[4]["cost"], again[4]["spent"], again[4]["reached"]) == (1.5, 0.0, 0.0, 1)
    assert [c["epoch"] for c in CALLS] == [1, 2, 3]
    assert again[4]["action_mask"][row] == 0


def test_generator_that_ends_early_is_truncated() -> None:
    env: Any = gym.make("FunctionLC-v0", function=epochs, space=SPACE, epochs=5)
    env.reset(seed=0)
    _, _, _, _, info = env.step(np.array([0, 4]))
    assert (info["status"], info["reached"], info["spent"]) == ("truncated", 2, 3.0)


def test_checkpoints_lie_in_folder_of_each_configuration(tmp_path: Path) -> None:
    given = {"function": resumed, "space": SPACE, "epochs": 4}
    env: Any = gym.make("FunctionLC-v0", checkpoints=tmp_path, **given)
    env.reset(seed=0)
    assert env.step(np.array([5, 0]))[4]["metrics"]["before"] == 0
    assert env.step(np.array([5, 3]))[4]["metrics"]["before"] == 1
    assert sorted(p.name for p in (tmp_path / "5").iterdir()) == ["1", "4"]
    # Without a folder each episode has one of its own.
    env = gym.make("FunctionLC-v0", **given)
    for _ in range(2):
        env.reset(seed=0)
        assert env.step(np.array([5, 0]))[4]["metrics"]["before"] == 0


@pytest.mark.parametrize("agent", ["asha", "hyperband", "bo", "random"])
def test_agents_work_on_trainings(agent: str) -> None:
    env_kwargs = {"function": epochs, "space": SPACE, "epochs": 3, "budget": 30}
    (r,) = run(agent, "FunctionLC-v0", [0], env_kwargs=env_kwargs)
    assert 30 <= r.costs.sum() < 33
    assert r.rewards.max() > 3.0
