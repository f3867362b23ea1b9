"""The initial design, and how candidates are chosen among equals."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.benchmarks import problem_of
from tests.agents.helpers import grid, play, problem
from tests.helpers import raises


def test_spread_starts_in_the_middle_and_moves_away() -> None:
    features = grid(5, 5)
    agent = agents.make("bo-spread", problem(features), 0)
    first, second = play(agent, lambda row: 0.0, 2)
    assert features[first].tolist() == [0.5, 0.5]
    assert np.abs(features[second] - features[first]).max() >= 0.25


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"design": "grid"}, "design must be one of random, spread, got 'grid', did you mean 'spread'?"),
        ({"initial": 0}, "initial must be an int >= 1, got 0"),
        ({"initial": True}, "initial must be an int >= 1, got True"),
    ],
)
def test_words_about_the_initial_design(setting: dict[str, Any], message: str) -> None:
    with raises(message):
        agents.make("bo-ei-rbf", problem(grid(3, 3)), 0, **setting)


def test_ties_up_to_round_off_are_broken_at_random_among_free_candidates() -> None:
    agent: Any = agents.make("bo-ei-rbf", problem(grid(2, 2)), 0)
    agent.tell(3, 1.0, {})
    scores = np.array([1.0, 1.0 - 1e-12, 0.5, 9.0])
    assert {agent.best_free(scores) for _ in range(50)} == {0, 1}


def test_a_reward_of_another_shape_is_refused() -> None:
    agent = agents.make("bo-ei-rbf", problem(grid(2, 2)), 0)
    with pytest.raises(ValueError, match=r"reward must be 1 finite number\(s\), got nan"):
        agent.tell(0, np.nan, {})


def test_models_see_the_features_asked_for() -> None:
    found = problem_of(gym.make("NASBenchNLP-wikitext2-v0", table="surrogate"))
    for name in ("graph-ei-rbf", "graph-eif-rbf", "bo-ei-rbf", "bo"):
        agent = agents.make(name, found, 0, features="g2v_")
        assert agent.features.shape == (291, 11)
        assert agents.make(name, found, 0).features.shape == (291, 61)
