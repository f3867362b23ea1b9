"""Plans and parts of studies: each run is in one part, and independent of the process that makes it."""

from pathlib import Path
from typing import Any

import pytest

from hpo_envs.benchmarks import Comparison
from hpo_envs.benchmarks.study import plan, store
from hpo_envs.commands.main import main
from hpo_envs.tables.files.lock import locked
from tests.benchmarks.study.helpers import SMALL
from tests.helpers import raises

TOML = """
seeds = 6
budget = 4
environments = ["NMTHPO-zhen-v0", "NMTHPO-jaen-v0"]
agents = ["random", { name = "graph", algorithm = "graph-ei-rbf" }]
"""


@pytest.fixture
def study(tmp_path: Path) -> list[str]:
    (tmp_path / "study.toml").write_text(TOML)
    return ["compare", str(tmp_path / "study.toml"), "--out", str(tmp_path / "runs")]


@pytest.mark.parametrize("n", [1, 3, 10, 500])
def test_each_run_is_in_one_part_and_parts_cost_the_same(n: int) -> None:
    seconds = {"a": 0.1, "b": 2.0, "c": 0.01}
    planned = [plan.PlannedRuns("E", a, tuple(range(100)), 5, s, measured=True) for a, s in seconds.items()]
    parts = [plan.part(planned, k, n) for k in range(1, n + 1)]
    runs = [(a, s) for part in parts for (_, a), seeds in part.items() for s in seeds]
    assert sorted(runs) == [(a, s) for a in seconds for s in range(100)]
    costs = [sum(seconds[a] * len(seeds) for (_, a), seeds in part.items()) for part in parts]
    assert max(costs) <= sum(costs) / n + 2.0


def test_ten_parts_have_digest_of_whole_and_last_verifies(
    study: list[str], tmp_path: Path, capsys: Any, cli: Any
) -> None:
    for k in (10, *range(1, 10)):
        assert main([*study, "--part", f"{k}/10"]) == (k == 10), k
        said = capsys.readouterr().out
        assert f"part {k} of 10: " in said
        assert ("INCOMPLETE" in said) == (k == 10)
    assert "0 runs made, 3 already stored\nall 24 runs of the study are there" in cli([*study, "--part", "10/10"])
    whole = Comparison(tmp_path / "study.toml").run()
    assert store.digest(store.read(tmp_path / "runs")) == whole.digest()


def test_parts_that_are_rejected(study: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(*more: str) -> str:
        assert main([*study, *more]) == 2
        return capsys.readouterr().err

    for text in ("0/3", "4/3", "a", "1/0"):
        assert f"--part must be K/N with 1 <= K <= N, got '{text}'" in refused("--part", text)
    assert main([*study, "--part", "1/2"]) == 0
    capsys.readouterr()
    (held := tmp_path / "runs" / ".parts" / "2-of-2").mkdir()
    with locked(held):
        assert "must be run by one process (by several in parts, --part), got a second one" in refused("--part", "2/2")
    assert main(study) == 0
    capsys.readouterr()
    whole = next(p for p in (tmp_path / "runs" / ".parts").iterdir() if len(p.name) == 16)
    with locked(whole):
        assert "study of " in refused()
    assert "must be of one study, got another one: it differs in graph on NMTHPO-jaen-v0" in refused(
        "--part", "2/2", "--seeds", "100-199"
    )
    assert "--seeds must be an int >= 1 or FIRST-LAST, got 'x'" in refused("--seeds", "x")
    with raises("part must be used with a folder, got 1-of-2 without one"):
        Comparison(SMALL).run(part=(1, 2))


def test_plan_runs_nothing_and_counts_what_is_missing(study: list[str], tmp_path: Path, capsys: Any, cli: Any) -> None:
    lines = [line.split() for line in cli([*study, "--plan"]).splitlines()]
    assert ["random", "12", "12", "48"] in [line[:4] for line in lines]
    assert ["all", "24", "24", "96"] in [line[:4] for line in lines]
    assert not (tmp_path / "runs").exists()
    assert main([*study, "--seeds", "2"]) == 0
    capsys.readouterr()
    assert main([*study, "--plan"]) == 0
    table: Any = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["all", "24", "16", "96"] in [line[:4] for line in table]
