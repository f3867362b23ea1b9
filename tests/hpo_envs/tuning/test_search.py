"""Searches by `tune` and by ask and tell: observations of agents, use of the budget, and resumption."""

import contextlib
import copy
import importlib
import math
import os
import pickle
import re
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpo_envs.agents import Agent
from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks.runs.journal import Journal
from hpo_envs.tuning import Search, Tuned, load, record, tune
from hpo_envs.tuning.trial import WHOLE, Trial, forecast, read_curve
from tests.helpers import rejects
from tests.hpo_envs.tuning import helpers

TOLD: list[tuple[Any, Any, dict[str, Any]]] = []


class Listening(RandomSearch):
    """Random search that records its results."""

    def tell(self, action: Any, reward: Any, info: Any) -> None:
        TOLD.append((action, reward, dict(info)))
        super().tell(action, reward, info)


@pytest.fixture(autouse=True)
def _nothing_told() -> None:
    TOLD.clear()


def actions(tuned: Tuned) -> list[Any]:
    return [e.action for e in tuned]


def test_budget_of_a_loop_with_epochs_counts_reported_ones() -> None:
    with Search({"x": (0.0, 1.0)}, agent="random", epochs=9, budget=21) as search:
        for trial in search:
            for epoch in range(9):
                if not trial.should_stop:
                    trial.report(epoch)
            search.tell(trial)
        assert [(e.spent, e.status) for e in search.result] == [(9.0, "ok"), (9.0, "ok"), (3.0, "truncated")]
    rule = "epochs must be None without a function, unless the agent searches the whole space for one objective, got 9"
    rejects(rule, Search, {"x": (0.0, 1.0)}, epochs=9, agent="asha")


def test_agents_are_told_the_outcomes_of_their_suggestions() -> None:
    tuned = tune(helpers.train, helpers.SPACE, agent=Listening, budget=5, progress=False)
    assert [t[0] for t in TOLD] == actions(tuned)
    action, reward, info = TOLD[0]
    assert isinstance(action, int)
    assert reward == tuned.evaluations[0].metrics["score"]
    assert {k: info[k] for k in ("cost", "status", "finished")} == {"cost": 1.0, "status": "ok", "finished": True}


def test_a_search_resumes_where_it_was(tmp_path: Path) -> None:
    given: dict[str, Any] = {"function": helpers.train, "space": helpers.SPACE, "progress": False, "candidates": 60}
    whole = tune(budget=14, **given)
    for budget in (5, 9, 14):
        part = tune(budget=budget, out=tmp_path, **given)
    assert (actions(part), [e.rewards for e in part]) == (actions(whole), [e.rewards for e in whole])
    again = tune(budget=14, out=tmp_path, **given)
    assert (tmp_path / "evaluations.journal").read_bytes().count(b"\n") == 3 + 2 * 14  # and two more budgets
    assert len(again) == 14


def test_a_started_evaluation_is_repeated_and_counts_once(tmp_path: Path) -> None:
    def fails_us(config: Any) -> float:
        calls.append(config)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return float(config["x"])

    calls: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        tune(fails_us, helpers.SPACE, budget=6, out=tmp_path, progress=False)
    assert len(load(tmp_path).evaluations) == 4
    done = tune(fails_us, helpers.SPACE, budget=6, out=tmp_path, progress=False)
    assert (calls[3], len(calls), len(done), [e.number for e in done]) == (calls[4], 7, 6, list(range(6)))


def test_actions_outside_of_space_are_rejected(tmp_path: Path) -> None:
    given: dict[str, Any] = {"agent": "random", "out": tmp_path, "candidates": 60, "progress": False}
    tune(helpers.train, helpers.SPACE, budget=3, **given)
    begun = {"what": "begun", "number": 3, "action": 10**6, "config": next(iter(load(tmp_path))).config}
    Journal(tmp_path / record.NAME).append(begun)
    with pytest.raises(ValueError, match=r"action 3 in .* must be an int in \[0, \d+\), got 1000000"):
        tune(helpers.train, helpers.SPACE, budget=5, **given)


def test_an_agent_that_suggests_something_else_is_told_and_continues(tmp_path: Path) -> None:
    class Fickle(Listening):
        def __init__(self, problem: Any, seed: int) -> None:
            super().__init__(problem, seed + turn)

    turn = 0
    given: dict[str, Any] = {"function": helpers.train, "space": helpers.SPACE, "agent": Fickle, "out": tmp_path}
    first = tune(budget=3, progress=False, **given)
    turn = 1
    TOLD.clear()
    with pytest.warns(UserWarning, match="the agent suggests other configurations"):
        more = tune(budget=6, progress=False, **given)
    assert actions(more)[:3] == actions(first) == [t[0] for t in TOLD[:3]]
    assert len(set(actions(more))) == 6
    Fickle.listens = False
    turn = 2
    rejects("Fickle must repeat its suggestions in", tune, budget=9, progress=False, **given)


