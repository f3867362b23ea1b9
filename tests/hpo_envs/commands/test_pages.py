"""`hpo-envs report`, `reproduce`, `leaderboard` and `tune`: pages, and incomplete submissions."""

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks.papers import common
from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.study import store
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import from_data
from hpo_envs.commands import leaderboard, reproduce
from hpo_envs.commands import main as command
from hpo_envs.commands.main import main
from hpo_envs.families.registry import SPECS


def test_non_comparison_is_rejected(tmp_path: Path, cli: Any) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.json").write_text('{"title": 1}')
    (tmp_path / "y.json").write_text("[")
    (tmp_path / "z.json.gz").write_bytes(gzip.compress(b"[]")[:-9])
    for path, message in {
        "empty": "runs must not be empty",
        "x.json": "must be a summary with",
        "y.json": "must be a folder of runs or a summary",
        "z.json.gz": "got a truncated one",
        "none": "no such file",
    }.items():
        assert message in cli(["report", str(tmp_path / path)], 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reproduce", "chars"], "did you mean 'charhpo'"),
        (["reproduce", "charhpo", "--only", "table"], "--only must be one of"),
        (["reproduce", "charhpo", "--trials", "0"], "--trials must be an int >= 1, got 0"),
        (["reproduce", "charhpo", "--seed", "-1"], "--seed must be an int >= 0, got -1"),
        (["reproduce", "fiesta", "--quick", "--trials", "3"], "--quick chooses the trials itself"),
        (["reproduce", "all", "--only", "table2"], "--only needs one paper, got all and 'table2'"),
    ],
)
def test_commands_name_what_is_wrong(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(words) == 2
    assert message in capsys.readouterr().err


def test_all_papers_are_on_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}

    def main(name: str, parts: object, out: Path, **options: object) -> int:
        seen[name] = options
        common.reproduce(name, {"x": lambda r: r.compare_published("Table 1", name, "1", "1", "agrees")}, out)
        return int(len(seen) == 3)  # one of six

    monkeypatch.setattr(reproduce, "reproduce", main)
    assert command.main(["reproduce", "all", "--quick", "--jobs", "2", "--seed", "4", "--out", str(tmp_path)]) == 1
    assert sorted(seen) == ["charhpo", "cushlepor", "fiesta", "nasbenchnlp", "nmthpo", "nmtlc"]
    assert seen["fiesta"]["jobs"] == 2
    assert seen["fiesta"]["trials"] < 500
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "hpo-envs reproduce all --quick --seed 4" in text
    assert text.count("<summary>Table 1: 1 agrees</summary>") == 6


AGENT, ONLY = "hpo_envs.agents.random:RandomSearch", ["--only", "fiesta-gaussian*"]


def exchanged(run: Run) -> Run:
    """Two neighbouring pulls of different arms in the other order: still true, but not what the agent does."""
    j = next(j for j in range(1, len(run)) if run.actions[j] != run.actions[j - 1])
    order = np.arange(len(run))
    order[[j - 1, j]] = j, j - 1
    arrays = {name: getattr(run, name)[order] for name in ("actions", "rewards", "costs")}
    return dataclasses.replace(run, **arrays, evaluated={k: v[order] for k, v in run.evaluated.items()})


def test_two_seeds_are_repeated_exactly_or_the_submission_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = leaderboard.planned
    monkeypatch.setattr(leaderboard, "planned", lambda *arguments: whole(*arguments)[:1])  # the first of three budgets
    mine = tmp_path / "mine"
    assert main(["leaderboard", "run", AGENT, "--runs", str(mine), "--seeds", "3", *ONLY]) == 0
    assert "are identical to the bit" in cli(["leaderboard", "check", AGENT, "--runs", str(mine), *ONLY])
    monkeypatch.setattr(leaderboard, "AGAIN", 3)  # all of them: two are drawn at random
    store.write([exchanged(r) if r.seed == 2 else r for r in store.read(mine)], tmp_path / "false")
    assert main(["leaderboard", "check", AGENT, "--runs", str(tmp_path / "false"), *ONLY]) == 1
    said = capsys.readouterr().out
    assert f"FIESTA-gaussian-v0, seed 2: not the run in {tmp_path / 'false'}" in said
    assert said.count(", seed ") == 1


def test_agents_of_suite_are_no_submission() -> None:
    with pytest.raises(ValueError, match="agent must be module:factory or policy:FILE, got 'random'"):
        leaderboard.planned("random", [0])


SPACE = """
x = { low = 0.0, high = 1.0 }
kind = ["good", "bad"]
depth = { low = 1, high = 3, if = { kind = ["good"] } }
"""
FUNCTION = "tests.hpo_envs.tuning.helpers:train"


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    (tmp_path / "space.toml").write_text(SPACE, encoding="utf-8")
    return ["tune", FUNCTION, "--space", str(tmp_path / "space.toml"), "--out", str(tmp_path / "out")]


def test_tune_searches_and_resumes(words: list[str], capsys: pytest.CaptureFixture[str], cli: Any) -> None:
    assert main([*words, "--budget", "4"]) == 0
    assert f"4 evaluations of {FUNCTION} by auto (box-bo), 0 without a score; best: score" in capsys.readouterr().out
    facts = json.loads(cli([*words, "--budget", "6", "--json"]))
    assert (facts["evaluations"], set(facts["metrics"])) == (6, {"score"})


def test_mistakes_are_named(words: list[str], tmp_path: Path, cli: Any) -> None:
    for file, message in (("none.toml", "none.toml must be a usable file"), ("bad.toml", "must be a TOML file, got")):
        (tmp_path / "bad.toml").write_text("x = ", encoding="utf-8")
        assert message in cli([*words, "--space", str(tmp_path / file)], 2)
    words[1] = "tests.hpo_envs.tuning.helpers:trian"
    assert "function must be importable as module:name" in cli(words, 2)


def test_a_missing_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", "check", AGENT, "--runs", str(tmp_path / "mine"), "--only", "FIESTA"]) == 2
    assert f"--runs must be a folder of runs, got {tmp_path / 'mine'}" in capsys.readouterr().err


def test_a_family_without_runs_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["leaderboard", "check", f"{__name__}:OnArms", "--runs", str(tmp_path), "--only", "FIESTA", "CushLEPOR"]
    assert main(words) == 1
    said = capsys.readouterr().out.splitlines()
    assert {line.partition("-")[0] for line in said if f": no run in {tmp_path}" in line} == {"FIESTA"}
    assert main([*words[:-2], "CushLEPOR"]) == 2
    assert "agent must support one of CushLEPOR, got" in capsys.readouterr().err


class OnArms(RandomSearch):
    supports = ("arms",)


def test_agents_take_part_where_they_say_that_they_work(tmp_path: Path) -> None:
    plans = leaderboard.planned(f"{__name__}:OnArms", [0], ["FIESTA", "CushLEPOR"])
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
