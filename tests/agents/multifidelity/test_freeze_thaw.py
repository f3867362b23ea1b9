"""Freeze-thaw: which row is continued, effects of sources, and meaning of a step."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents.models.source import Source
from hpo_envs.agents.multifidelity.freeze_thaw import spaced
from hpo_envs.benchmarks import problem_of
from tests.agents.multifidelity.helpers import SMOOTH, make, play, smooth

VALUES = -SMOOTH.values[:, 0] - 3.0
SOURCE = Source("a", SMOOTH.features, VALUES[:, -1], SMOOTH.cost[:, 0, -1], (), SMOOTH.levels, VALUES)


def test_the_best_rows_are_trained_and_others_paused() -> None:
    agent, trail = play("freeze-thaw", make(budget=400.0))
    levels = np.full(len(SMOOTH), -1)
    for (row, level), _, _ in trail:
        levels[row] = max(levels[row], level)
    assert levels[:5].max() == 80
    assert levels[50:].mean() < 3
    assert agent.recommend()[0] < 5


def test_a_run_is_observed_at_every_checkpoint() -> None:
    _, trail = play("freeze-thaw", make(budget=200.0))
    reached: dict[int, int] = {}
    for (row, level), _, info in trail:
        assert (level, info["cost"]) == (reached.get(row, -1) + 1, 1.0)
        reached[row] = level


def test_rows_reach_the_last_checkpoint_where_each_step_costs_the_same() -> None:
    _, trail = play("freeze-thaw", make(cost="evaluations", budget=20))
    assert max(level for (_, level), _, _ in trail) == 80


def test_sources_determine_the_first_row() -> None:
    env = make(budget=400.0)
    env.reset(seed=0)
    agent = agents.make("freeze-thaw", replace(problem_of(env), sources=(SOURCE,)), 0)
    assert agent.ask()[0] < 5


def test_the_agent_is_done_once_all_rows_are_trained_or_failed() -> None:
    agent, _ = play("freeze-thaw", make(smooth(rows=5, levels=9), budget=1e9))
    assert agent.done
    agent = agents.make("freeze-thaw", problem_of(make(smooth(rows=3, levels=2))), 0)
    while not agent.done:
        action = agent.ask()
        agent.tell(action, -20.0, {"cost": 1.0, "status": "diverged"})
    assert agent.recommend() is not None


def test_a_row_that_others_trained_to_its_end_is_not_continued() -> None:
    agent = agents.make("freeze-thaw", problem_of(make(smooth(rows=4, levels=9))), 0)
    waiting = []
    while not waiting:
        row, level = agent.ask()
        agent.tell((row, level), -1.0, {"cost": 1.0})
        waiting = agent._waiting  # type: ignore[attr-defined]
    agent.tell((row, 8), -0.5, {"cost": 8.0})
    assert agent.ask()[0] != row


def test_several_workers_train_several_rows() -> None:
    env = make(budget=300.0, workers=4)
    agent, trail = play("freeze-thaw", env)
    assert len({row for (row, _), _, _ in trail[:8]}) >= 4
    assert agent.recommend()[0] < 10


def test_more_rows_than_the_model_takes_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hpo_envs.agents.multifidelity.freeze_thaw.LARGEST", 20)
    agent, trail = play("freeze-thaw", make(budget=100.0))
    assert len({row for (row, _), _, _ in trail}) <= 20
    agent.tell(np.array([99, 3]), 5.0, {"cost": 1.0})
    agent.tell(np.array([98, 3]), 4.0, {"cost": 1.0})
    assert agent.recommend() is not None
    other: Any = agents.make("freeze-thaw", replace(problem_of(make()), sources=(SOURCE,)), 0)
    other.tell((min({*range(len(SMOOTH))} - {*other._place}), 3), 5.0, {"cost": 1.0})
    assert other.ask()[0] in other._place


@pytest.mark.parametrize(
    ("levels", "ratio", "expected"),
    [([1.0], 2.0, [0]), (range(1, 11), 2.0, [0, 1, 3, 7, 9]), ([2.0, 4.0, 400.0], 2.0, [0, 1, 2])],
)
def test_checkpoints_are_geometrically_spaced(levels: Any, ratio: float, expected: list[int]) -> None:
    assert spaced(np.array(levels, float), ratio).tolist() == expected


@pytest.mark.parametrize("ratio", [1.0, 0.5, float("nan")])
def test_ratio_must_be_above_one(ratio: float) -> None:
    with pytest.raises(ValueError, match="ratio must be > 1"):
        agents.make("freeze-thaw", problem_of(make()), 0, ratio=ratio)
