"""Content of a summary, and refused input."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks import Comparison, run
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.study import store


class Repeats(RandomSearch):
    """An agent that inherits `random_first`, but not what it says."""

    def ask(self) -> Any:
        return 0


def test_agent_is_not_random_search_because_it_inherits_from_it() -> None:
    made = [r for agent in ("random", "bo", Repeats) for r in run(agent, "NMTHPO-zhen-v0", range(3), budget=3)]
    said = {r["agent"]: r["random"] for r in Comparison.of(made).scores["tracks"][0]["ranking"]}
    assert said == {"random": 1, "bo": 1, "Repeats": 0}


def test_summary_is_plain_and_complete(runs: list[Run], summarised: dict[str, Any]) -> None:
    assert json.loads(json.dumps(summarised, allow_nan=False)) == summarised
    tracks = {t["name"]: t for t in summarised["tracks"]}
    assert list(tracks) == ["NMTHPO", "NMTHPO-zhen-mo-v0", "FIESTA", "NMTLC"]
    t = tracks["NMTHPO"]
    assert (t["environments"], t["score"]) == (["NMTHPO-zhen-v0", "NMTHPO-jaen-v0"], "anytime")
    assert tracks["FIESTA"]["score"] == "final"
    means = [r["mean"][0] for r in t["ranking"]]
    assert (means, len(t["pairs"]), t["groups"]) == (sorted(means), 3, 2)
    assert t["best"]["there"] is None
    assert {r["there"] for r in t["ranking"]} == {"inconclusive"}
    assert Comparison.of(runs).scores["tracks"][0] == {k: v for k, v in t.items() if k != "curves"}
    # The mean by hand, from the runs alone.
    own = [r for r in runs if r.header["env"] in t["environments"] and r.header["agent"] == "random"]
    by_hand = np.mean([regret.after(r).mean() for r in own])
    record = next(r for r in t["ranking"] if r["agent"] == "random")
    assert record["mean"][0] == pytest.approx(by_hand, rel=1e-3)
    assert record["mean"][1] < record["mean"][0] < record["mean"][2]
    assert set(summarised["curves"]["NMTLC-ft-zhen-v0"]) == {"evaluations", "cost"}
    # No reward of an evaluation is left in it once fronts are taken out.
    bare = Comparison.of(runs[:12]).summary(with_fronts=False)
    assert bare["fronts"] == {}
    assert str(round(float(runs[0].rewards[0]), 2)) not in json.dumps(bare)


def test_order_of_runs_changes_nothing(runs: list[Run], summarised: dict[str, Any]) -> None:
    some = [r for r in runs if r.header["env"] == "NMTHPO-zhen-v0"]
    forward, backward = Comparison.of(some).summary(), Comparison.of(some[::-1]).summary()
    assert forward["tracks"][0]["ranking"] == backward["tracks"][0]["ranking"]


def test_stored_runs_are_summarised_part_by_part(runs: list[Run], summarised: dict[str, Any], tmp_path: Path) -> None:
    ordered = sorted(runs, key=store.key_of)
    for part in (ordered[::2], ordered[1::2]):
        store.write(part, tmp_path)
    stored = Comparison.load(tmp_path).summary()
    expected = Comparison.of(ordered).summary()
    assert "there is no study.json" in stored["missing"]
    assert stored == expected | {name: stored[name] for name in ("checked", "missing")}
    assert [*stored["curves"]] == [*expected["curves"]]
    assert stored["fronts"] == summarised["fronts"]
    other = dataclasses.replace(ordered[0], costs=ordered[0].costs * 2.0)
    store.write([other], tmp_path / "other")
    for file in (tmp_path / "other").glob("*/*.parquet"):
        shutil.copy(file, tmp_path / file.parent.name)
    with pytest.raises(ValueError, match="a run must have one result"):
        list(store.Store(tmp_path).once())
