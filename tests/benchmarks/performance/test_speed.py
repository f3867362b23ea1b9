"""What is timed runs; how long it takes is no test."""

from __future__ import annotations

import gymnasium as gym
import pytest

from hpo_envs.benchmarks.performance import speed


def test_the_minimum_over_interleaved_rounds() -> None:
    a, b, asked = iter([3.0, 1.0, 2.0]), iter([5.0, 6.0, 4.0]), []
    timed = {"a": lambda: asked.append("a") or next(a), "b": lambda: asked.append("b") or next(b)}
    assert speed.best_of(3, timed) == {"a": 1.0, "b": 4.0}
    assert asked == ["a", "b"] * 3


def test_steps_are_timed_over_ends_of_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "STEPS", 60)
    env = gym.make("NMTHPO-swen-v0", table="surrogate", budget=7)
    assert speed.scalar_step(env, [3] * 60)() > 0
    minimal = speed.MinimalTable()
    assert speed.scalar_step(minimal, [3] * 60)() > 0
    assert minimal.step(3)[1:3] == (minimal.rewards[3], False)


def test_batches_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "best_of", lambda rounds, timed: {name: measure() for name, measure in timed.items()})
    found = speed.batched(2)
    assert "bare gathers" in found
    assert all(value > 0 for value in found.values())
