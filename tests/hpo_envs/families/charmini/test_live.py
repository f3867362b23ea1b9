"""CharMiniLive: requests to the training process, and use of its results."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch")

from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import Study, from_data
from hpo_envs.families.charmini import live
from hpo_envs.families.training.process import Trainer
from hpo_envs.tables.datasets.charmini import build, cost
from tests.helpers import started

ANSWER = {"correct": 150, "errors": 400, "nll": 1.5, "loss": 2.0, "test_correct": 1, "test_errors": 9}
ANSWER |= {"parameters": 1000, "seconds": 3.0}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []

    def train(self: Trainer, *request: Any) -> dict[str, Any]:
        calls.append(request)
        if request[0]["config"]["dropout"] > 0.45:
            return {"diverged": True}
        return {**ANSWER, "correct": 10 * request[1]}

    monkeypatch.setattr(Trainer, "train", train)
    return calls


def test_step_trains_and_says_what_table_would(asked: list[Any]) -> None:
    env = started(gym.make("CharMiniLive-eng-lstm-v0", seed=2))
    _, reward, _, _, info = env.step(np.zeros(16, np.float32))
    ((of, epochs, folder),) = asked
    config = of["config"]
    assert (of["architecture"], of["seed"], epochs, folder) == ("lstm", 2, 20, None)
    assert reward == info["metrics"]["accuracy"] == 40.0
    assert set(info["metrics"]) == {m.name for m in build.METRICS} - set(build.HELD_OUT) | {"seconds"}
    assert info["cost"] == pytest.approx(20 * cost.epoch("lstm", config))
    assert (config["scheduler"], env.action_space.shape) == ("reduceonplateau", (16,))


def test_divergence_is_status_and_worst_reward(asked: list[Any]) -> None:
    env = started(gym.make("CharMiniLive-eng-transformer-v0", objective="phoneme_error_rate"))
    _, reward, _, _, info = env.step(np.ones(16, np.float32))
    assert (info["status"], reward) == ("diverged", -200.0)
    assert info["cost"] > 0


def test_epochs_go_on_from_checkpoint_and_pay_what_is_new(asked: list[Any], tmp_path: Path) -> None:
    env = started(gym.make("CharMiniLiveLC-eng-lstm-v0", candidates=8, checkpoints=tmp_path))
    infos = [env.step(np.array([1, epoch]))[-1] for epoch in (1, 4, 0)]
    assert [request[1] for request in asked] == [2, 5]
    assert asked[0][2] == asked[1][2] != None  # noqa: E711
    each = cost.epoch("lstm", asked[0][0]["config"])
    assert [info["cost"] for info in infos] == pytest.approx([2 * each, 3 * each, 0.0])
    assert infos[1]["metrics"]["accuracy"] == 10.0


def test_study_runs_and_is_rejected_where_its_trainings_take_more_than_agreed(asked: list[Any], tmp_path: Path) -> None:
    def study(seeds: int) -> Study:
        live = {"id": "CharMiniLive-eng-lstm-v0", "budget": 3}
        return from_data({"environments": [live], "agents": ["random", "tpe"], "seeds": seeds})

    each = 3 * 20 * cost.mean("lstm")
    outcome = conduct(study(1), tmp_path, most=2.5 * each)
    assert (outcome.made, outcome.errors, len(asked)) == (2, {}, 6)
    with pytest.raises(ValueError, match=r"trainings of a study must take .* \(--yes\), got about .* h of one core"):
        conduct(study(3), tmp_path, most=3.5 * each)  # of the six runs, two are there
    assert conduct(study(3), tmp_path, most=4.5 * each).made == 4


def test_what_episode_is_expected_to_take(asked: list[Any]) -> None:
    each = cost.mean("lstm")
    kinds = {"evaluations": 20 * each * 7, "epochs": 7 * each, "cost": 7.0}
    made = {unit: live.CharMiniLiveLCEnv(budget=7, budget_unit=unit).params.expected for unit in kinds}
    assert made == pytest.approx(kinds)


WRONG = [{"seed": -1}, {"epochs": 0}, {"seconds": 0}, {"objective": "seconds"}, {"architecture": "gru"}]


@pytest.mark.parametrize("wrong", WRONG)
def test_arguments_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        live.CharMiniLiveEnv(**wrong)