def test_budget_may_be_one_of_cost() -> None:
    tuned = tune(helpers.train, helpers.SPACE, budget=7.0, budget_unit="cost", progress=False)
    assert [e.spent for e in tuned] == [2.0] * 4


@pytest.mark.parametrize("function", [helpers.epochs, helpers.resumed])
def test_trainings_are_paused_and_resumed(function: Any, tmp_path: Path) -> None:
    given: dict[str, Any] = {"function": function, "space": helpers.SPACE, "epochs": 9, "progress": False}
    given["agent"] = "asha"
    tuned = tune(budget=60, out=tmp_path, **given)
    assert 60 <= sum(e.spent for e in tuned) < 69
    assert sum(e.cost for e in tuned) == sum(e.spent for e in tuned)  # no epoch was trained twice
    rows = [e.action[0] for e in tuned]
    assert len(set(rows)) < len(rows)
    assert max(e.action[1] for e in tuned) == 8
    more = tune(budget=80, out=tmp_path, **given)
    assert actions(more)[: len(tuned)] == actions(tuned)
    if function is helpers.resumed:
        assert sum(e.cost for e in more) == sum(e.spent for e in more)


def test_vector_rewards_and_goals() -> None:
    def both(config: Any) -> dict[str, float]:
        return {"a": config["x"], "b": config["x"] ** 2}

    tuned = tune(both, helpers.SPACE, objective=("a", "b"), goal=("max", "min"), budget=6, progress=False)
    for e in tuned:
        assert np.allclose(e.rewards, [e.metrics["a"], -e.metrics["b"]])


def test_agent_that_is_done_ends_search() -> None:
    class Short(RandomSearch):
        def tell(self, action: Any, reward: Any, info: Any) -> None:
            super().tell(action, reward, info)
            self.done = True

    assert issubclass(Short, Agent)
    assert len(tune(helpers.train, helpers.SPACE, agent=Short, budget=5, progress=False)) == 1


@pytest.mark.parametrize(
    "score",
    [Decimal("0.5"), Fraction(1, 2), np.array(0.5), np.array([0.5]), np.float32(0.5), pd.Series([0.5]), "torch"],
    ids=lambda score: type(score).__name__,
)
def test_scores_are_numbers_of_any_library(score: Any) -> None:
    if isinstance(score, str):
        score = pytest.importorskip("torch").tensor(0.5, requires_grad=True)
    tuned = tune(lambda config: {"score": score, "cost": score}, {"x": (0.0, 1.0)}, budget=1, progress=False)
    assert (tuned.best.metrics, tuned.best.spent) == ({"score": 0.5}, 1.0)


@pytest.mark.parametrize(
    "score, shown", [([0.5], "list [0.5]"), (np.array([1.0, 2.0]), "ndarray [1. 2.]"), (1j, "complex 1j")]
)
def test_scores_that_are_no_numbers_are_refused_with_their_type(score: Any, shown: str) -> None:
    with pytest.raises(ValueError, match=f"a mapping with score, finite, got {re.escape(shown)}. Nothing") as error:
        tune(lambda config: score, {"x": (0.0, 1.0)}, budget=1, progress=False)
    assert "\n" not in str(error.value)


def test_arguments_are_numbers_of_any_library() -> None:
    one = np.array([1.0])
    given: dict[str, Any] = {"budget": Decimal(2), "seconds": one, "bounds": (Decimal(0), one), "seed": np.array(3)}
    tuned = tune(lambda config: config["x"], {"x": (Decimal(0), one)}, points=[{"x": Fraction(1, 4)}], **given)
    assert next(iter(tuned)).config == {"x": 0.25}
    with pytest.raises(ValueError, match=r"choices of x must be values, got ndarray of shape \(2,\)"):
        tune(lambda config: 1.0, {"x": [one, np.ones(2)]})
    rejects("^seed must be an int >= 0, got -1", tune, lambda config: 1.0, {"x": (0.0, 1.0)}, seed=-1)


def test_equal_points_are_evaluated_once() -> None:
    given: dict[str, Any] = {"space": {"x": [0, 1, True], "y": (0.0, 1.0)}, "seed": 3, "progress": False}
    given["points"] = [{"x": 1, "y": 0.5}, {"y": 0.5, "x": 1}, {"x": True, "y": 0.5}, {"x": 1, "y": 0.5}]
    tuned = tune(lambda config: 1.0, budget=4, **given)
    assert [e.config["x"] for e in tuned if e.given] == [1, True]


