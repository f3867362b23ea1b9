"""Acquisition functions on a given posterior."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents import Problem
from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.search.posterior_search import PosteriorSearch
from hpo_envs.benchmarks import run
from tests.helpers import raises

MEANS, DEVIATIONS = np.array([[0.0, 1.0, 0.9, 0.2]]), np.array([[3.0, 0.1, 0.6, 0.1]])


class Given(PosteriorSearch):
    """Agent with a fixed posterior, whatever it observes."""

    def _posterior(self) -> Any:
        k = self.problem.objectives
        return np.repeat(MEANS, k, axis=0), np.repeat(DEVIATIONS, k, axis=0), np.array(self.rewards)

    def _draw(self) -> Any:
        return np.array([0.0, 0.0, 0.0, 7.0])

    def _observe(self, row: int, rewards: Any) -> None:
        pass


def made(objectives: int = 1, **settings: Any) -> Given:
    features = np.arange(4.0)[:, None] / 3
    return Given(Problem(gym.spaces.Discrete(4), features=features, objectives=objectives), 0, initial=1, **settings)


@pytest.mark.parametrize(
    ("settings", "row"),
    [
        ({"acquisition": "thompson"}, 3),
        ({"acquisition": "ucb", "beta": 1e-6}, 2),  # row 1 is told, the next best mean is row 2's
        ({"acquisition": "ucb", "beta": 100.0}, 0),
        ({"acquisition": "ei"}, int(np.argmax(expected_improvement(MEANS[0], DEVIATIONS[0], 1.0)))),
    ],
)
def test_the_candidate_with_the_highest_value_is_next(settings: dict[str, Any], row: int) -> None:
    agent = made(**settings)
    agent.tell(1, 1.0, {})
    assert agent.ask() == row


def test_the_default_acquisition_depends_on_the_number_of_objectives() -> None:
    assert (made().acquisition, made(2).acquisition) == ("ei", "ehvi")
    agent = made(2)
    assert agent.predict().tolist() == [[0.0] * 4] * 2
    agent.tell(1, np.array([1.0, 1.0]), {})
    assert agent.ask() == 0  # most is to be gained where least is known
    assert agent.predict().tolist() == MEANS.tolist() * 2


def test_errors_of_acquisitions_name_argument_and_rule() -> None:
    with raises("acquisition must be one of auto, ei, ucb, thompson, ehvi, got 'pi', did you mean 'ei'?"):
        made(acquisition="pi")
    with raises("objectives must be 2 for acquisition ehvi, got 1"):
        made(acquisition="ehvi")
    for name in ("beta", "margin"):
        with raises(f"{name} must be a finite number > 0, got 0"):
            made(**{name: 0})


def test_expensive_candidates_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    for costs, row in (([1.0, 1.0, 1.0, 1.0], 0), ([100.0, 1.0, 1.0, 1.0], 1)):
        agent = made(per_cost=True)
        agent.tell(3, 0.5, {"cost": 2.0})
        monkeypatch.setattr(agent._costs, "expected", lambda rows, costs=costs: np.array(costs))
        assert agent.ask() == row
    with raises("per_cost must be False for acquisition ucb, got True"):
        made(per_cost=True, acquisition="ucb")


def test_equal_costs_change_nothing() -> None:
    settings: dict[str, Any] = {"budget": 7}
    plain, priced = (run("bo", "NMTHPO-zhen-v0", [0], env_kwargs=settings, per_cost=p)[0] for p in (False, True))
    assert plain.actions.tolist() == priced.actions.tolist()
    settings |= {"cost": "updates", "budget": "auto"}
    dear = run("bo", "NMTHPO-zhen-v0", [0], env_kwargs=settings, per_cost=True)[0]
    assert dear.header["budget"] > 9e5
    assert dear.actions[3:7].tolist() != plain.actions[3:7].tolist()
