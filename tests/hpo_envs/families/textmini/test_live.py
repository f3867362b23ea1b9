"""TextMiniLive: requests to the training process, and use of its results."""

from typing import Any

import numpy as np
import pytest

from hpo_envs.families.textmini import live
from hpo_envs.families.training.process import Trainer
from hpo_envs.tables.datasets.textmini import LABELS, build, tasks
from tests.helpers import started

LABEL = next(label for label in LABELS if label.endswith("-joint"))
TASK = LABEL.partition("-")[0]
EPOCH = {"correct": 30, "predicted": 100, "gold": 100, "test_correct": 2, "test_predicted": 9, "test_gold": 9}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []

    def train(self: Trainer, *request: Any) -> dict[str, Any]:
        calls.append(request)
        if request[0]["config"]["lowercase"]:
            return {"failed": True, "epochs": [], "seconds": 0.1}
        return {"epochs": [EPOCH | {"seconds": 0.5, "inference": 0.25}], "parameters": 7, "seconds": 0.9}

    monkeypatch.setattr(Trainer, "train", train)
    monkeypatch.setattr(tasks.TextTask, "parts", lambda self: {})
    return calls


def action(env: Any, lowercase: bool) -> Any:
    names = [h.name for h in env.params.points.space]
    values = np.full(len(names), -0.9, np.float32)
    values[names.index("lowercase")] = 0.9 if lowercase else -0.9
    return values


def test_step_trains_on_whole_resample(asked: list[Any]) -> None:
    env = started(live.TextMiniLiveEnv(TASK, "joint", repeat=1))
    _, reward, _, _, info = env.step(action(env, lowercase=False))
    ((of, fidelity),) = asked
    assert (of["task"], of["model"], of["repeat"], of["fidelity"], fidelity) == (TASK, "joint", 1, 2, 3)
    assert of["config"]["classifier"] == "logistic"
    assert reward == info["metrics"]["score"] == 30.0
    assert set(info["metrics"]) == {m.name for m in build.METRICS} - set(build.HELD_OUT)
    assert info["metrics"]["seconds"] == 0.5


def test_failure_is_worst_reward(asked: list[Any]) -> None:
    env = started(live.TextMiniLiveEnv(TASK, "joint", objective="inference"))
    assert env.step(action(env, lowercase=True))[1] == -1000.0


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"repeat": -1}, "repeat must be"),
        ({"seconds": 0}, "seconds must be"),
        ({"model": "neural"}, "model must be one of joint, crf"),
        ({"task": "bnaking"}, "task must be one of"),
        ({"objective": "test_score"}, "objective must be one of"),
    ],
)
def test_arguments_are_checked(asked: list[Any], wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        live.TextMiniLiveEnv(**{"task": TASK, "model": "joint"} | wrong)
