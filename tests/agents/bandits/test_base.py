"""Base classes of bandit agents: attribution of scores, draws of arms, budgets, stopping."""

import math
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents.bandits.base import ArmsAgent, ConfidentAgent, budget_of
from hpo_envs.agents.bandits.glr import likelihood_ratio
from hpo_envs.agents.problem import Problem
from tests.helpers import raises

NAN = float("nan")


class Scripted(ArmsAgent):
    """Agent that suggests the arms in turn and counts the results it gets."""

    times = turn = 0

    def choose(self) -> int:
        self.turn += 1
        return (self.turn - 1) % self.arms

    def update(self) -> None:
        self.times += 1


class Sure(ConfidentAgent):
    def sample(self) -> int:
        return 2


def arms_problem(arms: int = 3, batch: int | None = None, bounds: Any = None, **kwargs: Any) -> Problem:
    space = gym.spaces.Discrete(arms) if batch is None else gym.spaces.MultiDiscrete([arms] * batch)
    return Problem(space, reward_bounds=bounds, **kwargs)


def test_single_pulls_are_added_to_their_arm() -> None:
    agent = Scripted(arms_problem(), 0)
    assert (agent.arms, agent.batch, len(agent.belief.counts)) == (3, 1, 3)
    assert repr([agent.ask() for _ in range(4)]) == "[0, 1, 2, 0]"
    agent.tell(0, 0.5, {})
    agent.tell(0, 0.7, {"finished": True})
    agent.tell(0, 9.0, {"finished": False})
    agent.tell(0, 0.8, {"action": 2})  # whose result came back
    assert agent.belief.counts.tolist() == [2, 0, 1]
    assert (agent.belief.means.tolist(), agent.times, agent.recommend()) == ([pytest.approx(0.6), 0.0, 0.8], 3, 2)
    assert type(agent.recommend()) is int
    assert agent.problem.action_space == gym.spaces.Discrete(3)
    agent.tell(1, -5.0, {})
    assert agent.best_mean() == 2
    below = Scripted(arms_problem(), 0)
    below.tell(1, -5.0, {})
    assert below.best_mean() == 1, "an arm never pulled is not recommended for its mean of 0"


def test_batches_are_added_pull_by_pull() -> None:
    agent = Scripted(arms_problem(batch=4), 0)
    assert (agent.arms, agent.batch) == (3, 4)
    asked = agent.ask()
    assert (asked.tolist(), asked.dtype) == ([0, 1, 2, 0], np.int64)
    agent.tell(asked, 0.0, {"scores": np.array([0.1, 0.9, 0.2, 0.3])})
    assert (agent.belief.counts.tolist(), agent.belief.means.tolist(), agent.times) == ([2, 1, 1], [0.2, 0.9, 0.2], 1)
    best = agent.recommend()
    assert (best.tolist(), best.dtype) == ([1, 1, 1, 1], np.int64)
    with pytest.raises(ValueError, match="zip"):
        agent.tell(asked, 0.0, {"scores": np.array([0.1])})


def test_arms_are_drawn_by_weight() -> None:
    agent = Scripted(arms_problem(4), 3)
    weights = np.array([0.0, 3.0, 0.0, 1.0])
    rng = np.random.default_rng(3)
    for _ in range(200):
        assert agent.draw(weights) == (1 if rng.random() * 4.0 < 3.0 else 3)

    class Edge:
        def random(self) -> float:
            return 1.0

    agent.rng = Edge()  # type: ignore[assignment]
    assert agent.draw(np.array([1.0, 1.0, 1.0, 1.0])) == 3
    agent.rng.random = lambda: 0.25  # type: ignore[method-assign]
    assert agent.draw(np.array([1.0, 1.0, 1.0, 1.0])) == 1


def test_errors_of_bandits_name_argument_and_rule() -> None:
    for confidence in (0.0, 1.0, 2):
        with raises(f"confidence must be None or lie strictly between 0 and 1, got {confidence!r}"):
            Sure(arms_problem(), 0, confidence=confidence)
    with raises("stopping must be one of pi, glr, got 'never'"):
        Sure(arms_problem(), 0, stopping="never")
    for initial in (2, True, 3.5):
        with raises(f"initial must be an int >= 3, got {initial!r}"):
            Sure(arms_problem(), 0, initial=initial)
    agent = Sure(arms_problem(), 0)
    assert (agent.confidence, agent.stopping, agent.initial, agent.done) == (0.95, "pi", 3, False)
    assert Sure(arms_problem(), 0, initial=4).initial == 4
    for space in (
        gym.spaces.Box(-1, 1, (2,)),
        gym.spaces.Discrete(3, start=1),
        gym.spaces.MultiDiscrete([2, 3]),
        gym.spaces.MultiDiscrete([[2, 2], [2, 2]]),
    ):
        with raises(f"action_space must be Discrete(n) or MultiDiscrete([n] * batch) for this agent, got {space}"):
            Scripted(Problem(space), 0)
    for space in (gym.spaces.Discrete(1), gym.spaces.MultiDiscrete([1, 1])):
        with raises(f"action_space must have at least 2 arms for this agent, got {space}"):
            Scripted(Problem(space), 0)
    assert Scripted(arms_problem(2), 0).arms == 2