def test_points_keep_types_of_choices(tmp_path: Path) -> None:
    points: list[dict[str, Any]] = [{"x": 1.0}, {"x": True}, {"x": 1}, {"x": "1"}]
    given: dict[str, Any] = {"points": points, "out": tmp_path, "progress": False}
    for budget in (2, 4):  # goes on with the other two
        tuned = tune(_typed, {"x": ["1", 1, True, 1.0, None]}, budget=budget, **given)
        assert [repr(e.config["x"]) for e in tuned] == ["1.0", "True", "1", "'1'"][:budget]
        assert [e.metrics["score"] for e in tuned] == [1.0, 0.0, 0.0, 0.0][:budget]


def test_choice_that_a_function_changes_stays_what_it_was(tmp_path: Path) -> None:
    seen: list[Any] = []

    def train(config: dict[str, Any]) -> float:
        seen.append(config["layers"][:])
        config["layers"].append(10)  # the output layer
        return float(config["x"])

    space = {"layers": [[64], [32, 16]], "x": (0.0, 1.0)}
    for budget in (4, 6):
        tuned = tune(train, space, budget=budget, out=tmp_path, progress=False)
    assert seen == [e.config["layers"] for e in load(tmp_path)] == [e.config["layers"] for e in tuned]
    with Search(space, budget=9, agent="random") as search:
        for trial in search:
            assert trial.config["layers"] in space["layers"]
            trial.config["layers"].clear()
            search.tell(trial, 0.0)
    assert space["layers"] == [[64], [32, 16]]


def test_damaged_reports_of_others_are_left_out(tmp_path: Path) -> None:
    for number, text in enumerate(
        (b"\0" * 9 + b"\n", b"[" * 10**5 + b"\n", b"\xff\n", b"[1]\n", b"[1, null]\n", b"3\n")
    ):
        (tmp_path / f"{number}").write_bytes(text)
    (tmp_path / "9").mkdir()
    (tmp_path / "10").write_bytes(b"[1, 0.5]\n[9, 0.7]\n[3, 0.")
    trial = Trial(11, {}, tmp_path, steps=9)
    for step in range(1, 10):
        trial.report(0.5, step)
    assert [len(read_curve(path)) for path in sorted(tmp_path.iterdir(), key=lambda p: int(p.name))] == [0] * 7 + [2, 9]
    for wrong in (np.ma.masked, 10**400, "x", None):
        rejects("score must be a number", trial.report, wrong)
        rejects("step must be an int above|score must be a number", trial.report, 0.5 if wrong else wrong, wrong)


def test_trainings_of_unknown_length_read_few_curves_and_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, seen = importlib.import_module("hpo_envs.tuning.trial"), []
    monkeypatch.setattr(module, "read_curve", lambda path: [seen.append(path), read_curve(path)][1])
    for number in range(8):
        trial = Trial(number, {}, tmp_path)
        for step in range(1, 301):
            trial.report((number % 7 + 1) * step / 300)
            if number == 7 and trial.should_stop:
                break
    assert trial.curve[-1][0] == 34  # the first check, a ninth of the longest training
    assert len(seen) <= 8 * 8 * 15


@pytest.mark.parametrize("agent", ["auto", "tpe", "random"])
def test_largest_scores_overflow_in_no_statistic(agent: str, tmp_path: Path) -> None:
    tuned = tune(_huge, {"x": (0.0, 1.0)}, budget=14, agent=agent, out=tmp_path, progress=False, goal="min")
    assert {e.status for e in tuned} == {"ok", "diverged"}
    assert "beyond 1e+30, scores count as infinite" in "".join(e.error for e in tuned)
    assert (tuned.recommended.config["x"] < 0.4, tuned.report().is_file()) == (True, True)


def _huge(config: dict[str, Any]) -> float:
    return 9e29 * (-1.0 if config["x"] < 0.4 else 1.0) if config["x"] < 0.7 else 1e308


def _typed(config: dict[str, Any]) -> float:
    return float(type(config["x"]) is float)


@pytest.mark.parametrize("agent", ["auto", "random", "tpe"])
@pytest.mark.parametrize("workers", [1, 2])
def test_search_of_exhausted_space_stops(agent: str, workers: int, tmp_path: Path, capsys: Any) -> None:
    space = {"a": ["x", "y"], "b": {"choices": [1, 2], "if": {"a": ["x"]}}}
    given: dict[str, Any] = {"agent": agent, "workers": workers, "executor": "threads", "out": tmp_path}
    tuned = tune(_typed_a, space, budget=60, **given)
    assert {tuple(e.config.values()) for e in tuned} == {("x", 1), ("x", 2), ("y",)}
    assert len(tuned) < 60
    said = f"search space exhausted after {len(tuned)} of 60 evaluations: every configuration is evaluated"
    assert capsys.readouterr().err.splitlines()[-1] == said
    assert len(tune(_typed_a, space, budget=60, **given)) == len(tuned)


def _typed_a(config: dict[str, Any]) -> float:
    return float(config["a"] == "x")


