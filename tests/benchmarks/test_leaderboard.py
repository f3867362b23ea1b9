"""The leaderboard: who fits where, how it is made, and that the committed one is scores."""

import json
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.agents import AGENTS, Problem
from hpo_envs.benchmarks import leaderboard
from hpo_envs.benchmarks.comparison import summary
from hpo_envs.benchmarks.comparison.replay import table_of
from hpo_envs.benchmarks.study import store
from hpo_envs.benchmarks.study.study import Entrant, Environment
from hpo_envs.families.registry import FAMILIES, SPECS, kind_of
from hpo_envs.tables import store as tables
from tests.helpers import rejects


@pytest.fixture(autouse=True)
def seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents are not timed."""
    monkeypatch.setattr(leaderboard, "seconds_of", lambda *_: 0.25)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs on an id that has only a synthetic table."""
    path = tmp_path_factory.mktemp("leaderboard") / "runs"
    assert leaderboard.main(["run", "--runs", str(path), "--seeds", "2", "--only", "FIESTA-gaussian-v0"]) == 0
    return path


def test_run_continues_with_what_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(folder.rglob("*.parquet"))
    assert leaderboard.main(["run", "--runs", str(folder), "--seeds", "3", "--only", "FIESTA-gaussian-v0"]) == 0
    assert set(before) < set(folder.rglob("*.parquet"))
    runs = [r for where in (folder, folder / "setting-2", folder / "setting-3") for r in store.read(where)]
    arms = {n for n, e in AGENTS.items() if "arms" in e.supports and e.entrant}
    expected = {(a, s, b) for a in arms for s in range(3) for b in (102, 204, 408)}
    assert ({(r.header["agent"], r.seed, r.header["budget"]) for r in runs}, len(runs)) == (expected, len(expected))


def test_every_seed_is_replicate_and_families_have_several_settings() -> None:
    planned = leaderboard.studies(30, ["FIESTA-gaussian-v0"])
    assert [name for name, _ in planned] == ["", "setting-2", "setting-3"]
    budgets = [study.environments[0].kwargs.get("budget") for _, study in planned]
    assert budgets == [arguments.get("budget") for arguments in FAMILIES["FIESTA"].leaderboard]
    first = planned[0][1]
    assert {c.name for c in first.agents} == {n for n, e in AGENTS.items() if e.entrant and e.unseen is None}
    assert first.by_cost
    assert {study.subsample for _, study in planned} == {0.8}
    assert all("budget" in arguments for f in FAMILIES.values() for arguments in f.leaderboard[1:])


def test_agents_of_other_packages_have_study_of_their_own() -> None:
    pytest.importorskip("optuna")
    planned = leaderboard.studies(3, ["FIESTA-gaussian-v0", "CushLEPOR-ted-ende-v0"], ["optuna"])
    assert [name for name, _ in planned] == ["", "guests-1", "setting-2", "guests-2", "setting-3", "guests-3"]
    for (_, ours), (_, external) in zip(planned[::2], planned[1::2], strict=True):
        assert (external.environments, [c.name for c in external.agents]) == (ours.environments, ["optuna"])
        assert "optuna" not in {c.name for c in ours.agents}
    with pytest.raises(ValueError, match=r"agents must be external, got bo, which the leaderboard already has"):
        leaderboard.studies(3, ["FIESTA-gaussian-v0"], ["optuna", "bo"])


def test_agents_that_learn_from_other_tables_have_study_of_their_own() -> None:
    (base, _), (same, trained), (name, study) = leaderboard.studies(3, ["NMTHPO-swen-v0", "NMTHPO-v0"])
    assert (base, same, name, [c.name for c in trained.agents]) == ("", "", "transfer", [leaderboard.TRAINED])
    assert [(e.id, e.transfer) for e in study.environments] == [("NMTHPO-swen-v0", "family")]
    who = {c.name for c in study.agents}
    assert who == {*leaderboard.BESIDE} | {n for n, e in AGENTS.items() if e.sources or e.unseen}


