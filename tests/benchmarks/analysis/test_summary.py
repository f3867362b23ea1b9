"""Regret by hand, what a summary refuses, and pictures drawn from it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.agents.models.hypervolume import hypervolume
from hpo_envs.benchmarks.analysis import reference, regret, scored, summary
from hpo_envs.benchmarks.report import plots
from hpo_envs.benchmarks.runs import Run, run
from hpo_envs.tables import store

SURROGATE = {"table": "surrogate"}
ONE = regret.Scale(np.array([10.0]), np.array([5.0]), "table")


def made(rewards: Any, costs: Any, unit: str = "evaluations", budget: float = 4.0, **changes: Any) -> Run:
    rewards = np.asarray(rewards, dtype=float)
    header = {"cost_unit": unit, "budget": budget, "objectives": ["m"]}
    fields = {"actions": np.arange(len(rewards)), "recommended": 0, **changes}
    return Run(0, rewards=rewards, costs=np.asarray(costs, dtype=float), header=header, **fields)


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    """Two agents on two environments with one objective, one with two, a bandit and curves."""
    plan = {
        "NMTHPO-zhen-v0": ("random", "graph-ei-rbf", "bo-ei-rbf"),
        "NMTHPO-jaen-v0": ("random", "graph-ei-rbf", "bo-ei-rbf"),
        "NMTHPO-zhen-mo-v0": ("random", "bo-ehvi-rbf"),
        "FIESTA-tdsa8-v0": ("random", "sh"),
        "NMTLC-ft-zhen-v0": ("random", "hyperband"),
    }
    return [
        r
        for env, names in plan.items()
        for a in names
        for r in run(a, env, range(6), budget=None, env_kwargs=SURROGATE)
    ]


@pytest.fixture(scope="module")
def summarised(runs: list[Run]) -> dict[str, Any]:
    return summary.of_runs(runs, title="A test", command="hpo-envs compare")


def test_regret_by_hand() -> None:
    r = made([4.0, 7.5, 6.0, 11.0], [1, 1, 1, 1])
    after = regret.after(r, ONE)
    # Worse than the origin counts as the origin, better than the best known as the best.
    assert after.tolist() == [1.0, 0.5, 0.5, 0.0]
    assert regret.anytime(r, after) == 0.5
    assert regret.final(r, ONE) == 0.0
    assert regret.runtimes(r, after, [1.0, 0.5, 0.1, 0.0]).tolist() == [1.0, 2.0, 4.0, 4.0]
    short = made([7.5], [1])
    assert regret.runtimes(short, regret.after(short, ONE), [0.5, 0.1]).tolist() == [1.0, np.inf]
    assert regret.anytime(short, regret.after(short, ONE)) == 0.5


def test_regret_by_cost_counts_what_is_finished() -> None:
    r = made([7.5, 10.0], [30.0, 90.0], unit="s", budget=100.0)
    after = regret.after(r, ONE)
    shares = [0.1, 0.29, 0.3, 0.99, 1.0]
    # The second training costs more than is left and counts at the end.
    assert regret.at_costs(after, r.costs, 100.0, shares).tolist() == [1.0, 1.0, 0.5, 0.5, 0.0]
    # Read at 1 to 100 per cent: 29 times 1, 70 times 0.5, once 0.
    assert regret.anytime(r, after) == pytest.approx((29 + 35) / 100)
    assert regret.runtimes(r, after, [0.5, 0.0]).tolist() == [30.0, 120.0]


def test_regret_of_bandits_by_hand() -> None:
    scale = regret.Scale(np.array([3.0]), np.array([2.0]), "table", means=np.array([1.0, 2.0, 3.0]))
    r = made([9.0, 5.0, 1.0, 6.0], [1, 1, 1, 1], actions=np.array([1, 2, 1, 2]), recommended=np.int64(0))
    # Arm 1 leads with 9, then has mean 5, as arm 2 (the first of equals leads); then arm 2 has 5.5.
    assert regret.after(r, scale).tolist() == [1.0, 1.0, 1.0, 0.0]
    assert regret.final(r, scale) == 1.0


def test_regret_of_two_objectives_is_hypervolume() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(60, 2))
    scale = regret._several(points, "table")
    r = made(points, np.ones(60))
    after = regret.after(r, scale)
    brute = [1 - hypervolume(-points[: k + 1], -scale.origin) / scale.volume for k in range(60)]
    assert after == pytest.approx(np.clip(brute, 0, 1), abs=1e-12)
    assert after[-1] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="objectives must be one or two"):
        regret._several(rng.uniform(size=(5, 3)), "table")


def test_the_scale_of_a_table_is_its_optimum(runs: list[Run]) -> None:
    r = runs[0]
    scale = regret.scales([r])[regret.key(r)]
    assert scale.best == pytest.approx(reference.of_run(r).best)
    table = store.load(r.header["table"], "surrogate")
    assert scale.origin == pytest.approx(np.median(table.final("bleu")))
    # A row that is best at a level before its last counts with that level.
    curves = next(r for r in runs if r.header["env"].startswith("NMTLC"))
    t = store.load(curves.header["table"], "surrogate")
    best = -np.nanmin(t.values[..., t.metric("log_perplexity")])
    assert regret.scales([curves])[regret.key(curves)].best == pytest.approx(best)
    stale = dataclasses.replace(r, header={**r.header, "sha256": "0" * 64})
    with pytest.raises(ValueError, match="runs must be scored against the table they were made on"):
        regret.scales([stale])


def test_what_nobody_knows_is_measured_against_what_was_seen() -> None:
    seen = run("random", "CharHPO-v0", [0], budget=8)
    scale = regret.scales(seen)[regret.key(seen[0])]
    table = store.load(seen[0].header["table"], "surrogate").final(seen[0].header["objectives"][0])
    assert scale.source == "seen"
    assert scale.best[0] == max(seen[0].rewards.max(), table.max())
    assert scale.origin[0] == np.median(table)
    own = [dataclasses.replace(r, header={**r.header, "table": "mine/own"}) for r in seen]
    assert regret.scales(own)[regret.key(own[0])].best[0] == seen[0].rewards.max()
    searched = run("random", "CushLEPOR-ted-ende-v0", [0], budget=5, env_kwargs=SURROGATE)
    scale = regret.scales(searched)[regret.key(searched[0])]
    assert scale.source == "searched"
    assert scale.best[0] > searched[0].rewards.max()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "measured", "env": "NMTHPO-ruen-v0", "table": "nmthpo/ruen"}, "runs must not mix kinds of tables"),
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
        summary.of_runs([*runs, other])


def test_arguments_are_part_of_the_names(runs: list[Run]) -> None:
    header = {**runs[0].header, "env_kwargs": {"cost": "s", "budget": 3}, "hyperparameters": {"k": 2, "a": 1}}
    other = dataclasses.replace(runs[0], header=header)
    assert scored.environment_of(other) == "NMTHPO-zhen-v0 (cost=s)"
    assert scored.agent_of(other) == "random (a=1, k=2)"
    scored.check([*runs, other])
    with pytest.raises(ValueError, match="at least one, got none"):
        scored.check([])


def test_summary_is_plain_and_complete(runs: list[Run], summarised: dict[str, Any]) -> None:
    assert json.loads(json.dumps(summarised, allow_nan=False)) == summarised
    tracks = {t["name"]: t for t in summarised["tracks"]}
    assert list(tracks) == ["NMTHPO", "NMTHPO-zhen-mo-v0", "FIESTA", "NMTLC"]
    t = tracks["NMTHPO"]
    assert (t["environments"], t["score"]) == (["NMTHPO-zhen-v0", "NMTHPO-jaen-v0"], "anytime")
    assert tracks["FIESTA"]["score"] == "final"
    means = [r["mean"][0] for r in t["ranking"]]
    assert means == sorted(means)
    assert len(t["pairs"]) == 3
    assert t["clusters"] == 2
    assert t["best"]["there"] is None
    assert {r["there"] for r in t["ranking"]} == {"open"}
    assert summary.scores(runs)["tracks"][0] == {k: v for k, v in t.items() if k != "curves"}
    # The mean by hand, from the runs alone.
    own = [r for r in runs if r.header["env"] in t["environments"] and r.header["agent"] == "random"]
    scales = regret.scales(own)
    by_hand = np.mean([regret.after(r, scales[regret.key(r)]).mean() for r in own])
    record = next(r for r in t["ranking"] if r["agent"] == "random")
    assert record["mean"][0] == pytest.approx(by_hand, rel=1e-3)
    assert record["mean"][1] < record["mean"][0] < record["mean"][2]
    assert set(summarised["curves"]["NMTLC-ft-zhen-v0"]) == {"evaluations", "cost"}
    # No reward of an evaluation is left in it once fronts are taken out.
    bare = summary.of_runs(runs[:12], with_fronts=False)
    assert bare["fronts"] == {}
    assert str(round(float(runs[0].rewards[0]), 2)) not in json.dumps(bare)


def test_order_of_runs_changes_nothing(runs: list[Run], summarised: dict[str, Any]) -> None:
    some = [r for r in runs if r.header["env"] == "NMTHPO-zhen-v0"]
    forward, backward = summary.of_runs(some), summary.of_runs(some[::-1])
    assert forward["tracks"][0]["ranking"] == backward["tracks"][0]["ranking"]


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


def test_pictures_are_drawn(summarised: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    t = summarised["tracks"][0]
    written = [
        *plots.heat_map(t, tmp_path / "heat"),
        *plots.ranking(t, tmp_path / "ranking"),
        *plots.curves(t["curves"]["ert"], tmp_path / "a.b", "target", "cost", "x", xscale="log", yscale="log"),
        *plots.fronts("NMTHPO-zhen-mo-v0", summarised["fronts"]["NMTHPO-zhen-mo-v0"], tmp_path / "fronts"),
    ]
    assert len(set(written)) == 8
    assert (tmp_path / "a.b.svg").exists()
    for file in written:
        assert file.read_bytes().startswith(b"\x89PNG" if file.suffix == ".png" else b"<?xml")
    assert len({(v["color"], v["linestyle"]) for v in plots.styles([str(i) for i in range(20)]).values()}) == 20