def test_ask_and_tell_is_search_of_tune(tmp_path: Path) -> None:
    given: dict[str, Any] = {"space": helpers.SPACE, "seed": 3, "points": [{"x": 0.1, "kind": "bad"}]}
    whole = tune(helpers.train, budget=14, progress=False, **given)
    pending = None
    for budget in (6, 14):  # the second one resumes
        with Search(out=tmp_path, budget=budget, **given) as search:
            for trial in search:
                assert pending in (None, trial.config)  # what was not told is evaluated first, and once
                pending = None
                if trial.number == 5 and budget == 6:
                    pending = trial.config
                    continue
                search.tell(trial, helpers.train(trial.config))
            if budget == 14:
                rejects("something left to evaluate, got one with 14 of 14 evaluations", search.ask)
    assert [e.config for e in search.result] == [e.config for e in whole]
    assert [e.rewards for e in load(tmp_path)] == [e.rewards for e in whole]
    assert "report.html" in str(load(tmp_path).report())


def test_search_without_budget_has_no_end() -> None:
    with Search({"x": (0.0, 1.0)}, agent="random") as search:
        assert len({search.tell(search.ask(), 1.0).config["x"] for _ in range(520)}) == 520  # 500 are candidates
        assert not search.done


def test_trials_may_be_told_late_and_as_failures() -> None:
    search = Search(helpers.SPACE, objective=("a", "b"), goal=("max", "min"))
    first, second, third = (search.ask() for _ in range(3))
    assert (search.tell(third, {"a": 1.0, "b": 2.0, "cost": 4}).rewards, len(search.trials)) == ([1.0, -2.0], 2)
    failed = search.tell(first, error=RuntimeError("out of memory"))
    assert (failed.status, failed.error) == ("failed", "RuntimeError: out of memory\n")
    rejects("trial must be pending, got <Trial 0", search.tell, first, {"a": 1.0, "b": 2.0})
    rejects("trial must be pending, got None", search.tell, None, {"a": 1.0, "b": 2.0})
    rejects("workers must be an int >= 1, got 'a'", Search, helpers.SPACE, workers="a")
    rejects("score must be given for a trial without reports", search.tell, second)
    rejects("score must be a mapping with a, b, finite, got 1.0", search.tell, second, 1.0)
    assert [e.ended for e in search.result] == [1, -1, 0]
    rejects(r"must be given its scores by search.tell\(trial, score\)", search.function, {}, error=RuntimeError)


@pytest.mark.parametrize("executor, workers", [("serial", 1), ("threads", 3), ("processes", 2)])
def test_functions_report_to_their_trial_and_are_stopped(executor: str, workers: int, tmp_path: Path) -> None:
    given: dict[str, Any] = {"workers": workers, "executor": executor, "agent": "random", "out": tmp_path}
    tuned = tune(helpers.reporting, {"x": (0.0, 1.0)}, budget=24, progress=False, **given)
    lengths = [len(e.curve) for e in tuned]
    assert lengths.count(9) >= (4 if workers == 1 else WHOLE)  # whatever the order in which workers go on
    assert min(lengths) < 9
    for e in tuned:  # one that beats all that were started before it ended is never stopped
        others = [o.config["x"] for o in tuned if o.number < e.ended + workers and o.number != e.number]
        assert len(e.curve) == 9 or e.config["x"] < max(others)
    assert all(e.status == "truncated" for e in tuned if len(e.curve) < 9)
    best = max(tuned, key=lambda e: e.config["x"])
    assert (best.curve[-1], best.curve) == ([9, best.reward], [[k, best.config["x"] - 1.0 / k] for k in range(1, 10)])
    assert load(tmp_path).evaluations == tuned.evaluations


@pytest.mark.parametrize("function", [helpers.reporting, helpers.epochs, helpers.resumed])
@pytest.mark.parametrize("workers", [1, 3])
def test_trainings_whose_end_is_foreseen_are_stopped(function: Any, workers: int, tmp_path: Path) -> None:
    given: dict[str, Any] = {"workers": workers, "executor": "threads", "epochs": 9, "out": tmp_path, "progress": False}
    tuned = tune(function, helpers.SPACE, budget=80, **given)
    assert (tuned.header["picked"], tuned.header["epochs"]) == ("box-bo", 9)
    assert sum(e.spent for e in tuned) == sum(e.curve[-1][0] for e in tuned) == 80  # the budget is kept
    stopped = [e for e in tuned if e.forecast is not None]
    assert len(stopped) > 1 or workers > 1
    for e in stopped:
        assert e.status == "truncated"
        assert e.forecast == pytest.approx(e.config["x"] - 1.0 / 9.0)  # curves differ by a constant
        # Beside others it may be behind one that the end of the budget stopped.
        assert e.forecast <= tuned.best_score + 1e-9 or workers > 1
    assert tuned.best.curve[-1][0] == 9
    more = tune(function, helpers.SPACE, budget=90, **given)
    assert more.evaluations[: len(tuned) - 3] == tuned.evaluations[: len(tuned) - 3]


