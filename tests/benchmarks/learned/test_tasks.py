"""Tables as tasks: what agents would get, drawn into episodes."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from hpo_envs.agents.models.stacked_gp import LENGTHS
from hpo_envs.benchmarks.learned import tasks
from hpo_envs.benchmarks.learned.tasks import Draws


def test_a_task_has_the_rewards_and_the_sources_of_its_id() -> None:
    t = tasks.task("NMTHPO-jaen-v0")
    assert t.languages == ("jpn",)
    assert sorted(t.sources) == [("chi",), ("rus",), ("som",), ("swa",)]
    env = gym.make(t.env_id)
    env.reset(seed=0)
    assert t.rewards[7] == env.step(7)[1]
    assert t.predictions.shape == (4, len(t.rewards))
    assert t.correlations.shape == (LENGTHS, len(t.rewards), len(t.rewards))
    np.testing.assert_allclose(t.correlations.diagonal(axis1=1, axis2=2), 1.0)


def test_episodes_are_parts_of_tables_and_sources() -> None:
    pair = [tasks.task(f"NMTHPO-{p}-v0") for p in ("zhen", "swen")]
    how = Draws(rows=30, shares=(0.1, 0.2), some=1.0, mixed=0.0)
    drawn = tasks.draw(pair, 12, frozenset({"som", "rus"}), np.random.default_rng(0), how)
    counts = drawn.tables.valid.sum(axis=1)
    assert counts.max() == 30
    assert (counts >= 11).all()
    assert drawn.tables.used.sum(axis=1).max() <= 3  # ja twice, and the other of the pair
    known = {r for t in pair for r in t.rewards.tolist()}
    for i in range(12):
        rewards = drawn.rewards[i, drawn.tables.valid[i]]
        assert set(rewards.tolist()) <= known
        assert drawn.best[i] == rewards.max()
        assert drawn.span[i] == rewards.max() - np.median(rewards)
        for p in drawn.tables.predictions[i, drawn.tables.used[i]]:
            assert abs(p[drawn.tables.valid[i]].mean()) < 1e-9


def test_mixed_rewards_are_new_tasks() -> None:
    t = tasks.task("NMTHPO-zhen-v0")
    how = Draws(rows=50, some=0.0, mixed=1.0)
    drawn = tasks.draw([t], 3, frozenset(), np.random.default_rng(0), how)
    assert len({*drawn.best.tolist()} - {*t.rewards.tolist()}) == 3


def test_flat_tables_are_none_of_the_ids() -> None:
    assert len(tasks.ids("CharHPO")) == 22
    assert len(tasks.ids("NMTHPO")) == 6
