"""Scores by environment and agent; fronts and selections of runs."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from hpo_envs.benchmarks import Comparison
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.comparison import scored, surfaces
from hpo_envs.benchmarks.comparison.replay import table_of
from hpo_envs.benchmarks.runs import Run, run
from hpo_envs.benchmarks.runs.record import agent_of, environment_of


def of(runs: list[Run]) -> scored.Scores:
    return Comparison.of(runs)._scores


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sha256": "0" * 64, "seed": 9}, "runs must share their sha256 of table nmthpo/zhen"),
        ({"budget": 21.0}, "runs must share their budget of NMTHPO-zhen-v0"),
        ({"objectives": ["chrf"]}, "runs must share their objective"),
        ({"numbers": {"a": 99}}, "runs must share their number version of NMTHPO-"),
        ({"environment_source": {"mine": "0"}}, "runs must share their environment_source of NMTHPO-zhen-v0"),
        ({"algorithm": "mine", "seed": 9}, "runs must share their algorithm of random"),
        ({"agent_source": {"mine": "0"}, "seed": 9}, "runs must share their agent_source of random"),
        ({"agent_versions": {"optuna": "0"}, "seed": 9}, "runs must share their agent_versions of random"),
        ({}, "runs must be unique, got random on NMTHPO-zhen-v0 with seed 0 twice"),
    ],
)
def test_runs_with_different_headers_are_not_mixed(runs: list[Run], changes: dict[str, Any], message: str) -> None:
    other = dataclasses.replace(runs[0], header={**runs[0].header, **changes})
    with pytest.raises(ValueError, match=message):
        of([*runs, other]).scored()


def test_arguments_are_part_of_names(runs: list[Run]) -> None:
    header = {**runs[0].header, "env_kwargs": {"cost": "s", "budget": 3}, "hyperparameters": {"k": 2, "a": 1}}
    other = dataclasses.replace(runs[0], header=header)
    assert environment_of(other.header) == "NMTHPO-zhen-v0 (cost=s)"
    assert agent_of(other.header) == "random (a=1, k=2)"
    of([*runs, other]).scored()
    with pytest.raises(ValueError, match="runs must not be empty, got none"):
        of([]).scored()


def test_an_agent_that_has_seen_the_language_is_another_agent(runs: list[Run]) -> None:
    header = {**runs[0].header, "hyperparameters": {"seen": True, "k": 2}, "seen": ["zh"]}
    marked = [dataclasses.replace(runs[0], header=h) for h in (header, {**header, "agent": "mine", "algorithm": "x"})]
    assert [agent_of(r.header) for r in marked] == ["random (k=2) (seen)", "mine (seen)"]
    unseen = {k: v for k, v in header.items() if k != "seen"}
    assert agent_of(unseen) == "random (k=2, seen=True)"
    found = of([*runs, dataclasses.replace(runs[0], header={**runs[0].header, "seen": ["zh"]})]).scored()
    assert {a: len(s.seeds) for a, s in found[runs[0].header["env"]].items() if "random" in a} == {
        "random": 6,
        "random (seen)": 1,
    }


def test_scores_are_kept_by_environment_and_agent(runs: list[Run]) -> None:
    some = [r for r in runs if r.header["env"].startswith("NMTHPO")]
    found = of(some[::-1]).scored()
    assert {env: set(by) for env, by in found.items()} == {
        "NMTHPO-zhen-v0": {"random", "graph-ei-rbf", "bo-ei-rbf"},
        "NMTHPO-jaen-v0": {"random", "graph-ei-rbf", "bo-ei-rbf"},
        "NMTHPO-zhen-mo-v0": {"random", "bo-ehvi-rbf"},
    }
    one = found["NMTHPO-zhen-v0"]["random"]
    own = [r for r in some if r.header["env"] == "NMTHPO-zhen-v0" and r.header["agent"] == "random"]
    after = [regret.after(r) for r in own]
    assert (one.seeds.tolist(), one.evaluations.tolist()) == (list(range(6)), [a.tolist() for a in after])
    assert one.shares.shape == (6, len(scored.GRID))
    assert one.shares[:, -1].tolist() == one.evaluations[:, -1].tolist() == one.final.tolist()
    assert (one.spent.tolist(), one.score("anytime")) == ([1.0] * 6, pytest.approx(np.mean(after, axis=1)))
    assert one.score("final") is one.final


def test_scores_in_a_batch_equal_those_of_each_run(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    tabled = [r for r in runs if r.header["env"].startswith("NMTHPO")]
    short = [dataclasses.replace(r, rewards=r.rewards[:7], costs=r.costs[:7]) for r in tabled if r.seed == 1]
    seconds = {"cost_unit": "s", "budget": 9.5, "env_kwargs": {"cost": "s"}}
    timed = [dataclasses.replace(r, costs=r.costs * (0.3 + r.seed), header={**r.header, **seconds}) for r in tabled]
    everything = [r for r in runs if r.seed != 1] + short + timed
    monkeypatch.setattr(scored, "TOGETHER", 4)
    together = of(everything).scored()
    cells = {(env, agent): cell for env, by in together.items() for agent, cell in by.items()}
    for r in everything:
        cell = cells[environment_of(r.header), agent_of(r.header)]
        (i,), after, width = np.flatnonzero(cell.seeds == r.seed), regret.after(r), cell.evaluations.shape[1]
        assert (cell.anytime[i], cell.final[i]) == (regret.averaged(r.header, r.costs, after), after[-1])
        assert cell.evaluations[i].tolist() == regret.at_evaluations(after, width).tolist()
        assert cell.costs[i].tolist() == [*r.costs, *[0.0] * (width - len(r))]
        assert cell.spent[i] == r.costs.sum() / r.header["budget"]
    assert sum(len(cell.seeds) for cell in cells.values()) == len(everything)


def test_fronts_in_native_units(summarised: dict[str, Any]) -> None:
    entry = summarised["fronts"]["NMTHPO-zhen-mo-v0"]
    assert (entry["objectives"], entry["signs"]) == (["bleu", "decoding_seconds"], [1.0, -1.0])
    final = entry["stages"]["100%"]["random"]
    median, low, high = (np.array([np.inf if v is None else v for v in band]) for band in final)
    # Seconds that more runs attain are more seconds, and more budget never costs any.
    assert (high <= median).all()
    assert (median <= low).all()
    early = np.array([np.inf if v is None else v for v in entry["stages"]["25%"]["random"][0]])
    assert (median <= early).all()
    assert np.isfinite(median).any()


def made(rewards: list[list[float]], costs: list[float], **header: Any) -> Run:
    head = {"table": "no/such", "objectives": ["a", "b"], "budget": 10.0, **header}
    return Run(0, np.zeros(len(costs), int), np.array(rewards), np.array(costs), 0, head)


def test_what_is_finished_within_share_of_budget_counts() -> None:
    r = made([[1.0, 5.0], [2.0, 3.0], [3.0, 1.0]], [4.0, 1.0, 9.0])
    assert [
        len(surfaces.within_budget(r.rewards, r.costs, 10.0, part)) for part in (0.1, 0.4, 0.49, 0.5, 0.99, 1.0)
    ] == [1, 1, 1, 2, 2, 3]


def test_attainment_surfaces_equal_those_by_hand() -> None:
    pairs = ([1.0, 6.0], [1.0, 5.0], [2.0, 4.0], [1.0, 1.0])
    runs = [made([pair], [1.0]) for pair in pairs]
    # Second rewards of the runs that have the first one: (6, 5, 4, 1) up to 1, and 4 up to 2.
    found = surfaces.surfaces([(r.rewards, r.costs) for r in runs], 10.0, [1.0, 2.0])
    assert [s.tolist() for s in found] == [[5.0, -np.inf], [4.0, -np.inf], [6.0, 4.0]]


def test_only_two_objectives_have_fronts(runs: list[Run]) -> None:
    found = surfaces.of_cells(of(runs).cells)
    assert list(found) == ["NMTHPO-zhen-mo-v0"]
    entry = found["NMTHPO-zhen-mo-v0"]
    assert (list(entry["stages"]), set(entry["stages"]["50%"])) == (["25%", "50%", "100%"], {"random", "bo-ehvi-rbf"})
    assert (np.diff(entry["x"]) > 0).all()


def test_errors_and_evaluations_are_those_of_runs() -> None:
    env = "FIESTA-gaussian-v0"
    runs = [r for a in ("sh", "ttts", "random") for b in (102, 408) for r in run(a, env, range(12), budget=b)]
    found = Comparison.of(runs).summary()
    assert (found["selections"], list(found["selections"])) == (Comparison.of(runs).scores["selections"], ["FIESTA"])
    records = {(r["agent"], r["budget"]): r for r in found["selections"]["FIESTA"]}
    assert len(records) == 6
    best = table_of(runs[0].header).final("score").argmax()
    for (agent, budget), record in records.items():
        own = [r for r in runs if (r.header["agent"], r.header["budget"]) == (agent, budget)]
        wrong = sum(int(r.recommended) != best for r in own)
        assert record["n"] == 12
        assert record["wrong"] == pytest.approx([wrong / 12, *binomtest(wrong, 12).proportion_ci()], abs=1e-3)
        assert record["evaluations"] == pytest.approx(np.mean([len(r) for r in own]), rel=1e-3)
    assert records["ttts", 408]["sure"] == 1.0  # these arms are easy
    assert records["ttts", 408]["evaluations"] < 102
    # Halving ends a few pulls before its budget, because its rounds are whole; it is never sure.
    assert records["sh", 408]["sure"] == records["random", 102]["sure"] == 0.0
    # Budgets that the leaderboard shows apart are tracks of their own.
    assert [t["name"] for t in found["tracks"]] == ["FIESTA, budget 102", "FIESTA, budget 408"]
    assert {t["score"] for t in found["tracks"]} == {"final"}


def test_other_families_have_no_selections() -> None:
    runs = run("random", "NMTHPO-zhen-v0", [0, 1])
    assert Comparison.of(runs).scores["selections"] == {}
