"""Several commands on one folder at once."""

from __future__ import annotations

from pathlib import Path

from hpo_envs.benchmarks.performance import races
from hpo_envs.benchmarks.study import store


def test_two_and_four_processes_on_one_folder(tmp_path: Path) -> None:
    result = races.trial(tmp_path, races=4, commands=1, seeds=6)
    assert (result.races, result.processes, result.faults) == (4, 12, [])


def test_what_is_wrong_with_a_folder_is_seen(tmp_path: Path) -> None:
    words = ["compare", f"--env={races.PLAIN}", *races.OPTIONS, "--seeds=3"]
    for name in ("alone", "torn"):
        assert races._forks([words], tmp_path / name, [0.0]) == [0]
    assert races.faults(tmp_path / "torn", tmp_path / "alone", races.PLAIN, [0]) == []
    for path in (tmp_path / "torn").rglob("random-*.parquet"):
        path.unlink()
    (tmp_path / "torn" / "summary.csv").write_text("agent")
    wrong = races.faults(tmp_path / "torn", tmp_path / "alone", races.PLAIN, [0, 1])
    assert len(wrong) == 4
    assert store.read(tmp_path / "torn") == []
