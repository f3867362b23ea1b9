"""The initial design, and choice among tied candidates."""

import dataclasses
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Source
from hpo_envs.agents.models.gp.kernels import gram
from hpo_envs.agents.search.base import SPREAD_NOISE, best_of, lowered
from hpo_envs.benchmarks import problem_of
from tests.agents.helpers import grid, play, problem
from tests.helpers import raises


def test_the_spread_design_starts_in_the_middle_and_moves_away() -> None:
    features = grid(5, 5)
    agent = agents.make("bo-spread", problem(features), 0)
    first, second = play(agent, lambda row: 0.0, 2)
    assert features[first].tolist() == [0.5, 0.5]
    assert np.abs(features[second] - features[first]).max() >= 0.25


def test_reduction_of_variance_equals_that_of_the_whole_covariance() -> None:
    """Compared with conditioning of the whole matrix, row by row."""
    rng = np.random.default_rng(0)
    prior = gram("matern52", rng.integers(0, 4, (60, 3)) / 3.0, 1.0)
    among = rng.permutation(60)[:40]
    told = prior[np.ix_(among, among)].copy()
    for count in range(5):
        expected = np.square(told).sum(axis=0) / (np.maximum(told.diagonal(), 0.0) + SPREAD_NOISE)
        np.testing.assert_allclose(lowered(prior, among, among[:count])[among], expected, rtol=1e-9)
        told -= np.outer(told[:, count], told[count]) / (told[count, count] + SPREAD_NOISE)


def test_workers_spread_out_where_one_would_start_at_random() -> None:
    features = grid(5, 5)

    def apart(seed: int, design: str) -> float:
        agent = agents.make("bo", problem(features), seed, design=design)
        asked = [features[agent.ask()] for _ in range(4)]
        assert asked[0].tolist() == features[begun[0]].tolist()
        return min(np.abs(a - b).max() for i, a in enumerate(asked) for b in asked[:i])

    distances = []
    for seed in range(5):
        begun = play(agents.make("random", problem(features), seed), lambda row: 0.0, 3)
        assert play(agents.make("bo", problem(features), seed), lambda row: 0.0, 3) == begun
        distances.append([apart(seed, "auto"), apart(seed, "random")])
    assert np.min(distances, axis=0).tolist() == [0.5, 0.25]


def test_the_best_rows_of_sources_come_first() -> None:
    features = grid(5, 5)
    near, far = features[[0, 24, 12, 24]], features[[7, 18]] + 0.01
    sources = (
        Source("near", near, np.array([[1.0], [9.0], [5.0], [8.0]]), np.ones(4)),
        Source("far", far, np.array([[2.0], [1.0]]), np.ones(2)),
    )
    known = dataclasses.replace(problem(features), sources=sources)
    agent = agents.make("bo", known, 0)
    assert (play(agent, lambda row: float(row == 3), 3), agent.random_first) == ([24, 7, 12], 0)
    assert [agents.make("bo-ei-rbf", known, 0).ask() for _ in range(2)] == [24, 24]
    begun = play(agents.make("random", known, 0), lambda row: 0.0, 3)
    assert play(agents.make("bo", known, 0, design="random"), lambda row: 0.0, 3) == begun


def test_objectives_of_sources_have_equal_weights() -> None:
    rewards = np.array([[100.0, 0.0], [0.0, 0.1], [90.0, 0.1]])
    (best,) = best_of([Source("a", np.eye(3), rewards, np.ones(3))], 1)
    assert best.tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"design": "grid"}, "design must be one of auto, random, spread, got 'grid', did you mean 'spread'?"),
        ({"initial": 0}, "initial must be an int >= 1, got 0"),
        ({"initial": True}, "initial must be an int >= 1, got True"),
    ],
)
def test_errors_of_the_initial_design_name_argument_and_rule(setting: dict[str, Any], message: str) -> None:
    with raises(message):
        agents.make("bo-ei-rbf", problem(grid(3, 3)), 0, **setting)


def test_ties_up_to_round_off_are_broken_at_random_among_free_candidates() -> None:
    agent: Any = agents.make("bo-ei-rbf", problem(grid(2, 2)), 0)
    agent.tell(3, 1.0, {})
    scores = np.array([1.0, 1.0 - 1e-12, 0.5, 9.0])
    assert {agent.best_free(scores) for _ in range(50)} == {0, 1}


def test_models_see_the_requested_features() -> None:
    found = problem_of(gym.make("NASBenchNLP-wikitext2-v0"))
    for name in ("graph-ei-rbf", "graph-eif-rbf", "bo-ei-rbf", "bo"):
        agent = agents.make(name, found, 0, features="g2v_")
        assert (agent.features.shape, agents.make(name, found, 0).features.shape) == ((291, 11), (291, 61))
