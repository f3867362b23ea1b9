"""CellMiniLive: requests to the training process, and use of its results."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch")

from hpo_envs.families.cellmini import live
from hpo_envs.families.training.process import Trainer
from hpo_envs.tables import cells, store
from hpo_envs.tables.cells.grammar import END, actions_of
from hpo_envs.tables.datasets.cellmini import build, cost
from tests.helpers import started

CELL = cells.EXAMPLES["GRU"]
KEY = cells.key(CELL)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Requests to the process; it returns falling losses, diverges with seed 7, and exceeds its time with seed 8."""
    calls: list[dict[str, Any]] = []

    def train(self: Trainer, of: dict[str, Any], epochs: int) -> dict[str, Any]:
        calls.append({**of, "epochs": epochs})
        if of["seed"] == 8:
            raise TimeoutError("a training must end within 1 s, got no result")
        made = [{"development": 3.0 / e, "loss": 4.0 / e, "test": 5.0 / e} for e in range(1, epochs + 1)]
        if of["seed"] == 7:
            return {"diverged": True, "epochs": made[:2], "seconds": 1.5}
        return {**made[-1], "epochs": made, "parameters": 7, "seconds": 2.5}

    monkeypatch.setattr(Trainer, "train", train)
    return calls


def complete(env: Any, cell: Any = CELL) -> Any:
    for action in actions_of(cell):
        result = env.step(action)
    return result


def test_complete_cell_is_trained_and_said_what_table_would_say(asked: list[Any]) -> None:
    env = started(gym.make("CellMiniLive-v0", seed=1, budget=2))
    *_, first = env.step(actions_of(CELL)[0])
    assert (first["cost"], first["spent"], first["finished"], asked) == (0.0, 0.0, False, [])
    env.reset(seed=0)
    observation, reward, terminated, _, info = complete(env)
    assert asked == [{"cell": KEY, "seed": 1, "epochs": 15}]
    assert reward == -info["metrics"]["validation_loss"] == -3.0 / 15
    assert set(info["metrics"]) == {m.name for m in build.METRICS} - set(build.HELD_OUT) | {"seconds"}
    assert (info["held_out"]["test_loss"], info["curve"].tolist()) == (5.0 / 15, [3.0 / e for e in range(1, 16)])
    assert info["cost"] == pytest.approx(15 * cost.epoch(cells.canonical(CELL)))
    assert (info["spent"], info["status"], info["source"], info["key"]) == (1.0, "ok", "measured", KEY)
    assert (observation[-1], terminated) == (0.5, False)


@pytest.mark.parametrize(
    ("seed", "status", "curve", "error"),
    [(7, "diverged", [3.0, 1.5, 50.0], ""), (8, "failed", [50.0] * 3, "a training must end within 1 s, got no result")],
)
def test_trainings_without_result_have_worst_reward_and_cost(
    asked: list[Any], seed: int, status: str, curve: list[float], error: str
) -> None:
    env = started(gym.make("CellMiniLive-v0", seed=seed))
    _, reward, _, _, info = complete(env)
    assert (info["status"], reward, info["error"], info["curve"][:3].tolist()) == (status, -50.0, error, curve)
    assert info["cost"] > 0
    assert info["spent"] == 1.0


def test_illegal_move_is_no_training(asked: list[Any]) -> None:
    env = started(gym.make("CellMiniLive-v0"))
    _, reward, _, _, info = env.step(np.array([END, 5, 0, 0]))
    assert (reward, info["status"], info["cost"], info["spent"], asked) == (-50.0, "failed", 0.0, 1.0, [])
    assert info["error"].startswith("hidden")


def test_batched_form_says_same(asked: list[Any]) -> None:
    env = started(gym.make("CellMiniLive-v0", seed=8))
    envs: Any = gym.make_vec("CellMiniLive-v0", 2, seed=8)
    envs.reset(seed=[0, 1])
    for action in actions_of(CELL):
        *_, one = env.step(action)
        *_, both = envs.step(np.stack([action, action]))
    for name in ("cost", "spent", "error", "status", "finished"):
        assert both[name][1] == one[name], name
    assert both["metrics"]["seconds"][0] == one["metrics"]["seconds"]


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"epochs": 0}, {"seconds": 0}])
def test_arguments_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        live.CellMiniLiveEnv(**wrong)


def test_one_epoch_of_row_trained_again_is_what_table_has() -> None:
    table = store.load(build.TABLE)
    row = int(np.nanargmin(table.cost[:, 0, 0]))
    env = started(gym.make("CellMiniLive-v0", epochs=1))
    *_, info = complete(env, cells.Cell.from_text(table.keys[row]))
    stored = table.values[row, 0, 0]
    for name in ("validation_loss", "train_loss", "parameters"):
        assert info["metrics"][name] == pytest.approx(stored[table.metric(name)], abs=1.5e-6)
    assert info["held_out"]["test_loss"] == pytest.approx(stored[table.metric("test_loss")], abs=1.5e-6)
