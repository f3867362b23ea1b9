"""The script that compares runs made in different ways; it compares everything at night."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hpo_envs.agents.random import RandomSearch
from tests.regression import determinism


class Hashed(RandomSearch):
    """Depends on the hash seed."""

    def __init__(self, problem: Any, seed: int) -> None:
        super().__init__(problem, seed + hash("seed") % 1000)


def test_what_depends_on_the_hash_seed_differs_and_nothing_else(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    hashed = f"{__name__}:Hashed"
    some = ["--ids=NMTHPO-zhen-v0", f"--agents=random,{hashed}", "--jobs=1", "--ways=processes"]
    assert determinism.main([str(tmp_path), *some]) == 1
    out = capfd.readouterr().out
    assert "\n4 runs of 2 agents on 1 ids, 2 ways: 2 differ, sha256 " in out
    table = ["| agent | runs | processes |", "|---|---:|---:|", f"| `{hashed}` | 2 | 2 |"]
    assert [line for line in out.splitlines() if line[0] == "|"] == table
    for part in (tmp_path / "processes").rglob("random-*.parquet"):
        part.unlink()
    assert len(determinism.compare(tmp_path, ["together", "processes"])["processes"]) == 4, "what is missing differs"


def test_what_is_there_is_not_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        determinism.work(tmp_path, "together", ["NMTHPO-zhen-v0"], ["random"], 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "0 runs found, 2 made, 0 agents failed",
        "2 runs found, 0 made, 0 agents failed",
    ]
