"""Submissions: where an agent takes part, and what is missing of its runs."""

from pathlib import Path

import pytest

from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import from_data
from hpo_envs.commands import leaderboard
from hpo_envs.commands.main import main
from hpo_envs.families.registry import SPECS

AGENT = "hpo_envs.agents.random:RandomSearch"


def test_a_missing_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", "check", AGENT, "--runs", str(tmp_path / "mine"), "--only", "FIESTA"]) == 2
    assert f"--runs must be a folder of runs, got {tmp_path / 'mine'}" in capsys.readouterr().err


def test_a_family_without_runs_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["leaderboard", "check", f"{__name__}:OnArms", "--runs", str(tmp_path), "--only", "FIESTA", "CushLEPOR"]
    assert main(words) == 1
    said = capsys.readouterr().out.splitlines()
    assert {line.partition("-")[0] for line in said if line.endswith(": no run")} == {"FIESTA"}


class OnArms(RandomSearch):
    supports = ("arms",)


def test_agents_take_part_where_they_say_that_they_work(tmp_path: Path) -> None:
    plans = leaderboard.planned(f"{__name__}:OnArms", [0])
    assert {e.id.partition("-")[0] for _, study in plans for e in study.environments} == {"FIESTA"}
    ids = ["FIESTA-gaussian-v0", "CushLEPOR-ted-ende-v0"]
    for isolate in (False, True):
        data = {"environments": ids, "agents": [f"{__name__}:OnArms"], "seeds": 1, "budget": 3, "isolate": isolate}
        outcome = conduct(from_data(data), None)
        assert outcome.pairs.keys() == {(ids[0], f"{__name__}:OnArms")}
        assert outcome.skipped == [(ids[1], f"{__name__}:OnArms")]


class Unknown(RandomSearch):
    supports = ("arm",)


def test_an_unknown_kind_of_problem_is_refused() -> None:
    with pytest.raises(ValueError, match="supports of .*:Unknown must be one of .*, got 'arm', did you mean 'arms'"):
        leaderboard.planned(f"{__name__}:Unknown", [0])


@pytest.mark.parametrize("text", ["FIEST", "gaussian", "NMTHPO-z"])
def test_only_names_families_and_ids(text: str) -> None:
    with pytest.raises(ValueError, match=f"--only must be families or ids .*, got '{text}'"):
        leaderboard.planned(AGENT, [0], [text])
    assert {e.id for _, s in leaderboard.planned(AGENT, [0], ["CharMini"]) for e in s.environments} == {
        i for i, spec in SPECS.items() if spec.family == "CharMini"
    }