def test_nothing_is_stopped_where_early_scores_say_nothing() -> None:
    def crossing(config: Any) -> Any:
        for epoch in range(1, 10):
            yield abs(config["x"] - 0.5) * (5 - epoch) + 0.01 * np.sin(100.0 * config["x"] * epoch)

    best = tune(crossing, {"x": (0.0, 1.0)}, epochs=9, budget=90, progress=False).best
    assert (best.curve[-1][0], abs(best.config["x"] - 0.5) < 0.05) == (9, True)


def test_forecasts_from_two_trainings_trust_differences_that_persisted() -> None:
    now, ends = np.array([0.2, 0.5]), np.array([0.4, 0.9])
    expected, bound = forecast(now, ends, 0.0)
    assert expected < bound < 0.9  # worse than both, as at this step
    assert forecast(now, ends, 0.45)[1] > 0.9  # between them
    assert forecast(now, ends[::-1], 0.0)[1] > 0.9  # the order has changed since: early scores say nothing
    more = np.array([0.2, 0.5, 0.3, 0.4])
    assert forecast(more, 2.0 * more, 0.1) == pytest.approx((0.2, 0.2))  # no prior: four are on a line


def test_training_that_leads_goes_on_where_two_changed_places(tmp_path: Path) -> None:
    for number, scores in enumerate([(0.21, 0.35), (0.18, 0.36), (0.54,), (0.17,)]):
        trial = Trial(number, {}, tmp_path, steps=2)
        for score in scores:
            trial.report(score)
        assert not trial.should_stop, number
    assert forecast(np.array([0.21, 0.18]), np.array([0.35, 0.36]), 0.54)[1] < 0.36  # by its line it should stop


@pytest.mark.parametrize("wrong", ["infeasible", "failed"])
def test_trainings_are_compared_with_feasible_ones(wrong: str, tmp_path: Path) -> None:
    def train(config: dict[str, Any], trial: Any) -> dict[str, float]:
        for step in range(1, 10):
            trial.report(config["x"] * step / 9, step)
            if trial.should_stop:
                break
        if wrong == "failed" and config["x"] > 0.5:
            raise MemoryError
        return {"score": trial.curve[-1][1], "size": config["x"]}

    points = [{"x": x} for x in (0.9, 0.8, 0.95, 0.85, 0.7, 0.4, 0.5)]
    given: dict[str, Any] = {"points": points, "out": tmp_path, "progress": False, "tolerate": True, "agent": "box-bo"}
    given |= {"constraints": {"size": ("<=", 0.5)}} if wrong == "infeasible" else {}
    tuned = tune(train, {"x": (0.0, 1.0)}, epochs=9, budget=63, **given)
    assert (tuned.best_config, tuned.best.status) == ({"x": 0.5}, "ok")


def test_trainings_that_report_nan_diverge_and_the_best_is_one(tmp_path: Path) -> None:
    def train(config: dict[str, Any], trial: Any) -> None:
        for step in range(1, 10):
            trial.report(math.nan if config["x"] > 0.5 and step > 6 else config["x"] * step, step)
            if trial.should_stop or (config["x"] < 0.3 and step > 7):
                break

    points = [{"x": x} for x in (0.9, 0.4, 0.29, 0.35)]
    tuned = tune(train, {"x": (0.0, 1.0)}, epochs=9, budget=33, points=points, out=tmp_path, progress=False)
    assert [e.status for e in tuned][:4] == ["diverged", "ok", "truncated", "ok"]
    assert tuned.best_config == tuned.pareto[0].config == {"x": 0.4}
    assert "best: score 3.6 at {'x': 0.4}" in repr(tuned)
    assert tuned.to_frame()["incumbent"].tolist()[-1] == tuned.best_score == 3.6


def test_trainings_whose_first_report_is_nan_diverge() -> None:
    def train(config: dict[str, Any], trial: Any) -> None:
        trial.report(math.nan if config["x"] > 0.5 else config["x"])

    points: dict[str, Any] = {"points": [{"x": 0.9}, {"x": 0.4}], "budget": 2}
    assert [e.status for e in tune(train, {"x": (0.0, 1.0)}, **points, progress=False)] == ["diverged", "ok"]
    with Search({"x": (0.0, 1.0)}, **points) as search:
        for trial in search:
            train(trial.config, trial)
            search.tell(trial)
        assert [e.status for e in search.result] == ["diverged", "ok"]


