"""Runs scored by environment and agent, and what may not be compared."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.comparison import scored
from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.study.block import Block


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sha256": "0" * 64, "seed": 9}, "runs must share their sha256 of table nmthpo/zhen"),
        ({"budget": 21.0}, "runs must share their budget of NMTHPO-zhen-v0"),
        ({"objectives": ["chrf"]}, "runs must share their objective"),
        ({"versions": {"hpo_envs": "0.0.1"}}, "runs must share their version of hpo_envs"),
        ({}, "runs must be there once, got random on NMTHPO-zhen-v0 with seed 0 twice"),
    ],
)
def test_what_differs_is_not_mixed(runs: list[Run], changes: dict[str, Any], message: str) -> None:
    other = dataclasses.replace(runs[0], header={**runs[0].header, **changes})
    with pytest.raises(ValueError, match=message):
        scored.score([*runs, other])


def test_arguments_are_part_of_the_names(runs: list[Run]) -> None:
    header = {**runs[0].header, "env_kwargs": {"cost": "s", "budget": 3}, "hyperparameters": {"k": 2, "a": 1}}
    other = dataclasses.replace(runs[0], header=header)
    assert scored.environment_of(other.header) == "NMTHPO-zhen-v0 (cost=s)"
    assert scored.agent_of(other.header) == "random (a=1, k=2)"
    scored.score([*runs, other])
    with pytest.raises(ValueError, match="at least one, got none"):
        scored.score([])


def test_an_agent_that_has_seen_the_language_is_another_agent(runs: list[Run]) -> None:
    header = {**runs[0].header, "hyperparameters": {"seen": True, "k": 2}, "seen": ["zh"]}
    marked = [dataclasses.replace(runs[0], header=h) for h in (header, {**header, "agent": "mine", "algorithm": "x"})]
    assert [scored.agent_of(r.header) for r in marked] == ["random (k=2) (seen)", "mine (seen)"]
    unseen = {k: v for k, v in header.items() if k != "seen"}
    assert scored.agent_of(unseen) == "random (k=2, seen=True)"
    found = scored.score([*runs, dataclasses.replace(runs[0], header={**runs[0].header, "seen": ["zh"]})])
    assert {a: len(s.seeds) for a, s in found[runs[0].header["env"]].items() if "random" in a} == {
        "random": 6,
        "random (seen)": 1,
    }


def test_scores_are_kept_by_environment_and_agent(runs: list[Run]) -> None:
    some = [r for r in runs if r.header["env"].startswith("NMTHPO")]
    found = scored.score(some[::-1])
    assert {env: set(by) for env, by in found.items()} == {
        "NMTHPO-zhen-v0": {"random", "graph-ei-rbf", "bo-ei-rbf"},
        "NMTHPO-jaen-v0": {"random", "graph-ei-rbf", "bo-ei-rbf"},
        "NMTHPO-zhen-mo-v0": {"random", "bo-ehvi-rbf"},
    }
    one = found["NMTHPO-zhen-v0"]["random"]
    own = [r for r in some if r.header["env"] == "NMTHPO-zhen-v0" and r.header["agent"] == "random"]
    after = [regret.after(r) for r in own]
    assert one.seeds.tolist() == list(range(6))
    assert one.evaluations.tolist() == [a.tolist() for a in after]
    assert one.shares.shape == (6, len(scored.GRID))
    assert one.shares[:, -1].tolist() == one.evaluations[:, -1].tolist() == one.final.tolist()
    assert one.spent.tolist() == [1.0] * 6
    assert one.score("anytime") == pytest.approx(np.mean(after, axis=1))
    assert one.score("final") is one.final


def one_by_one(block: Block, index: npt.NDArray[np.intp], scales: Any) -> list[npt.NDArray[np.float64]]:
    rows = []
    for run in (block.run(int(i)) for i in index):
        after = regret.after(run)
        spent = run.costs.sum() / float(run.header["budget"])
        rows.append((regret.anytime(run, after), regret.final(run, after), after, run.costs, spent))
    return [np.array(column) for column in zip(*rows, strict=True)]


def test_runs_scored_side_by_side_have_the_scores_of_each(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    tabled = [r for r in runs if r.header["env"].startswith("NMTHPO")]
    short = [dataclasses.replace(r, rewards=r.rewards[:7], costs=r.costs[:7]) for r in tabled if r.seed == 1]
    seconds = {"cost_unit": "s", "budget": 9.5, "env_kwargs": {"cost": "s"}}
    timed = [dataclasses.replace(r, costs=r.costs * (0.3 + r.seed), header={**r.header, **seconds}) for r in tabled]
    everything = [r for r in runs if r.seed != 1] + short + timed
    monkeypatch.setattr(scored, "TOGETHER", 4)
    together = scored.score(everything)
    monkeypatch.setattr(scored, "_measured", one_by_one)
    alone = scored.score(everything)
    for env, by in alone.items():
        for agent, cell in by.items():
            for field in dataclasses.fields(cell):
                np.testing.assert_array_equal(getattr(together[env][agent], field.name), getattr(cell, field.name))
