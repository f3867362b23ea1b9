"""Agents that choose among candidates: each is tried once, grids and levels, settings, large sets."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.models import kernels
from tests.agents.helpers import RNG, grid, play, problem

MINE = [
    name
    for name, e in agents.AGENTS.items()
    if e.target.startswith(("hpo_envs.agents.search.bo:", "hpo_envs.agents.search.graph_search:"))
    and e.alias_of is None
]
ONE = [name for name in MINE if "rows" in agents.AGENTS[name].supports]
TWO = [name for name in MINE if "objectives" in agents.AGENTS[name].supports]
SETS = {
    "duplicates": np.repeat(grid(3, 2), 4, axis=0),
    "all-equal": np.zeros((9, 2)),
    "nearly-equal": 1e-9 * RNG(0).random((12, 3)),
    "far-clusters": np.concatenate([1e-3 * RNG(1).random((6, 2)), 1.0 - 1e-3 * RNG(2).random((6, 2))]),
    "one": np.zeros((1, 2)),
    "two": grid(2),
    "grid": grid(3, 3),
}


@pytest.mark.parametrize("features", SETS.values(), ids=SETS.keys())
@pytest.mark.parametrize("name", ONE)
def test_every_candidate_is_tried_once_then_again(name: str, features: np.ndarray) -> None:
    n = len(features)
    for value in (lambda row: 1.0, lambda row: float(np.sin(3 * row)), lambda row: 1e6 + row):
        agent = agents.make(name, problem(features), 0)
        asked = play(agent, value, n + 2)
        assert sorted(asked[:n]) == list(range(n))
        assert agent.recommend() in range(n)
        assert np.isfinite(agent.predict()).all()  # type: ignore[attr-defined]


@pytest.mark.parametrize("features", SETS.values(), ids=SETS.keys())
@pytest.mark.parametrize("name", TWO)
def test_two_objectives_every_candidate_is_tried_once(name: str, features: np.ndarray) -> None:
    n = len(features)
    for value in (lambda row: np.zeros(2), lambda row: np.array([np.sin(row), -1e4 * np.cos(row)])):
        agent = agents.make(name, problem(features, 2), 1)
        asked = play(agent, value, n + 1)
        assert sorted(asked[:n]) == list(range(n))


@pytest.mark.parametrize("name", [n for n in ONE if n != "bo-spread"])
def test_starts_where_random_search_starts(name: str) -> None:
    features = grid(5, 4)
    one, other = agents.make(name, problem(features), 11), agents.make("random", problem(features), 11)
    assert play(one, float, 3) == play(other, float, 3)


@pytest.mark.parametrize("name", ONE)
def test_finds_the_top_of_a_smooth_hill(name: str) -> None:
    """On a hill over 100 candidates a model needs far fewer than the 50.5 evaluations of random search."""
    features = grid(10, 10)
    height = -np.square(features - [0.7, 0.3]).sum(axis=1)
    found = []
    for seed in range(8):
        agent = agents.make(name, problem(features), seed)
        found.append(play(agent, lambda row: 10.0 * float(height[row]), 60).index(int(height.argmax())) + 1)
    assert np.mean(found) < 35


@pytest.mark.parametrize(
    ("name", "hyperparameters", "message"),
    [
        ("bo", {"kernel": "cubic"}, "kernel must be one of matern52, rbf, got 'cubic'"),
        ("bo", {"noise": 0.0}, "noise must be a finite number > 0, got 0.0"),
        ("bo", {"initial": 0}, "initial must be an int >= 1, got 0"),
        ("bo", {"acquisition": "pi"}, "acquisition must be one of .*, got 'pi'"),
        ("bo", {"acquisition": "ehvi"}, "objectives must be 2 for acquisition ehvi, got 1"),
        ("graph-ei-rbf", {"neighbours": 0}, "neighbours must be an int >= 1, 'auto' or None, got 0"),
        ("graph-eif-rbf", {"variant": "best"}, "variant must be one of .*, got 'best'"),
    ],
)
def test_settings_are_checked(name: str, hyperparameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agents.make(name, problem(grid(3, 3)), 0, **hyperparameters)


def test_large_sets_need_no_matrix() -> None:
    features = RNG(0).random((4500, 3))
    agent = agents.make("bo-ei-matern52", problem(features), 0)
    play(agent, lambda row: float(features[row, 0]), 8)
    expected = kernels.of_square_distances("matern52", kernels.square_distances(features[[7]], features))[0]
    np.testing.assert_allclose(kernels.gram_row("matern52", features, 1.0, 7), expected, atol=1e-12)
    play(agents.make("bo-spread", problem(features), 0), lambda row: float(features[row, 0]), 3)
    with pytest.raises(ValueError, match="a graph must have at most 5000 candidates, got 5001"):
        agents.make("graph-ei-rbf", problem(RNG(0).random((5001, 1))), 0)


def test_candidates_need_features() -> None:
    with pytest.raises(ValueError, match="problem must have features"):
        agents.make("bo", Problem(gym.spaces.Discrete(4)), 0)


def test_rewards_must_be_finite() -> None:
    agent = agents.make("bo", problem(grid(3, 3)), 0)
    with pytest.raises(ValueError, match=r"reward must be 1 finite number\(s\), got nan"):
        agent.tell(0, float("nan"), {"cost": 1.0})


def test_pairs_are_trained_to_the_last_level() -> None:
    p = Problem(gym.spaces.MultiDiscrete([9, 4]), features=grid(3, 3), levels=np.arange(1.0, 5.0))
    agent = agents.make("bo", p, 0)
    for _ in range(5):
        action = agent.ask()
        assert action.tolist()[1] == 3
        agent.tell(action, float(action[0]), {"cost": 1.0})
