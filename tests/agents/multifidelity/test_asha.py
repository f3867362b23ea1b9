"""Asynchronous successive halving: promotions with one and with several workers."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.benchmarks import problem_of
from tests.agents.multifidelity.helpers import make, play, smooth


@pytest.mark.parametrize("workers", [1, 4, 9])
def test_asha_promotes_only_the_top_third(workers: int) -> None:
    env = make(smooth(rows=400), budget=500.0, workers=workers)
    env.reset(seed=0)
    agent = agents.make("asha", problem_of(env), 0)
    rungs, results = agent.rungs, {level: {} for level in agent.rungs}
    assert rungs == [0, 2, 8, 26, 80]
    promotions, terminated = 0, False
    while not terminated:
        row, level = asked = agent.ask().tolist()
        k = rungs.index(level)
        if k:
            below = results[rungs[k - 1]]
            rank = sorted(below, key=below.__getitem__, reverse=True).index(row) + 1
            assert rank <= len(below) / 3, "promoted without being in the top third of the results that are in"
            promotions += 1
        _, reward, terminated, _, info = env.step(asked)
        if info.get("finished", True):
            row, level = info.get("action", np.array(asked)).tolist()
            results[level][row] = reward
        agent.tell(info.get("action", np.array(asked)), reward, info)
    assert promotions > 20
    assert results[26]


def test_asha_without_new_rows_promotes_the_rest_and_is_done() -> None:
    agent, trail = play("asha", make(smooth(rows=7, levels=9), budget=1e9))
    assert agent.done
    assert len({tuple(action) for action, _, _ in trail}) == len(trail), "nothing was asked twice"
    assert sorted(row for (row, level), _, _ in trail if level == 8) == list(range(7))


def test_asha_with_more_workers_is_done_earlier() -> None:
    clocks = []
    for workers in (1, 4):
        env = make(budget=800.0, workers=workers)
        play("asha", env)
        clocks.append(env.clock)
    assert clocks[1] < 0.5 * clocks[0]
