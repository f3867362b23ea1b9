"""What is timed runs; how long it takes is no test."""

from __future__ import annotations

import json
from pathlib import Path

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
    env = gym.make("NMTHPO-swen-v0", budget=7)
    assert speed.scalar_step(env, [3] * 60)() > 0
    minimal = speed.MinimalTable()
    assert speed.scalar_step(minimal, [3] * 60)() > 0
    assert minimal.step(3)[1:3] == (minimal.rewards[3], False)


def test_batches_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "best_of", lambda rounds, timed: {name: measure() for name, measure in timed.items()})
    monkeypatch.setattr(speed, "TABLES", {"NMTHPO-swen-v0, no budget": {"budget": None}})
    monkeypatch.setattr(speed, "COMPUTED", ("CharHPO-v0",))
    found = speed.batched(2)
    looked_up = "NMTHPO-swen-v0, no budget"
    assert [*found] == ["bare gathers", looked_up, f"{looked_up}, let go", "CharHPO-v0"]
    assert all(value > 0 for value in found.values())


@pytest.mark.parametrize("part", ["same_step", "memory", "loop"])
def test_parts_are_measured_and_printed(
    part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(speed, "best_of", lambda rounds, timed: {name: measure() for name, measure in timed.items()})
    monkeypatch.setattr(speed, "MOST", 0)
    unit = speed.PARTS[part][1]
    small = {"same_step": (2,), "memory": (2,)}.get(part, ())
    monkeypatch.setitem(speed.PARTS, part, (lambda: getattr(speed, part)(*small), unit))
    found = speed.report([part])
    assert [*found] == [part]
    assert found[part]
    assert part == "memory" or all(value > 0 for value in found[part].values())  # two episodes take next to nothing
    assert unit in capsys.readouterr().out


def test_another_checkout_is_compared_in_turn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def run(command: list[str], env: dict[str, str], **_: object) -> None:
        asked.append(env["PYTHONPATH"])
        value = 6.0 if env["PYTHONPATH"] == str(tmp_path) else 3.0
        Path(command[-1]).write_text(json.dumps({"loop": {"a": value}}))

    monkeypatch.setattr(speed.subprocess, "run", run)
    assert speed.compare(["loop"], tmp_path, rounds=2) == {"loop": {"a": (3.0, 6.0)}}
    assert asked[0] != asked[1] == str(tmp_path)
    assert asked[:2] == asked[2:]
