"""Which lines of a file are one configuration, and what finding out takes."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import gymnasium as gym
import numpy as np

from hpo_envs.tables import user
from hpo_envs.tables.row_order import natural
from tests.tables.user.helpers import frame, write


def test_equal_configurations_are_repeats(tmp_path: Path) -> None:
    text = "lr,seed,acc\n.1,1,.5\n.1,2,.6\n.2,1,.7\n.2,2,\n"
    t = natural(user.from_csv(write(tmp_path, text), "acc", "max", repeat="seed"))
    assert t.source_index.tolist() == [0, 2], "the first line of each"
    assert t.values.shape == (2, 2, 1, 1)
    # The failure is an outcome like the other run's.
    assert t.values[1, :, 0, 0].tolist() == [0.7, 0.0]
    env = gym.make("TableHPO-v0", table=t, budget=None)
    seen = set()
    for seed in range(20):
        env.reset(seed=seed)
        seen.add(env.step(1)[1])
    assert seen == {0.7, 0.0}
    without = natural(user.from_csv(write(tmp_path, text), "acc", "max", drop=["seed"]))
    assert np.array_equal(without.values, t.values)
    assert "2 lines repeat a configuration" in " ".join(without.provenance.notes)


def test_reading_a_frame_takes_a_few_times_the_memory_of_its_table() -> None:
    made = frame(30_000)
    tracemalloc.start()
    try:
        t = user.from_frame(made, "accuracy", cost="seconds")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * (t.configs.nbytes + t.features.nbytes + t.values.nbytes)
