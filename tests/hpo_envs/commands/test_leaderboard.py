"""Submissions: what was handed in comes out again, and what does not is refused with its place."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.study import store
from hpo_envs.commands import leaderboard
from hpo_envs.commands.main import main

AGENT, ONLY = "hpo_envs.agents.random:RandomSearch", ["--only", "FIESTA-gaussian"]


def exchanged(run: Run) -> Run:
    """Two neighbouring pulls of different arms in the other order: as true, and not what the agent does."""
    j = next(j for j in range(1, len(run)) if run.actions[j] != run.actions[j - 1])
    order = np.arange(len(run))
    order[[j - 1, j]] = j, j - 1
    arrays = {name: getattr(run, name)[order] for name in ("actions", "rewards", "costs")}
    return dataclasses.replace(run, **arrays, evaluated={k: v[order] for k, v in run.evaluated.items()})


def test_two_seeds_come_out_again_or_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = leaderboard.planned
    monkeypatch.setattr(leaderboard, "planned", lambda *arguments: whole(*arguments)[:1])  # the first of three budgets
    mine = tmp_path / "mine"
    assert main(["leaderboard", "run", AGENT, "--runs", str(mine), "--seeds", "3", *ONLY]) == 0
    assert main(["leaderboard", "check", AGENT, "--runs", str(mine), *ONLY]) == 0
    assert "came out the same to the bit" in capsys.readouterr().out
    store.write([exchanged(r) if r.seed == 2 else r for r in store.read(mine)], tmp_path / "false")
    assert main(["leaderboard", "check", AGENT, "--runs", str(tmp_path / "false"), *ONLY]) == 1
    said = capsys.readouterr().out
    assert "FIESTA-gaussian-v0, seed 2: not the run that was handed in" in said
    assert said.count("seed") == 1


def test_agents_of_the_suite_are_no_submission() -> None:
    with pytest.raises(ValueError, match="agent must be module:factory or policy:FILE, got 'random'"):
        leaderboard.planned("random", [0])
