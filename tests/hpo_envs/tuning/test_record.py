"""The record of a search: everything follows from the files on disk."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.benchmarks.runs.journal import Journal
from hpo_envs.benchmarks.study.store import code_of
from hpo_envs.tables.user.space import space_of
from hpo_envs.tuning.record import NAME, SearchRecord, apart, encoded, folders, runs_of
from tests.helpers import rejects

pytestmark = pytest.mark.hostile

SPACE = {"x": (0, 9), "layer": [tuple, list]}
CONFIG = {"x": 1, "layer": tuple}

HEADER: dict[str, Any] = {
    "function": "m:f", "space": [{k: encoded(v) for k, v in asdict(h).items()} for h in space_of(SPACE)],
    "objectives": ["score"], "goals": ["max"], "epochs": None, "agent": "bo",
    "hyperparameters": {}, "seed": 3, "budget": 4.0, "budget_unit": "evaluations", "cost_unit": "s", "candidates": 4,
    "run": {"env": "FunctionHPO-v0", "cost_unit": "evaluations", "objectives": ["score"]},
}  # fmt: skip


def ended(record: SearchRecord, number: int, reward: float | None) -> None:
    status = "failed" if reward is None else "ok"
    rewards, metrics = (None, {}) if reward is None else ([reward], {"score": reward})
    record.end(number, status=status, rewards=rewards, metrics=metrics, spent=1.0, cost=2.5, error="")


def test_a_record_reads_what_it_wrote(tmp_path: Path) -> None:
    record = SearchRecord(tmp_path / "a", HEADER)
    record.begin(np.int64(5), CONFIG)
    record.begin(6, CONFIG)
    ended(record, 1, 0.5)
    again = SearchRecord(tmp_path / "a")
    assert (again.evaluations, again.steps) == (record.evaluations, [(0, False), (1, False), (1, True)])
    assert ([e.number for e in again.running], [e.number for e in again.ended]) == ([0], [1])
    assert (again.evaluations[0].config, again.header) == (PLAIN, {"confirm": 0} | HEADER)


def test_a_line_that_was_cut_off_is_ignored(tmp_path: Path) -> None:
    record = SearchRecord(tmp_path, HEADER)
    record.begin(1, CONFIG)
    ended(record, 0, 1.0)
    whole = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(whole[:-5])
    again = SearchRecord(tmp_path, HEADER)
    assert [e.number for e in again.running] == [0]
    ended(again, 0, 2.0)
    assert SearchRecord(tmp_path).evaluations[0].rewards == [2.0]


NESTED: list[Any] = []
for _ in range(300):
    NESTED = [NESTED]
PLAIN = {name: encoded(value) for name, value in CONFIG.items()}
BEGUN = {"what": "begun", "number": 1, "action": 2, "config": PLAIN}
ENDED = {"what": "ended", "number": 0, "status": "ok", "rewards": [1.0], "metrics": {"score": 1.0}, "best": None}
ENDED |= {"spent": 1.0, "cost": 1.0, "seconds": 1.0, "started": 1.0, "worker": "w", "error": ""}


@pytest.mark.parametrize(
    "change",
    [
        *({"what": what} for what in ("search", "began", None, 3)),
        *({"number": number} for number in (1, -1, 7, 10**30, 0.0, True, "0", None)),
        *({"status": status} for status in ("great", None, 3)),
        *({"rewards": rewards} for rewards in ([], [1.0, 2.0], ["1"], 1.0, [float("nan")], [float("inf")], [10**400])),
        *({key: value} for key in ("spent", "cost", "seconds") for value in (-1.0, float("nan"), "x", None, 10**400)),
        *({"started": value} for value in (1e300, -1.0, "now")),
        *({"metrics": value} for value in ([], {}, {"score": None}, {"score": float("inf")}, {"score": True})),
        *({key: 3} for key in ("error", "worker", "unknown", "best ", "config", "owner")),
        *({"best": value} for value in ("x", "", float("inf"))),
        *({"curve": value} for value in (3, [1], [[1, "x"]])),
        *(BEGUN | {"number": number} for number in (0, 2)),
        *(BEGUN | {"action": action} for action in ("x", [1, 2], 10**400)),
        *(BEGUN | change for change in ({"config": 3}, {"x": 1}, {"given": 1}, {"repeats": 1}, {"owner": None})),
        *(BEGUN | {"config": PLAIN | wrong} for wrong in ({"y": 1}, {"x": 10}, {"x": 10**400}, {"layer": [[]]})),
        BEGUN | {"config": {"x": 1}},
        *({"what": "code", "code": code} for code in (3, {"versions": 3})),
        *({"what": "budget", "budget": budget} for budget in ("9", -1, 10**400, True)),
        *({"what": "budget", "budget": 9.0, "confirm": times} for times in (-1, True, 1.0)),
        BEGUN | {"action": NESTED},
    ],
    ids=str,
)
def test_records_that_no_search_writes_are_rejected(change: dict[str, Any], tmp_path: Path) -> None:
    SearchRecord(tmp_path, HEADER).begin(1, CONFIG)
    Journal(tmp_path / NAME).append(change if "action" in change else ENDED | change)
    rejects(f"{NAME}, line 3: must be a valid record at this place, got ", SearchRecord, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"what": "begun"}, {"budget": "x"}, {"budget": 10**400}, {"run": 3}, {"run": {"versions": 3}}, {"seed": "x"},
        {"objectives": 3}, {"objectives": [["score"]]}, {"objectives": []}, {"goals": [3]}, {"goals": ["max", "max"]},
        {"epochs": "3"}, {"constraints": {"size": 3}}, {"constraints": [1]}, {"candidates": "x"},
        {"hyperparameters": 3}, {"hyperparameters": {"k": NESTED}}, {"program": {"command": 5}},
        {"candidates": 1}, {"picked": {}}, {"cost_unit": []},
        {"space": [3]},
        *({"space": [HEADER["space"][0] | wrong]} for wrong in (
            {"name": 3}, {"kind": "x"}, {"low": "0"}, {"high": None}, {"values": 3}, {"values": ["a"]}, {"wrong": 3},
            {"log": True, "low": -1.0}, {"condition": {"tuple": ["z", 3]}}, {"condition": 3}, {"high": 10**400},
        )),
    ],
    ids=lambda change: str(change)[:60],
)  # fmt: skip
def test_header_that_no_search_writes_is_rejected(change: dict[str, Any], tmp_path: Path) -> None:
    Journal(tmp_path / NAME).append({"what": "search", **HEADER, **change})
    for header in (None, HEADER):
        rejects(f"{NAME}, line 1: must be a valid record at this place", SearchRecord, tmp_path, header)


def test_emptied_record_is_rejected(tmp_path: Path) -> None:
    SearchRecord(tmp_path, HEADER).begin(1, CONFIG)
    (tmp_path / NAME).write_bytes(b"")
    rejects(f"{NAME} must begin with a whole record, .* delete it", SearchRecord, tmp_path, HEADER)


def test_turns_of_several_processes_are_one_journal(tmp_path: Path) -> None:
    one, other = SearchRecord(tmp_path, HEADER), SearchRecord(tmp_path, HEADER)
    one.begin(1, CONFIG, owner="a")
    assert other.follow() == [(0, False)]
    other.take(0, "b")
    other.begin(2, CONFIG, owner="b")
    rejects("must have one writer, got changes", one.begin, 2, CONFIG)
    assert (one.follow(), one.evaluations[0].owner) == ([(1, False)], "b")
    ended(one, 1, 2.0)
    assert other.follow() == [(1, True)]
    assert other.evaluations == one.evaluations == SearchRecord(tmp_path).evaluations
    rejects("must continue with a valid record", one.take, 1, "c")


def test_another_search_is_rejected_larger_budget_is_not(tmp_path: Path) -> None:
    SearchRecord(tmp_path, HEADER)
    assert SearchRecord(tmp_path, {**HEADER, "budget": 9.0}).header["budget"] == 9.0
    assert SearchRecord(tmp_path).header["budget"] == 9.0  # scores are of the whole search
    with pytest.raises(
        ValueError, match=r"a resumed search must have the settings of the stored one: .* has agent 'bo', got 'random'"
    ):
        SearchRecord(tmp_path, {**HEADER, "agent": "random"})
    x, y = ({"name": n, "kind": "float", "low": 0.0, "high": 1.0, "values": []} for n in "xy")
    SearchRecord(tmp_path / "space", {**HEADER, "space": [x, y]})
    message = r"has space {'y': {'high': 1.0, .*}}, got {'y': {'high': 2.0, .*}}. Choose another folder"
    with pytest.raises(ValueError, match=message) as refused:
        SearchRecord(tmp_path / "space", {**HEADER, "space": [x, {**y, "high": 2.0}]})
    assert "'x'" not in str(refused.value)
    other = {**HEADER, "run": {**HEADER["run"], "versions": {"numpy": "0.1"}}}
    rejects(r"has versions numpy None, got '0.1'. .* start another search within it", SearchRecord, tmp_path, other)
    assert apart(tmp_path, HEADER) == (tmp_path, HEADER)
    assert apart(tmp_path, other) == (tmp_path / (code := code_of(other["run"])), {**other, "code": code})
    rejects(f"folder must hold {NAME}", SearchRecord, tmp_path / "none", error=FileNotFoundError)


def test_searches_are_runs(tmp_path: Path) -> None:
    record = SearchRecord(tmp_path / "a" / "b", HEADER)
    for number, reward in enumerate([None, 1.0, 3.0, 2.0]):
        record.begin(number, CONFIG)
        ended(record, number, reward)
    SearchRecord(tmp_path / "empty", HEADER)
    assert len(list(folders(tmp_path))) == 2
    (run,) = runs_of(tmp_path)
    assert run.rewards.tolist() == [1.0, 1.0, 3.0, 2.0]  # the failed one has the lowest
    assert (run.evaluated["status"].tolist(), run.evaluated["price"].tolist()) == ([1, 0, 0, 0], [2.5] * 4)
    assert (int(run.recommended), run.seed, run.header["budget"], run.header["agent"]) == (2, 3, 4.0, "bo")


def test_space_in_another_order_or_with_choices_of_another_type_is_another(tmp_path: Path) -> None:
    def header(space: Any) -> dict[str, Any]:
        return {**HEADER, "space": [{k: encoded(v) for k, v in asdict(h).items()} for h in space_of(space)]}

    SearchRecord(tmp_path, header({"a": ["p", 1], "b": (0.0, 1.0)}))
    SearchRecord(tmp_path, header({"a": ["p", 1], "b": (0.0, 1.0)}))
    rejects("has space 'in the order a, b', got 'in the order b, a'", SearchRecord, tmp_path,
            header({"b": (0.0, 1.0), "a": ["p", 1]}))  # fmt: skip
    for other in (True, 1.0):
        message = r"has space {'a': .*'values': {'tuple': \['p', 1\]}}}, got "
        rejects(message, SearchRecord, tmp_path, header({"a": ["p", other], "b": (0.0, 1.0)}))
