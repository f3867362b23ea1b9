"""A study that is killed and continued."""

from __future__ import annotations

from pathlib import Path

from hpo_envs.benchmarks.performance import crash


def test_killed_at_random_moments_and_continued(tmp_path: Path) -> None:
    result = crash.trial(tmp_path, kills=2, jobs=1, seed=0)
    assert result.kills == 2
    assert result.same
