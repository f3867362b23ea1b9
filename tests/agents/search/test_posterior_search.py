"""Acquisition functions on a posterior that is given."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents import Problem
from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.search.posterior_search import PosteriorSearch
from tests.helpers import raises

MEANS, DEVIATIONS = np.array([[0.0, 1.0, 0.9, 0.2]]), np.array([[3.0, 0.1, 0.6, 0.1]])


class Given(PosteriorSearch):
    """Believes what is written above, whatever it is told."""

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


def test_the_default_is_that_of_the_number_of_objectives() -> None:
    assert (made().acquisition, made(2).acquisition) == ("ei", "ehvi")
    agent = made(2)
    assert agent.predict().tolist() == [[0.0] * 4] * 2
    agent.tell(1, np.array([1.0, 1.0]), {})
    assert agent.ask() == 0  # most is to be gained where least is known
    assert agent.predict().tolist() == MEANS.tolist() * 2


def test_words_about_acquisitions() -> None:
    with raises("acquisition must be one of auto, ei, ucb, thompson, ehvi, got 'pi', did you mean 'ei'?"):
        made(acquisition="pi")
    with raises("objectives must be 2 for acquisition ehvi, got 1"):
        made(acquisition="ehvi")
    for name in ("beta", "margin"):
        with raises(f"{name} must be a finite number > 0, got 0"):
            made(**{name: 0})