def test_trainings_of_another_search_are_not_continued(tmp_path: Path) -> None:
    given: dict[str, Any] = {"space": {"x": (0.0, 1.0)}, "epochs": 9, "out": tmp_path / "mine", "progress": False}
    ended: list[float] = []

    def low(config: dict[str, Any]) -> Iterator[float]:
        try:
            for step in range(1, 10):
                yield step * config["x"]
        finally:
            ended.append(config["x"])

    def high(config: dict[str, Any]) -> Iterator[float]:
        yield from [100.0] * 9

    tuned = tune(low, agent="asha", budget=18, **given)
    assert sorted(ended) == sorted({e.config["x"] for e in tuned})
    shutil.rmtree(given["out"])
    assert {e.metrics["score"] for e in tune(high, agent="asha", budget=18, **given)} == {100.0}


@pytest.mark.parametrize("agent", ["freeze-thaw", "asha", "hyperband"])
def test_trainings_that_ended_use_no_budget(agent: str) -> None:
    trained: list[int] = []

    def short(config: dict[str, Any]) -> Iterator[float]:
        for step in range(1, 6):
            trained.append(step)
            yield step * config["x"]

    tuned = tune(short, {"x": (0.0, 1.0)}, epochs=27, budget=81, agent=agent, progress=False)
    assert math.fsum(e.spent for e in tuned) == len(trained) >= 76
    assert {e.status for e in tuned} <= {"ok", "truncated"}


@pytest.mark.parametrize("agent", ["auto", "random"])
def test_trainings_stopped_before_a_constraint_is_known_are_not_failed(agent: str) -> None:
    def train(config: dict[str, Any], trial: Any) -> Any:
        for step in range(1, 28):
            trial.report(step * (1.0 - abs(config["x"] - 0.3)))
            if trial.should_stop:
                return None
        return {"score": trial.curve[-1][1], "latency": 10.0 * config["x"]}

    given: dict[str, Any] = {"constraints": {"latency": ("<=", 8.0)}, "budget": 25, "agent": agent, "actions": "box"}
    tuned = tune(train, {"x": (0.0, 1.0)}, progress=False, **{k: v for k, v in given.items() if k != "actions"})
    stopped = [e for e in tuned if e.status == "truncated"]
    assert {e.status for e in tuned} <= {"ok", "truncated"}
    assert all(e.unknown and not e.feasible and e.forecast is not None for e in stopped)
    assert tuned.best.status == "ok"
    if agent == "auto":
        assert len(stopped) > 3
        assert abs(tuned.best_config["x"] - 0.3) < 0.01


def test_score_of_no_use_leaves_its_trial_pending(tmp_path: Path) -> None:
    with Search({"x": (0.0, 1.0)}, out=tmp_path) as search:
        trial = search.ask()
        for wrong in ("0.9", {"scor": 1.0}, {"score": 1.0, "cost": -1.0}):
            with pytest.raises(ValueError, match="(score|function) must"):
                search.tell(trial, wrong)
        assert search.tell(trial, 0.9).metrics == {"score": 0.9}


def test_cheap_repeats_leave_no_budget_for_other_finalists() -> None:
    with Search({"x": (0.0, 1.0)}, agent="random", budget=20, budget_unit="cost", confirm=3) as search:
        for trial in search:
            repeat = search.record.evaluations[trial.number].repeats >= 0
            search.tell(trial, {"score": trial.config["x"], "cost": 0.5 if repeat else 1.0})
    repeats = [e.repeats for e in search.result if e.repeats >= 0]
    assert sorted(repeats.count(n) for n in {*repeats}) == [3, 3, 3]


def test_single_report_at_the_end_is_of_a_complete_training() -> None:
    tuned = tune(lambda config, trial: trial.report(config["x"], 20), {"x": (0.0, 1.0)}, budget=20, progress=False)
    assert {e.status for e in tuned} == {"ok"}


def test_killed_training_continues_after_its_last_report(tmp_path: Path) -> None:
    asked: list[list[int]] = []

    def train(config: dict[str, Any], resume_from: Path, epochs: int) -> float:
        asked[-1].append(epochs)
        if len(asked) == 1 and epochs > 3:
            signal.raise_signal(signal.SIGINT)
        return config["x"] * epochs

    given: dict[str, Any] = {"space": {"x": (0.0, 1.0)}, "epochs": 9, "budget": 9, "out": tmp_path, "progress": False}
    for _ in range(2):
        asked.append([])
        with contextlib.suppress(KeyboardInterrupt):
            tuned = tune(train, **given)
    assert asked == [[1, 2, 3, 5], [5, 6, 9]]
    (e,) = tuned
    assert (e.status, e.curve) == ("ok", [[k, e.config["x"] * k] for k in (1, 2, 3, 5, 6, 9)])


