"""The adaptation gain."""

import numpy as np
import pytest

from hpo_envs.benchmarks.learned import adaptation, in_context, policy
from hpo_envs.benchmarks.tasks import pools
from hpo_envs.tables import store


def test_gains_are_over_the_best_rival_with_families_as_groups() -> None:
    rng, found = np.random.default_rng(0), {}
    levels = {"random": 0.5, "bo": 0.4, "bo-spread": 0.38, "in-context": 0.3, "in-context, blind": 0.6,
              "in-context, trained blind": 0.45, "learned-policy": 0.35, "learned-policy, blind": 0.36,
              adaptation.FIXED: 0.34}  # fmt: skip
    for family, tasks in {"NMTHPO": 2, "TaskSet": 6}.items():
        for i in range(tasks):
            shift = (family == "TaskSet") * 0.1
            for method, mean in levels.items():
                noise = 0.001 * rng.standard_normal((2, 5))
                found["family", family, f"{family}-{i}", method] = mean + shift * (method == "bo") + noise
    rows = {row["method"]: row for row in adaptation.summary(found)}
    gain = rows["gain of in-context: in-context, trained blind minus it"]
    assert abs(float(gain["mean"]) - 0.15) < 0.002
    assert float(gain["low here"]) > 0.14
    assert abs(float(rows[f"gain of learned-policy: {adaptation.FIXED} minus it"]["mean"]) + 0.01) < 0.002
    beside = rows["in-context minus bo"]
    assert abs(float(beside["mean"]) + 0.15) < 0.002  # families count once each, whatever their number of tables
    assert abs(float(beside["TaskSet"]) + 0.2) < 0.002


def test_tasks_are_lookups_and_halves_are_the_configurations_that_training_hides() -> None:
    assert (len(adaptation.ids("NMTHPO")), len(adaptation.ids("TaskSet"))) == (6, 12)
    assert sum(len(adaptation.ids(f)) for f in adaptation.LEFT_OUT if f.startswith("TextMini")) == 17
    assert {len(adaptation.ids(f, adaptation.OTHER_TABLES)) for f in adaptation.OTHER_TABLES} == {6, 12, 13}
    helped = adaptation.methods({}, "table")["learned-policy"]
    assert helped == ("learned-policy", {"transfer": "family"})
    seeds = [0, 1]
    for task in ("function 1", adaptation.HALVES[0]):
        found = adaptation.scores(task, "random", {}, seeds)
        assert found.shape == (2, 2)
        assert (found[1] <= found[0]).all()
    table = store.load(adaptation.HALVES[0])
    assert 20 <= pools.in_half(table, 1).sum() <= 44
    cells = store.load("cellmini/shakespeare")
    assert 120 < pools.in_half(cells, 0).sum() < 180


def test_policy_gradients_move_the_weights_without_tables_of_the_part_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptation, "UPDATES", 1)
    monkeypatch.setattr(policy, "ENVS", 8)
    found = adaptation.rewarded("translation")
    assert in_context.words_of("translation") > {"jpn", "rus", "swa"}
    assert not found.languages & in_context.words_of("translation")
    weights = found.members[0]["skip.weight"][0]
    assert np.abs(weights[:-1]).max() > 0.0
    assert abs(weights[-1] - policy.SKIP) < 1.0
