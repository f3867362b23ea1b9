"""The check of the wheel, on lists of names and on a checkout's modules."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.helpers import sources
from tests.robustness import wheel

MODULES = ["__init__.py", "agents/base.py", "benchmarks/performance/speed.py"]
GOOD = ["hpo_envs/__init__.py", "hpo_envs/agents/base.py", "hpo_envs/tables/x.npz", "hpo_envs-0.2.0.dist-info/METADATA"]


def test_a_wheel_holds_the_modules_without_measurements_of_speed() -> None:
    assert wheel.mistakes(GOOD, MODULES) == []
    assert wheel.mistakes(GOOD[1:], MODULES) == ["missing: __init__.py"]
    assert wheel.mistakes([*GOOD, "hpo_envs/benchmarks/performance/x.json", "tables/x.py"], MODULES) == [
        "too much: benchmarks/performance/x.json",
        "too much: tables/x.py",
    ]


def test_two_wheels_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"hpo_envs/{m}" for m in sources() if not m.startswith(wheel.LEFT_OUT)]
    paths = [str(tmp_path / name) for name in ("a.whl", "b.whl")]
    for path, some in zip(paths, (names, names[1:]), strict=True):
        with zipfile.ZipFile(path, "w") as archive:
            for name in some:
                archive.writestr(name, "")
    assert wheel.main(paths[:1]) == wheel.main([paths[0], paths[0]]) == 0
    assert f"{len(names)} files, the same without links" in capsys.readouterr().out
    assert wheel.main(paths) == 1
    assert capsys.readouterr().out == f"in one wheel only: {names[0]}\n"