def test_budgets_of_bandits_are_checked() -> None:
    assert budget_of(arms_problem(budget=12.0), 12) == 12
    assert type(budget_of(arms_problem(budget=12.0), 2)) is int
    for kwargs, got in (({"budget": None}, "None evaluations"), ({"budget": 5.0, "unit": "s"}, "5.0 s")):
        with raises(f"budget must be a number of evaluations for this agent, got {got}"):
            budget_of(arms_problem(**kwargs), 2)
    with raises("budget must be >= 6 evaluations for this agent and problem, got 5.5"):
        budget_of(arms_problem(budget=5.5), 6)


def feed(agent: Any, scores: Mapping[int, list[float]]) -> None:
    for arm, values in scores.items():
        for value in values:
            agent.tell(arm, value, {})


def test_every_arm_is_evaluated_first() -> None:
    agent = Sure(arms_problem(), 0, initial=4)
    agent.tell(1, 0.5, {})
    first = [agent.ask() for _ in range(9)]
    assert first == [0, 0, 0, 0, 1, 1, 1, 1, 2], "an arm's known score spares no question while one is missing"
    known = Sure(arms_problem(), 0)
    feed(known, {1: [0.1, 0.2, 0.3]})
    assert [known.ask() for _ in range(6)] == [0, 0, 0, 2, 2, 2]
    # The results are still out: any arm will do.
    rng = np.random.default_rng(0)
    assert [known.ask() for _ in range(5)] == [int(rng.integers(3)) for _ in range(5)]
    known._queue.extend([1, 0])
    feed(known, {0: [0.1, 0.2, 0.3], 2: [0.1, 0.2, 0.3]})
    assert [known.ask() for _ in range(3)] == [1, 0, 2]


def test_pi_of_an_agent_is_that_of_its_scores() -> None:
    scores = {0: [0.1, 0.2, 0.3], 1: [0.3, 0.4, 0.5], 2: [0.2, 0.3, 0.2]}
    agent = Sure(arms_problem(), 0, confidence=None)
    assert agent.pi.tolist() == [1 / 3] * 3
    feed(agent, scores)
    assert np.array_equal(agent.pi, agent.belief.pi)
    assert agent.recommend() == int(agent.belief.pi.argmax()) == 1
    assert not agent.done


def test_pi_and_mean_may_recommend_different_arms() -> None:
    """Two arms share most of the probability of high means; an uncertain arm is likelier the best than either."""
    scores = {0: [0.5, 0.501, 0.502], 1: [0.0, 0.5, 0.97], 2: [0.4995, 0.5005, 0.5015]}
    by_pi, by_mean = Sure(arms_problem(), 0, confidence=None), Sure(arms_problem(), 0, stopping="glr")
    feed(by_pi, scores)
    feed(by_mean, scores)
    assert by_pi.best_mean() == by_mean.recommend() == 0
    assert by_pi.recommend() == int(by_pi.pi.argmax())
    assert by_pi.pi[1] > by_pi.pi[0]


def test_stops_when_pi_exceeds_confidence_by_hand() -> None:
    scores = {0: [0.10, 0.20, 0.30], 1: [0.5, 0.6, 0.7], 2: [0.10, 0.20, 0.25]}
    probe = Sure(arms_problem(), 0, confidence=None)
    feed(probe, scores)
    top = float(probe.pi.max())
    for confidence, done in ((top - 1e-6, True), (top, False), (top + 1e-6, False)):
        agent = Sure(arms_problem(), 0, confidence=confidence)
        feed(agent, scores)
        assert agent.done is done
    queued = Sure(arms_problem(), 0, confidence=0.5)
    queued._queue.append(0)
    feed(queued, scores)
    assert not queued.done, "a round is finished before the rule is looked at"
    early = Sure(arms_problem(), 0, confidence=0.5, initial=4)
    feed(early, scores)
    assert not early.done, "every arm has its initial evaluations before the rule is looked at"


def test_stops_when_likelihood_ratio_exceeds_its_threshold() -> None:
    scores = {0: [0.10, 0.20, 0.30], 1: [0.5, 0.6, 0.7], 2: [0.10, 0.20, 0.25]}
    probe = Sure(arms_problem(), 0, confidence=None, stopping="glr")
    feed(probe, scores)
    ratio = likelihood_ratio(probe.belief)
    edge = 1.0 - (1.0 + math.log(9.0)) / math.exp(ratio)  # log((1 + log t) / (1 - confidence)) = ratio
    assert 0.0 < edge < 1.0
    for confidence, done in ((edge - 1e-6, True), (edge + 1e-6, False)):
        agent = Sure(arms_problem(), 0, confidence=confidence, stopping="glr")
        feed(agent, scores)
        assert agent.done is done
    assert not probe.done
