"""Environments on a function: results of calls, costs of steps, and trainings that are paused and resumed."""

import functools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks import run
from hpo_envs.core.engines.function.calls import PausableTraining, call, check_signature, form_of, name_of, resolve
from hpo_envs.core.engines.function.threads import ThreadedIterator
from tests.helpers import rejects, started

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


def test_forms_are_told_by_signature() -> None:
    assert [form_of(f, False) for f in (train, epochs, resumed, float)] == ["score", "epochs", "checkpoints", "score"]
    assert resolve(f"{__name__}:train") is train
    assert name_of(train) == "train"
    for wrong in ("math:nothing", "no_such_module:f", 3, "math"):
        rejects("function must be", resolve, wrong)


def test_decorated_generators_and_objects_train_by_epochs() -> None:
    class Trainer:
        def __call__(self, config: dict[str, Any]) -> Iterator[float]:
            yield 1.0

    @functools.wraps(epochs)
    def decorated(config: dict[str, Any]) -> Any:
        return epochs(config)

    assert [form_of(f, True) for f in (Trainer(), decorated, functools.partial(decorated))] == ["epochs"] * 3
    assert (form_of(Trainer(), False), form_of(decorated, False)) == ("epochs", "score")


def test_function_that_takes_no_dict_is_rejected_before_it_is_called() -> None:
    for function in (train, epochs, resumed, float, lambda c, seed=0: 1.0):
        check_signature(function, form_of(function, False))
    for wrong in (lambda lr, layers: 1.0, lambda: 1.0, lambda *, config: 1.0):
        rejects(r"function must take one dict .* train\(config\), got .*<lambda>\(", check_signature, wrong, "score")


@pytest.mark.parametrize(
    "returned, status, metrics",
    [
        (0.5, "ok", {"score": 0.5}), (np.float32(0.5), "ok", {"score": 0.5}), (True, "ok", {"score": 1.0}),
        ({"score": 1, "loss": 2.0, "name": "x", "cost": 7.0}, "ok", {"score": 1.0, "loss": 2.0}),
        ({"score": 1, "loss": float("inf")}, "ok", {"score": 1.0}), (float("nan"), "diverged", {}),
        ({"score": float("-inf"), "loss": 1.0}, "diverged", {"loss": 1.0}), ({"accuracy": 1.0}, "failed", {}),
        (np.ma.masked_all(3).mean(), "failed", {}), ({"score": 1, "m": np.ma.masked}, "ok", {"score": 1.0}),
        (10**400, "failed", {}), (-1e308, "diverged", {}), ({"score": 1.0, "cost": 1e308}, "failed", {}),
        ([10**5000], "failed", {}), ({"score": 1, "cost": 10**400}, "failed", {}),
        *(({"score": 1, "cost": cost}, "failed", {}) for cost in ("12", None, [1], np.datetime64(5, "ns"))),
        *((made(5, "ns"), "failed", {}) for made in (np.timedelta64, np.datetime64)),
        (None, "failed", {}), ("0.5", "failed", {}), ({"score": 1.0, "cost": -1.0}, "failed", {}),
    ],
)  # fmt: skip
def test_return_values_of_functions_are_read(returned: Any, status: str, metrics: dict[str, float]) -> None:
    outcome = call(lambda config: returned, {}, ("score",))
    assert (outcome.status, outcome.metrics) == (status, metrics)
    assert bool(outcome.error) == (status != "ok")
    assert outcome.price == (7.0 if isinstance(returned, dict) and returned.get("cost") == 7.0 else outcome.seconds)


def test_errors_of_functions_are_kept() -> None:
    outcome = call(lambda config: 1 / config["x"], {"x": 0}, ("score",))
    assert outcome.status == "failed"
    assert "ZeroDivisionError" in outcome.error
    assert "Traceback" in outcome.error


def test_several_objectives_need_names() -> None:
    assert call(lambda config: {"score": 1.0}, {}, ("score", "cost")).status == "failed"
    assert call(lambda config: {"a": 1, "b": 2}, {}, ("a", "b")).status == "ok"
    assert call(lambda config: 1.0, {}, ("a", "b")).error.startswith("function must return a mapping with a, b")


def test_function_may_change_its_configuration() -> None:
    given: dict[str, Any] = {"x": 1.0, "layers": [[64], {"size": {32}}]}

    def changed(config: dict[str, Any]) -> float:
        config["layers"][0].append(10)
        config["layers"][1]["size"].add(10)
        return float(config.pop("x"))

    call(changed, given, ("score",))
    PausableTraining(lambda config: iter([changed(config)]), given, ("score",)).until(1)
    assert given == {"x": 1.0, "layers": [[64], {"size": {32}}]}


def test_a_generator_is_paused_and_resumed() -> None:
    training = PausableTraining(epochs, {"x": 10.0}, ("score",))
    assert ([(e, o.metrics["score"]) for e, o in training.until(1)], training.until(1)) == ([(1, 9.0)], [])
    assert [(e, o.metrics["score"]) for e, o in training.until(3)] == [(2, 9.5), (3, 10.0 - 1 / 3)]
    assert training.until(5) == []  # it ended early
    assert training.ended
    assert PausableTraining(epochs, {}, ("score",)).until(2)[0][1].status == "failed"


def test_checkpoints_are_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "0"
    assert PausableTraining(resumed, {}, ("score",), folder).until(2)[0][1].metrics == {"score": 2.0, "before": 0.0}
    ((epoch, outcome),) = PausableTraining(resumed, {}, ("score",), folder).until(5)
    assert (epoch, outcome.metrics) == (5, {"score": 5.0, "before": 1.0})


