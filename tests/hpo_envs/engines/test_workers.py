"""Simulated workers: the order of results, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs.engines.curves.scalar import CurvesEnv
from hpo_envs.engines.workers import VectorWorkers, Workers
from tests.hpo_envs.engines.curves.helpers import LEVELS, ROWS, T1, make


def run_workers(workers: int, actions: list[list[int]], **kwargs: Any) -> tuple[CurvesEnv, list[Any]]:
    env = make(workers=workers, **kwargs)
    finished, terminated, k = [], False, 0
    while not terminated:
        _, reward, terminated, _, info = env.step(actions[k % len(actions)])
        k += 1
        if info["finished"]:
            finished.append((info["action"].tolist(), reward, info["cost"], info["clock"]))
        else:
            assert (reward, info["cost"]) == (0.0, 0.0)
            assert info["action"].tolist() == actions[(k - 1) % len(actions)]
    return env, finished


def test_workers_finish_in_the_order_of_the_clock() -> None:
    rng = np.random.default_rng(1)
    actions = [[int(rng.integers(ROWS)), int(rng.integers(LEVELS))] for _ in range(40)]
    for workers in (2, 3, 5):
        env, finished = run_workers(workers, actions, budget=30.0)
        clocks = [clock for *_, clock in finished]
        assert clocks == sorted(clocks)
        assert env.total_cost == pytest.approx(sum(cost for _, _, cost, _ in finished))
        assert env.total_cost >= 30.0, "the budget is submitted before the end"
        assert max(clocks) >= env.total_cost / workers - 1e-9, "W workers cannot be more than W times as fast"
        # What was submitted is what a sequential run of the same actions pays, and everything came back.
        plain = make(budget=30.0)
        submitted = 0
        while True:
            submitted += 1
            if plain.step(actions[submitted - 1])[2]:
                break
        assert plain.total_cost == pytest.approx(env.total_cost)
        assert sorted(a for a, *_ in finished) == sorted(actions[:submitted])


def test_two_workers_by_hand() -> None:
    """Row 0 and row 5 train side by side; the continuation of row 0 waits for row 0."""
    env = make(workers=2, budget=1e6)
    a, b = T1.cost[0, 0, 4], T1.cost[5, 0, 9]
    assert a < b
    info = env.step([5, 9])[-1]
    assert (info["finished"], info["clock"]) == (False, 0.0)
    _, reward, _, _, info = env.step([0, 4])
    assert (info["finished"], info["clock"], info["action"].tolist()) == (True, a, [0, 4])
    assert reward == -T1.values[0, 0, 4, 0]
    c = T1.cost[0, 0, 9]
    info = env.step([0, 9])[-1]
    assert (info["action"].tolist(), info["clock"]) == (([0, 9], c) if c < b else ([5, 9], b))
    assert env.clock == info["clock"]


def test_workers_wait_for_the_checkpoint_they_continue_from() -> None:
    env = make(workers=2, budget=1e6)
    env.step([0, 9])
    info = env.step([0, 4])[-1]  # submitted after, so it is answered from the finished run
    assert info["action"].tolist() == [0, 9]
    info = env.step([5, 0])[-1]
    assert info["action"].tolist() == [0, 4]
    assert info["cost"] == 0.0
    assert info["clock"] == T1.cost[0, 0, 9]


def test_unfinished_results_do_not_show() -> None:
    env = make(workers=3, budget=1e6)
    start, _ = env.reset(seed=0)
    observation, _, _, _, info = env.step([0, 9])
    assert np.array_equal(observation, start)
    assert set(info) == {"cost", "finished", "action", "clock", "action_mask"}
    assert env.best is None
    assert info["action_mask"][0] == 0, "row 0 is submitted to its end"


def test_a_row_is_free_once_its_own_jobs_are_done() -> None:
    one, many, only = Workers(3), VectorWorkers(2, 3, 2), np.array([1])
    for job, seconds in (((5, 0), 2.0), ((0, 5), 7.0), ((5, 3), 4.0)):
        one.submit(job, 1.0, seconds)
        many.submit(only, np.array([job]), np.array([1.0]), np.array([seconds]))
    for row, free in ((5, 5.0), (0, 8.0), (3, 0.0)):
        assert one.free(row) == free
        assert many.free(only, np.array([row])) == [free]
    assert many.busy.tolist() == [False, True]
    many.reset(np.array([0]))
    assert many.busy.tolist() == [False, True], "the other episode goes on"


def test_a_row_is_free_when_nothing_trains_it() -> None:
    jobs = [((0, 4), 3.0), ((4, 0), 7.0), ((0, 9), 5.0)]  # row, level; the second number is no row
    one, many = Workers(3), VectorWorkers(2, 3, 2)
    for job, duration in jobs:
        one.submit(job, 0.0, duration)
        many.submit(np.array([1]), np.array([job]), np.zeros(1), np.array([duration]))
    for row, free in ((0, 5.0), (4, 7.0), (9, 0.0)):
        assert one.free(row) == free
        assert many.free(np.array([0, 1]), np.array([row, row])).tolist() == [0.0, free]
