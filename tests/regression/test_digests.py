"""Digests of the suite (a part of `digests.py`, which checks all at night), and unnoticed changes of results."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.agents import AGENTS
from hpo_envs.benchmarks.comparison import summary
from tests.helpers import ONE_OF_EACH, WIDE
from tests.regression import digests, results

RECORD = digests.read()
SMALL = [
    key for key in digests.small(RECORD) if WIDE or not key.endswith("/batched") or key.partition("/")[0] in ONE_OF_EACH
]
"""Both forms agree on all ids of a class if they do on one."""
NUMBERS = digests.numbers()


@pytest.mark.parametrize("env_id", sorted({key.partition("/")[0] for key in SMALL}))
def test_recorded_digests_are_unchanged(env_id: str) -> None:
    tasks: Any = [tuple(key.split("/")) for key in SMALL if key.startswith(f"{env_id}/")]
    now = {"/".join(task): value for task, value in map(digests.digest, tasks)}
    assert digests.report({key: RECORD[key] for key in now}, now, digests.here()) == 0


def test_everything_is_recorded_and_nothing_that_is_gone() -> None:
    now = {"/".join(task) for task in digests.tasks()}
    assert sorted(now - RECORD.keys()) == [], digests.NEW
    missing = {name for name, entry in AGENTS.items() if not entry.installed}
    gone = RECORD.keys() - now
    assert sorted(key for key in gone if key.rpartition("/")[2] not in missing) == []


def test_number_versions_are_those_of_the_record() -> None:
    assert {owner: sha256 for owner, (_, sha256) in NUMBERS.items()} == digests.recorded(RECORD), digests.CHANGED


def test_a_changed_digest_raises_the_number_version_of_what_it_is_of_and_of_nothing_else() -> None:
    def raised(*keys: str, known: digests.Numbers = NUMBERS, **more: str) -> set[str]:
        after = {**RECORD, **dict.fromkeys(keys, "other"), **more}
        now = digests.raised(known, RECORD, after, keys)
        assert {owner: sha256 for owner, (_, sha256) in now.items()} == digests.recorded(after)
        return {name for (kind, name), (version, _) in now.items() if version != known.get((kind, name), (1, ""))[0]}

    bo, warm, steps = (f"NMTHPO-zhen-v0/measured/{what}" for what in ("bo", "warm-gp+sources", "batched"))
    assert {bo, warm, steps} <= RECORD.keys()
    assert (raised(), raised(bo), raised(bo, warm)) == (set(), {"bo"}, {"bo", "warm-gp"})
    assert raised(steps, bo) == {"NMTHPO"}  # runs on that id are others because steps are
    assert raised(steps, "CharHPO-v0/surrogate/bo") == {"NMTHPO", "bo"}
    assert raised(**{"NMTHPO-zhen-v0/measured/sr": "a new key"}) == set()
    # A record that was changed by other means, such as a merge, is not trusted.
    assert raised(known={**NUMBERS, ("agent", "sr"): (1, "other")}) == {"sr"}
    assert raised(known={k: v for k, v in NUMBERS.items() if k[1] != "sr"}) == set()


def test_agents_of_this_package_are_compared() -> None:
    external = {name for name, entry in AGENTS.items() if entry.extra is not None} | {*digests.SLOWEST}
    assert {k.rpartition("/")[2] for k in RECORD} - external == {k.rpartition("/")[2] for k in digests.small(RECORD)}


def test_an_outcome_of_another_machine_is_compared_by_its_mean() -> None:
    agrees = [digests.same("a/b/bo", known, "0\t5.5±1", bits=True) for known in ("-\t5±1", "-\t9±1", "1\t5±1")]
    assert agrees == [True, False, False]


def test_each_committed_result_has_its_commit_and_its_bytes() -> None:
    rows = results.listed()
    assert [*rows] == results.files(), "python tests/regression/results.py note FILE..."
    assert len(rows) > 25
    for file, row in rows.items():
        assert re.fullmatch(r"[0-9a-f]{10,40}", row["commit"]), file
        assert row["sha256"] == results.sha256(file), f"python tests/regression/results.py note {file}"


def test_a_number_that_differs_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = {"a": [1.0, {"b": 2.0}], "c": "x"}
    assert not [*results.differences(before, {"a": [1.0 + 1e-12, {"b": 2.0}], "c": "x"})]
    assert [*results.differences(before, {"a": [1.0, {"b": 2.1}], "c": "x"})] == ["/a/1/b: 2.0, now 2.1"]
    assert [*results.differences(before, {"a": [1.0], "c": "y"})] == [
        "/a: [1.0, {'b': 2.0}], now [1.0]", "/c: 'x', now 'y'",
    ]  # fmt: skip
    monkeypatch.setattr(results, "RANDOM", ("NMTHPO-zhen-v0",))
    monkeypatch.setattr(results, "ROOT", tmp_path)
    (tmp_path / "benchmarks").mkdir()
    cell = {"agent": "random", "environment": "NMTHPO-zhen-v0 (subsample=0.8)", "anytime": [0.5], "final": [0.5]}
    stored = json.dumps(dict.fromkeys(summary.PARTS) | {"cells": [cell]})
    (tmp_path / "benchmarks" / "leaderboard.json.gz").write_bytes(gzip.compress(stored.encode()))
    assert [said.split(":")[0] for said in results.leaderboard(tmp_path)] == [
        f"leaderboard.json.gz, random on NMTHPO-zhen-v0 (subsample=0.8), {key}" for key in ("anytime", "final")
    ]