def test_trained_agent_takes_part_where_it_has_seen_no_environment_of_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def has_unseen(problem: Problem, *, seen: bool = False, **_: Any) -> bool:
        return (
            seen
            or not {"rus", "chi"} & set(problem.held_out)
            or (problem.held_out == ("chi",) and problem.levels is None)
        )

    monkeypatch.setattr("hpo_envs.agents.transfer.learned.has_unseen", has_unseen)
    ids = ["NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0", "NMTHPO-v0", "NMTLC-ft-fren-v0", "NMTLC-ft-zhen-v0", "FIESTA-ner-v0"]
    envs = [Environment(i, {}) for i in ids]
    learned = Entrant("learned", "learned")
    assert [e.id for e in leaderboard.unseen(learned, envs)] == ["NMTHPO-zhen-v0"]
    assert [e.id for e in leaderboard.unseen(learned, envs[3:4])] == ["NMTLC-ft-fren-v0"]


def test_what_is_committed_has_fewer_points_and_same_scores() -> None:
    many = [*range(101)]
    panel = {"x": many, "agents": {"bo": [many, many, many], "random": [many]}}
    found = {"curves": {"env": {"cost": panel}}, "tracks": [{"name": "a", "curves": {"regret": panel}}], "cells": [1]}
    thin = leaderboard.thinned(found)
    (track,), one = thin["tracks"], thin["curves"]["env"]["cost"]
    few = track["curves"]["regret"]
    assert (len(few["x"]), few["x"][0], few["x"][-1]) == (20, 0, 100)
    assert few["agents"] == {"bo": [few["x"]] * 3, "random": [few["x"]]}
    assert one == {"x": few["x"], "agents": {"bo": [few["x"]], "random": [few["x"]]}}
    assert (thin["cells"], track["name"], leaderboard.thinned(thin)) == ([1], "a", thin)


def test_publish_writes_what_is_committed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(leaderboard, "SUMMARY", tmp_path / "leaderboard.json.gz")
    rejects("runs must be on all ids, or all of --only, got none on ...: CellMini", leaderboard.publish, folder)
    assert not leaderboard.SUMMARY.exists()
    leaderboard.publish(folder, ["FIESTA-gaussian-v0"])
    found = summary.read(leaderboard.SUMMARY)
    assert all(r["seconds"] == 0.25 for t in found["tracks"] for r in t["ranking"])
    assert found["versions"]["published"].startswith("20")
    assert {t["name"] for t in found["tracks"]} == {"FIESTA", "FIESTA, budget 102", "FIESTA, budget 408"}
    # Scores and curves of means, no run and no reward.
    rewards = store.read(folder)[0].rewards
    assert not {f"{r:.4g}" for r in rewards[:20]} & set(json.dumps(found, separators=(",", ":")).split(","))


def test_agent_that_is_random_search_within_budget_is_not_listed_beside_it() -> None:
    ranking = [{"agent": a, "random": n} for a, n in (("bo", 0), ("trees", 2), ("random", 2), ("evolution", 1))]
    found = leaderboard.without_doubles({"tracks": [{"environments": ["A-v0", "B-v0"], "ranking": ranking}]})
    (track,) = found["tracks"]
    assert ([r["agent"] for r in track["ranking"]], track["doubles"]) == (["bo", "random", "evolution"], ["trees"])


def test_committed_leaderboard_is_on_measured_tables() -> None:
    found = summary.read(leaderboard.SUMMARY)
    assert found["fronts"] == {}
    for e in found["environments"]:
        assert {t["kind"] for t in e["tables"]} == {kind_of(SPECS[e["id"]])}
    for t in found["tracks"]:
        for r in t["ranking"]:
            assert min(r["n"]) >= 5


def test_committed_leaderboard_is_of_tables_that_are_here() -> None:
    found = summary.read(leaderboard.SUMMARY)
    assert {e["id"] for e in found["environments"]} <= {*SPECS}
    used = {t["name"]: {"env": e["id"], "table": t["name"], **t} for e in found["environments"] for t in e["tables"]}
    here = [header for header in used.values() if not tables.missing(header["table"])]
    assert len(here) > 100
    for header in here:
        table_of(header)  # raises where it has changed


def test_other_peoples_agents_take_part_in_process_of_their_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = leaderboard.studies
    monkeypatch.setattr(leaderboard, "studies", lambda *arguments: whole(*arguments)[:1])  # the first of three budgets
    other = "hpo_envs.agents.random:RandomSearch"
    command = ["run", "--runs", str(folder), "--seeds", "2", "--only", "FIESTA-gaussian-v0", "--agents", other]
    assert leaderboard.main(command) == 0
    runs = store.read(folder, agent=other)
    ours = store.read(folder, agent="random")
    assert [r.header["isolated"] for r in runs] == [True] * 2
    assert [r.rewards.tolist() for r in runs] == [r.rewards.tolist() for r in ours[:2]]
