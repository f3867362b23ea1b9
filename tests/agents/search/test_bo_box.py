"""Agents for boxes: Optuna behind ask/tell and the Gaussian process; kinds of spaces, errors, a bowl."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem

pytest.importorskip("optuna")

BOX = Problem(gym.spaces.Box(-1, 1, (2,), np.float32))


def minimum(name: str, evaluations: int, seed: int = 0) -> float:
    """Best value of a bowl with its top, 0, at (0.3, -0.7)."""
    agent = agents.make(name, BOX, seed)
    best = -np.inf
    for _ in range(evaluations):
        action = agent.ask()
        reward = -float(np.sum((np.asarray(action) - [0.3, -0.7]) ** 2))
        agent.tell(action, reward, {})
        best = max(best, reward)
    assert -float(np.sum((np.asarray(agent.recommend()) - [0.3, -0.7]) ** 2)) == best
    return best


def test_samplers_beat_random_search_on_a_bowl():
    pytest.importorskip("cmaes")
    random = np.median([minimum("random", 100, s) for s in range(5)])
    for name in ("tpe", "cmaes", "box-bo"):
        assert np.median([minimum(name, 100, s) for s in range(5)]) > random / 3


def test_grid_values_stay_in_range():
    agent = agents.make("tpe", Problem(gym.spaces.MultiDiscrete([3, 1, 5])), 0)
    for _ in range(15):
        action = agent.ask()
        assert action in agent.problem.action_space
        agent.tell(action, float(action.sum()), {})
    assert agent.recommend().tolist() == [2, 0, 4]


def test_errors():
    with pytest.raises(ValueError, match="action_space must be a Box or MultiDiscrete .*, got Discrete"):
        agents.make("tpe", Problem(gym.spaces.Discrete(3)), 0)
    with pytest.raises(ValueError, match="action_space must be a Box without levels"):
        agents.make("cmaes", Problem(gym.spaces.MultiDiscrete([2, 2])), 0)
    with pytest.raises(ValueError, match="objectives must be 1 for CMA-ES, got 2"):
        agents.make("cmaes", Problem(BOX.action_space, objectives=2), 0)
    with pytest.raises(ValueError, match="action_space must be a bounded Box"):
        agents.make("box-bo", Problem(gym.spaces.Box(-np.inf, np.inf, (2,))), 0)
    with pytest.raises(ValueError, match="initial must be an int >= 2, got 1"):
        agents.make("box-bo", BOX, 0, initial=1)
    with pytest.raises(ValueError, match="objectives must be 1 for this agent, got 2"):
        agents.make("box-bo", Problem(BOX.action_space, objectives=2), 0)


def test_recommendation_before_the_first_evaluation_is_the_middle():
    for name in ("cmaes", "tpe", "box-bo"):
        assert agents.make(name, BOX, 0).recommend().tolist() == [0.0, 0.0]


def test_gaussian_process_survives_equal_rewards():
    agent = agents.make("box-bo", BOX, 0, initial=3)
    for _ in range(6):
        agent.tell(agent.ask(), 1.0, {})
    assert agent.recommend() in BOX.action_space