def test_new_evaluation_has_no_checkpoint_of_a_lost_one(tmp_path: Path) -> None:
    begun: list[bool] = []

    def train(config: dict[str, Any], resume_from: Path, epochs: int) -> float:
        begun.append(any(resume_from.iterdir()))
        (resume_from / "state").write_text(str(config["x"]))
        return float(config["x"])

    given: dict[str, Any] = {"space": {"x": (0.0, 1.0)}, "epochs": 1, "out": tmp_path, "progress": False}
    tune(train, budget=6, **given)
    journal = tmp_path / record.NAME
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:7]))
    assert len(tune(train, budget=6, **given)) == 6
    assert begun == [False] * 9


@pytest.mark.parametrize("yields", [False, True])
def test_training_that_stops_itself_is_complete(yields: bool) -> None:
    def scores(config: dict[str, Any]) -> Iterator[float]:
        for step in range(1, 28):
            yield min(step * config["x"], 5.0)
            if step * config["x"] >= 5.0:
                return

    def train(config: dict[str, Any], trial: Any) -> None:
        for score in scores(config):
            trial.report(score)
            if trial.should_stop:
                break

    points = [{"x": x} for x in (0.1, 0.12, 0.11, 0.9)]
    tuned = tune(scores if yields else train, {"x": (0.0, 1.0)}, epochs=27, budget=108, points=points, progress=False)
    assert (tuned.evaluations[3].status, tuned.evaluations[3].whole) == ("truncated", True)
    assert tuned.best_score == tuned.pareto[0].metrics["score"] == 5.0


def test_training_that_ends_after_a_further_report_is_stopped() -> None:
    def train(config: dict[str, Any], trial: Any) -> None:
        for step in range(1, 28):
            trial.report(config["x"] * (60 - 2 * step) + (1.0 - config["x"]) * step)
            if step % 4 == 0 and trial.should_stop:
                break

    points = [{"x": x} for x in (0.3, 0.25, 0.2, 0.15, 0.1, 0.9)]
    for given in ({"budget": 6}, {"budget": 162, "epochs": 27}):
        tuned = tune(train, {"x": (0.0, 1.0)}, points=points, progress=False, **given)
        assert (tuned.evaluations[5].stopped, len(tuned.evaluations[5].curve)) == (True, 4)
        assert tuned.best_config == {"x": 0.1}


def test_trainings_are_compared_with_what_others_returned() -> None:
    def train(config: dict[str, Any], trial: Any) -> float:
        best = 0.0
        for step in range(1, 28):
            trial.report(config["x"] * (step if step < 9 else 18 - step))
            best = max(best, trial.curve[-1][1])
            if trial.should_stop:
                break
        return best

    points = [{"x": x} for x in (0.1, 0.2, 0.3, 0.4, 0.9)]
    tuned = tune(train, {"x": (0.0, 1.0)}, budget=5, points=points, progress=False)
    assert ([e.status for e in tuned], tuned.best_config) == (["ok"] * 5, {"x": 0.9})


def test_finalists_are_chosen_after_the_last_configuration() -> None:
    with Search({"x": (0.0, 1.0)}, agent="random", budget=9, confirm=1) as search:
        trials = [search.ask() for _ in range(6)]
        for trial in trials[:5]:
            search.tell(trial, trial.config["x"])
        assert search.begin() is None
        search.tell(trials[5], 7.0)
        assert 5 in [search.tell(trial, 7.0).repeats for trial in search]


def test_trainings_that_go_on_after_the_end_are_complete() -> None:
    def train(config: dict[str, Any], trial: Any) -> float:
        for step in range(1, 28):
            trial.report(min(step, 20) * (config["x"] if step < 25 else 1.0 - config["x"]))
        return float(trial.curve[-1][1])

    points = [{"x": x} for x in (0.5, 0.6, 0.7, 0.8, 0.9, 0.1)]
    tuned = tune(train, {"x": (0.0, 1.0)}, points=points, budget=6, progress=False)
    assert [e.status for e in tuned] == ["ok"] * 6
    assert tuned.best_config == {"x": 0.1}


def test_repeats_are_not_stopped_early() -> None:
    rng = np.random.default_rng(0)

    def train(config: dict[str, Any], trial: Any) -> None:
        for step in range(1, 10):
            trial.report(config["x"] * step / 9 + rng.normal(0, 0.3), step)
            if trial.should_stop:
                break

    tuned = tune(train, {"x": (0.0, 1.0)}, epochs=9, budget=180, confirm=2, agent="random", progress=False)
    repeats = [e for e in tuned if e.repeats >= 0]
    assert len(repeats) == 6
    assert {e.status for e in repeats} == {"ok"}


