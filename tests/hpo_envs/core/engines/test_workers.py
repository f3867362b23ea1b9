"""Simulated workers: the order of results, by hand."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from hpo_envs.core.engines.workers import VectorWorkers, Workers
from tests.hpo_envs.core.engines.curves.model import ONE, validated


def test_two_workers_finish_as_by_hand() -> None:
    """Row 0 and row 5 train in parallel; the continuation of row 0 waits for row 0."""
    env = validated(workers=2, budget=1e6)
    a, b = ONE.cost[0, 0, 4], ONE.cost[5, 0, 6]
    assert a < b
    info = env.step([5, 6])[-1]
    assert (info["finished"], info["clock"]) == (False, 0.0)
    _, reward, _, _, info = env.step([0, 4])
    assert (info["finished"], info["clock"], info["action"].tolist()) == (True, a, [0, 4])
    assert reward == -ONE.values[0, 0, 4, 0]
    c = ONE.cost[0, 0, 6]
    info = env.step([0, 6])[-1]
    assert (info["action"].tolist(), info["clock"]) == (([0, 6], c) if c < b else ([5, 6], b))
    assert env.clock == info["clock"]


def test_a_row_is_free_when_nothing_trains_it() -> None:
    jobs = [((0, 4), 3.0), ((4, 0), 7.0), ((0, 9), 5.0)]  # row, level; the second number is no row
    one, many = Workers(3), VectorWorkers(2, 3, 2)
    for job, duration in jobs:
        one.submit(job, 0.0, duration)
        many.submit(np.array([1]), np.array([job]), np.zeros(1), np.array([duration]))
    for row, free in ((0, 5.0), (4, 7.0), (9, 0.0)):
        assert (one.free(row), many.free(np.array([0, 1]), np.array([row, row])).tolist()) == (free, [0.0, free])


def test_masks_of_steps_at_which_nothing_finishes() -> None:
    for mode in AutoresetMode:
        envs: Any = gym.make_vec("NMTLC-swen-v0", 2, workers=3, autoreset_mode=mode)
        envs.reset(seed=0)
        for _ in range(2):
            info = envs.step(envs.action_space.sample())[-1]
            assert not info["finished"].any()
            reported = {k for k in info if not k.startswith("_") and info[f"_{k}"].any()}
            assert reported == {"cost", "finished", "action", "clock", "action_mask"}
        assert envs.step(envs.action_space.sample())[-1]["_metrics"].all()
