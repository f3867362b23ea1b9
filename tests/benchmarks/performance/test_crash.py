"""A study that is killed and continued; more of it, and the other ways to disturb one, at night."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.benchmarks.performance import crash


def test_killed_at_a_random_moment_and_continued(tmp_path: Path) -> None:
    result = crash.trial(tmp_path, "kill", times=1, jobs=1, seed=0)
    assert result.good
    assert (result.times, result.runs, result.starts) == (1, 60, 1)


def test_what_is_lost_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Path] = []

    def lose(process: object, cluster: object, rng: object) -> bool:
        for part in seen:
            part.unlink()
        seen.extend((tmp_path / "torn").rglob("*.parquet"))
        return True

    monkeypatch.setitem(crash.HOW, "stop", lose)
    with pytest.raises(AssertionError, match="a run that was stored is gone or has changed"):
        crash.trial(tmp_path, "stop", times=2, jobs=1, seed=0)


def test_what_is_doubled_or_had_to_be_started_again_is_not_good() -> None:
    whole = {"times": 1, "grown": 1, "starts": 2, "runs": 60, "doubled": 0, "same": True}
    assert crash.Result("kill", **whole).good
    assert not crash.Result("stop", **whole).good
    assert not crash.Result("kill", **{**whole, "doubled": 1}).good
    assert not crash.Result("kill", **{**whole, "same": False}).good