@pytest.mark.parametrize("agent", ["asha", "successive-halving", "hyperband", "curve-ranker", "freeze-thaw"])
def test_trainings_that_end_by_themselves_are_truncated(agent: str) -> None:
    def ends(config: dict[str, Any]) -> Any:
        yield from (config["x"] * epoch / 9 for epoch in range(1, 4))

    tuned = tune(ends, {"x": (0.0, 1.0)}, epochs=9, budget=45, agent=agent, progress=False)
    assert {e.status for e in tuned} <= {"ok", "truncated"}
    assert math.fsum(e.spent for e in tuned) >= 36
    for e in tuned:
        row, level = e.action
        assert e.status == ("ok" if level < 3 else "truncated")
        assert e.metrics["score"] == e.config["x"] * min(level + 1, 3) / 9
        assert e.spent <= 3 or not any(d.action[0] == row for d in tuned.evaluations[: e.number])


def test_search_stops_after_identical_failures_and_keeps_them(tmp_path: Path, capsys: Any) -> None:
    space, given = {"x": (0.0, 1.0)}, {"budget": 12, "out": tmp_path, "progress": False}
    with pytest.raises(ValueError, match=r"the same failure 5 times in a row: RuntimeError: out of memory \(.*raise"):
        tune(helpers.mixed, {"x": (0.5, 1.0)}, **given)
    assert (len(load(tmp_path)), len(tune(helpers.mixed, {"x": (0.5, 1.0)}, tolerate=True, **given))) == (5, 12)
    points = [{"x": 0.01}, {"x": 0.5}]
    tuned = tune(helpers.mixed, space, budget=60, points=points, identical_failures=3)
    assert (len(tuned), tuned.best_score) == (4, 0.01)
    assert "search stopped after 4 of 60 evaluations: function must run" in capsys.readouterr().err.splitlines()[-1]
    diverging = tune(lambda config: math.nan, space, budget=12, progress=False)  # which a configuration may cause
    assert len(diverging) == 12


def test_timeout_ends_search_and_keeps_running_evaluations(tmp_path: Path, capsys: Any) -> None:
    given: dict[str, Any] = {"space": helpers.SPACE, "out": tmp_path, "progress": False}
    tuned = tune(helpers.train, budget=10**4, timeout=1e-9, agent="random", **given)
    assert len(tuned) == 0
    with Search(helpers.SPACE, timeout=1e9) as search:
        trial = search.ask()
        search._until = 0.0  # the time is over while it runs
        assert search.done
        rejects("trials must be requested within the timeout", search.ask)
        assert search.tell(trial, 1.0).status == "ok"
        importlib.import_module("hpo_envs.tuning.tune")._Progress(search, None).close()
    said = "search stopped after 1 of 10000 evaluations: the time of its timeout is over"
    assert capsys.readouterr().err.splitlines() == [said]


def test_threads_share_a_search(tmp_path: Path) -> None:
    def evaluate(_: int) -> None:
        for trial in search:
            search.tell(trial, trial.config["x"])

    with Search({"x": (0.0, 1.0)}, agent="random", budget=60, out=tmp_path) as search, ThreadPoolExecutor(8) as pool:
        list(pool.map(evaluate, range(8)))
        assert sorted(e.number for e in search.result) == list(range(60))
    assert load(tmp_path).evaluations == search.result.evaluations


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forks_and_closed_searches_evaluate_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Search({"x": (0.0, 1.0)}, agent="random", budget=3, out="mine") as search:
        monkeypatch.chdir("/")
        trial = search.ask()
        if (child := os.fork()) == 0:
            try:
                search.tell(trial, 5.0)
            except ValueError:
                os._exit(7)
            os._exit(0)
        assert (os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), search.tell(trial, 1.0).reward) == (7, 1.0)
        late = search.ask()
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="a Search must not be copied or pickled"):
                attempt(search)
    for use in (search.ask, lambda: search.tell(late, 1.0)):
        rejects("search must be open in this process", use)
    assert [e.status for e in load(tmp_path / "mine")] == ["ok", "running"]


def test_result_that_was_not_written_can_be_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with Search({"x": (0.0, 1.0)}, out=tmp_path, budget=1) as search:
        trial = search.ask()
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: 1e9)  # the clock was set back during the training
            patch.setattr(os, "fsync", full)
            patch.setattr(record, "UNSYNCED", 0.0)
            with pytest.raises(OSError, match="No space left"):
                search.tell(trial, 0.5)
        assert search.tell(trial, 0.5).seconds >= 0.0
    assert [(e.status, e.reward) for e in load(tmp_path)] == [("ok", 0.5)]


def test_suggestion_that_was_not_written_comes_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"space": {"x": (0.0, 1.0)}, "budget": 4, "points": [{"x": 0.25}]}
    with Search(**given) as search:
        expected = [search.tell(trial, trial.config["x"]).config for trial in search]
    with Search(**given, out=tmp_path) as search:
        for config in expected:
            with monkeypatch.context() as patch:
                patch.setattr(Journal, "append", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
                rejects("No space left", search.ask, error=OSError)
            assert search.tell(search.ask(), config["x"]).config == config