def test_step_calls_function_once_with_active_hyperparameters() -> None:
    env = started(gym.make("FunctionHPO-v0", function=train, space=SPACE, budget=3))
    row = env.unwrapped.action_of({"x": 3, "opt": "adam"})
    observation, reward, terminated, _, info = env.step(row)
    assert CALLS == [{"x": 3, "opt": "adam"}] == [info["config"]]
    assert (reward, info["cost"], info["spent"], info["status"], info["error"]) == (3.0, 10.0, 1.0, "ok", "")
    assert (info["metrics"], info["action_mask"][row]) == ({"score": 3.0, "loss": -1.0}, 0)
    assert (info["action_mask"].sum(), observation[-1]) == (env.action_space.n - 1, pytest.approx(2 / 3))
    assert not terminated


def test_an_error_of_the_function_is_a_failed_evaluation() -> None:
    env = started(gym.make("FunctionHPO-v0", function=train, space=SPACE, bounds=(0, 5)))
    _, reward, _, _, info = env.step(env.unwrapped.action_of({"x": 4, "opt": "adam"}))
    assert (reward, info["status"], info["metrics"]) == (0.0, "failed", {})
    assert "RuntimeError: out of memory" in info["error"]


def test_episodes_that_began_in_same_step_do_not_wait_for_reset() -> None:
    envs = gym.make_vec("FunctionHPO-v0", num_envs=2, function=train, space=SPACE, budget=1, autoreset_mode="SameStep")
    envs.reset(seed=0)
    row = envs.unwrapped.action_of({"x": 3, "opt": "adam"})
    envs.step(np.array([row, row]))
    envs.reset(options={"reset_mask": np.array([True, False])})
    rewards = envs.step(np.array([row, row]))[1]
    assert (rewards.tolist(), len(CALLS)) == ([3.0, 3.0], 4)


def test_budget_may_be_one_of_cost() -> None:
    env = started(gym.make("FunctionHPO-v0", function=train, space=SPACE, budget=15.0, budget_unit="cost"))
    row = env.unwrapped.action_of({"x": 1, "opt": "adam"})
    assert [env.step(row)[2] for _ in range(2)] == [False, True]


def test_runs_waste_no_call_and_agents_hear_costs_in_unit_of_budget() -> None:
    runs = run("random", "FunctionHPO-v0", [0, 1], budget=5, env_kwargs={"function": train, "space": SPACE})
    assert len(CALLS) == 10
    for r in runs:
        assert (r.costs.tolist(), set(r.evaluated["price"][r.evaluated["status"] == 0])) == ([1.0] * 5, {10.0})
        assert (r.header["cost_unit"], r.header["env_kwargs"]["function"]) == ("evaluations", f"{__name__}:train")


def test_training_pays_new_epochs_only() -> None:
    env = started(gym.make("FunctionLC-v0", function=epochs, space=SPACE, epochs=3))
    row = int(env.unwrapped.action_of({"x": 2, "opt": "adam"})[0])
    first, second, again = (env.step(np.array([row, level])) for level in (0, 2, 1))
    assert (first[1], first[4]["cost"], first[4]["spent"], first[4]["reached"]) == (1.0, 2.0, 1.0, 0)
    assert (second[1], second[4]["cost"], second[4]["spent"]) == (pytest.approx(5 / 3), 4.0, 2.0)
    assert second[4]["best"] == pytest.approx(5 / 3)
    assert (again[1], again[4]["cost"], again[4]["spent"], again[4]["reached"]) == (1.5, 0.0, 0.0, 1)
    assert ([c["epoch"] for c in CALLS], again[4]["action_mask"][row]) == ([1, 2, 3], 0)


def test_generator_that_ends_early_is_truncated() -> None:
    env = started(gym.make("FunctionLC-v0", function=epochs, space=SPACE, epochs=5))
    _, _, _, _, info = env.step(np.array([0, 4]))
    assert (info["status"], info["reached"], info["spent"]) == ("truncated", 2, 3.0)


@pytest.mark.parametrize("seeds", [(0, 0), (0, None)])
def test_checkpoints_lie_in_folder_of_episode_and_configuration(tmp_path: Path, seeds: tuple[Any, ...]) -> None:
    given = {"function": resumed, "space": SPACE, "epochs": 4}
    for folder in (tmp_path, None):
        env = gym.make("FunctionLC-v0", checkpoints=folder, **given)
        for seed in seeds:
            env.reset(seed=seed)
            assert env.step(np.array([5, 0]))[4]["metrics"]["before"] == 0
            assert env.step(np.array([5, 3]))[4]["metrics"]["before"] == 1
    episodes = [sorted(p.name for p in folder.iterdir()) for folder in tmp_path.glob("*/5")]
    assert episodes == [["1", "4"]] * len({*seeds})


@pytest.mark.parametrize("agent", ["asha", "hyperband", "bo", "random"])
def test_agents_work_on_trainings(agent: str) -> None:
    env_kwargs = {"function": epochs, "space": SPACE, "epochs": 3, "budget": 30}
    (r,) = run(agent, "FunctionLC-v0", [0], env_kwargs=env_kwargs)
    assert 30 <= r.costs.sum() < 33
    assert r.rewards.max() > 3.0


def test_iterator_stays_ended_while_its_thread_still_closes_it() -> None:
    closed = threading.Event()

    class Empty:
        def __next__(self) -> Any:
            raise StopIteration

        def close(self) -> None:
            closed.wait()

    values = ThreadedIterator(Empty)
    assert [next(values, None) for _ in range(2)] == [None, None]
    closed.set()
