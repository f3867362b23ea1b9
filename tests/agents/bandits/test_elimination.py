"""Schedules of sequential halving and successive rejects."""

from __future__ import annotations

import numpy as np

from hpo_envs import agents
from hpo_envs.agents.bandits.elimination import halving_schedule
from tests.agents.bandits.helpers import play, problem


def test_table_1_schedule() -> None:
    # Four models and a budget of 16: two evaluations each, then four each of the two that are left.
    assert halving_schedule(4, 16) == [(4, 2), (2, 4)]
    agent = agents.make("sh", problem(4, budget=16), 0)
    pulled = play(agent, [0.5, 0.8, 0.4, 0.6])
    assert np.bincount(pulled).tolist() == [2, 6, 2, 6]
    assert agent.survivors == [1]
    # Section 4.1: the last two are evaluated 2^floor(log2 N) - 1 times as often as the first to leave.
    assert 6 / 2 == 2 ** int(np.log2(4)) - 1


def test_halving_of_twelve_arms_spends_197_of_204() -> None:
    schedule = halving_schedule(12, 204)
    assert schedule == [(12, 4), (6, 8), (3, 17), (2, 25)]
    assert sum(n * each for n, each in schedule) == 197
    assert sum(n * each for n, each in halving_schedule(12, 204, "floor")) == 260
    agent = agents.make("sh", problem(12, budget=300), 0, rounds="floor", total=204)
    assert len(play(agent, np.linspace(0.3, 0.8, 12).tolist())) == 260


def test_successive_rejects_schedule() -> None:
    # Audibert, Bubeck and Munos 2010, Figure 2, by hand: logbar(4) = 1/2 + 1/2 + 1/3 + 1/4, n_k = 9, 12, 18.
    agent = agents.make("sr", problem(4, budget=60), 0)
    pulled = play(agent, [0.5, 0.8, 0.4, 0.6])
    assert np.bincount(pulled).tolist() == [12, 18, 9, 18]
    assert len(pulled) <= 60
