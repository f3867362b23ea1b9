"""A study can be made and timed."""

from __future__ import annotations

from pathlib import Path

from hpo_envs.benchmarks.performance.tables import large_studies
from hpo_envs.benchmarks.study.store import Store


def test_what_a_study_costs(tmp_path: Path) -> None:
    large_studies.make(tmp_path, 20, part=1)
    assert len(Store(tmp_path).read()) == 20
    found = large_studies.measure(tmp_path, 20)
    timed = ["list", "read", "read and replay", "read and score", "summary", "page"]
    assert set(found) == {*timed, *(f"peak after {name}, MB" for name in timed), "page, MB"}
    assert all(value > 0 for value in found.values())
