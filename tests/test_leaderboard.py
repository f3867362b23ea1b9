"""The leaderboard: who fits where, how it is made, and that the committed one is scores and what the README says."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import pytest

from hpo_envs.agents import AGENTS
from hpo_envs.benchmarks import leaderboard, runs, store
from hpo_envs.registry import SPECS
from hpo_envs.tables import store as tables

ROOT = Path(__file__).parents[1]
IDS = {
    "rows": "NMTHPO-zhen-v0",
    "objectives": "NMTHPO-zhen-mo-v0",
    "grid": "NMTHPO-v0",
    "box": "CushLEPOR-ted-ende-v0",
    "arms": "FIESTA-tdsa8-v0",
    "levels": "NMTLC-ft-zhen-v0",
    "cells": "NASBenchNLP-cell-v0",
}


def fitting(env: str) -> set[str]:
    envs = gym.make_vec(env, num_envs=1, table="surrogate")
    problem = runs.problem_of(envs)
    return {name for name in AGENTS if leaderboard.fits(name, SPECS[env], problem)}


def test_every_agent_fits_what_it_supports() -> None:
    fit = {stage: fitting(env) for stage, env in IDS.items()}
    assert set.union(*fit.values()) == set(AGENTS)
    assert all("random" in names for names in fit.values())
    assert "bo" in fit["rows"] & fit["objectives"] & fit["grid"] & fit["levels"]
    assert {n for n in fit["objectives"] if n.startswith("graph-ehvi")}
    assert not {n for n in fit["rows"] if "ehvi" in n}
    assert "bo-ei-rbf" not in fit["objectives"] | fit["arms"] | fit["box"]
    assert {"ttts", "sh"} <= fit["arms"]
    assert {"hyperband", "asha"} <= fit["levels"] - fit["rows"]
    assert "cmaes" in fit["box"] - fit["grid"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two agents on an id that has only a synthetic table."""
    path = tmp_path_factory.mktemp("leaderboard") / "runs"
    for agent in ("random", "sh"):
        leaderboard.perform(("FIESTA-gaussian-v0", agent, (0, 1, 2)), path)
    return path


def test_what_is_done_is_not_run_again(folder: Path) -> None:
    todo = leaderboard.tasks(folder, 4, 2, ["gaussian"])
    assert {env for env, _, _ in todo} == {"FIESTA-gaussian-v0"}
    by_agent = {name: seeds for _, name, seeds in todo}
    assert (by_agent["sh"], by_agent["random"], by_agent["ttts"]) == ((3,), (3,), (0, 1, 2, 3))
    assert not [t for t in leaderboard.tasks(folder, 3, 2, ["gaussian"]) if t[1] in ("random", "sh")]


def test_external_samplers_run_fewer_seeds(tmp_path: Path) -> None:
    counts: dict[str, int] = {}
    for _, name, seeds in leaderboard.tasks(tmp_path, 50, 5, ["CharHPO-v0"]):
        counts[name] = counts.get(name, 0) + len(seeds)
    assert (counts["random"], counts["tpe"]) == (50, 5)


def test_publish_writes_scores_page_picture_and_readme(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(leaderboard, "SUMMARY", tmp_path / "leaderboard.json")
    (tmp_path / "README.md").write_text("Before.\nAfter.\n")
    with pytest.raises(ValueError, match=r"README.md must have the lines"):
        leaderboard.publish(folder, tmp_path)
    (tmp_path / "README.md").write_text(f"Before.\n{leaderboard.BEGIN}\nold\n{leaderboard.END}\nAfter.\n")
    leaderboard.publish(folder, tmp_path)
    found = json.loads((tmp_path / "leaderboard.json").read_text())
    text = (tmp_path / "README.md").read_text()
    assert text == f"Before.\n{leaderboard.BEGIN}\n{leaderboard.markdown(found)}\n{leaderboard.END}\nAfter.\n"
    assert "| FIESTA (1, at the end) | `sh` |" in text
    for name in ("leaderboard.png", "leaderboard.svg", "leaderboard.html"):
        assert (tmp_path / "docs" / name).stat().st_size > 1000
    # Scores and curves of means, no run and no reward.
    rewards = store.read(folder)[0].rewards
    assert not {f"{r:.4g}" for r in rewards[:20]} & set((tmp_path / "leaderboard.json").read_text().split(","))


COMMITTED = leaderboard.SUMMARY.exists()


@pytest.mark.skipif(not COMMITTED, reason="no leaderboard is committed")
def test_committed_leaderboard_is_on_measured_tables_and_complete() -> None:
    found = json.loads(leaderboard.SUMMARY.read_text(encoding="utf-8"))
    assert found["fronts"] == {}
    for e in found["environments"]:
        spec = SPECS[e["id"]]
        measured = not spec.surrogate_only and all(tables.measurable(t) for t in spec.tables)
        assert {t["kind"] for t in e["tables"]} == {"measured" if measured else "surrogate"}
    there = {e["id"] for e in found["environments"]}
    # Its full logs are not among the files that everybody can fetch in minutes.
    assert {s for s in SPECS if not s.startswith("NMTHPO-v0")} - there <= {"NASBenchNLP-ptb-v0"}
    for t in found["tracks"]:
        for r in t["ranking"]:
            external = AGENTS[r["agent"]].extra in leaderboard.EXTERNAL
            assert set(r["n"]) == {20 if external else 100}


@pytest.mark.skipif(not COMMITTED, reason="no leaderboard is committed")
@pytest.mark.measured
def test_committed_leaderboard_is_of_the_tables_that_are_here() -> None:
    found = json.loads(leaderboard.SUMMARY.read_text(encoding="utf-8"))
    for name, kind, sha256 in {(t["name"], t["kind"], t["sha256"]) for e in found["environments"] for t in e["tables"]}:
        assert tables.load(name, kind).provenance.sha256 == sha256, name


@pytest.mark.skipif(not COMMITTED or not (ROOT / "README.md").exists(), reason="no leaderboard or no README here")
def test_readme_shows_the_committed_leaderboard() -> None:
    found = json.loads(leaderboard.SUMMARY.read_text(encoding="utf-8"))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert leaderboard.markdown(found) in text
