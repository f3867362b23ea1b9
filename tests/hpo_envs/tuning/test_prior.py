"""Source tasks become observations in the problem's features."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpo_envs import agents
from hpo_envs.core.engines.function.params import FunctionParams
from hpo_envs.tables import user
from hpo_envs.tuning import Search, load, tune
from hpo_envs.tuning.preparation import Preparation
from hpo_envs.tuning.prior import source
from hpo_envs.tuning.record import runs_of
from tests.helpers import rejects
from tests.hpo_envs.tuning import helpers


def params(**given: Any) -> FunctionParams:
    return FunctionParams.of(helpers.train, helpers.SPACE, candidates=20, **given)


def test_frames_tables_and_earlier_searches() -> None:
    frame = pd.DataFrame({"x": [0.25, 0.5, 7.0], "kind": ["bad", "good", "bad"], "depth": [1, 2, 1]})
    frame["score"], frame["other"] = [0.1, 0.2, 0.3], 1
    known = source(frame, params(goal="min"))
    assert known.rewards.tolist() == [[-0.1], [-0.2]]  # 7.0 is outside
    assert (known.features[:, 0].tolist(), known.features.shape) == ([0.25, 0.5], (2, 4))
    table = user.from_frame(frame[:2].drop(columns="other"), "score", "max")
    known = source(table, params())  # rows in the table's order
    assert dict(zip(known.features[:, 0].tolist(), known.rewards[:, 0].tolist(), strict=True)) == {0.25: 0.1, 0.5: 0.2}
    tuned = tune(helpers.train, helpers.SPACE, budget=4, progress=False)
    again = source(tuned, params(actions="box"))
    assert again.rewards[:, 0].tolist() == [e.metrics["score"] for e in tuned]
    assert np.abs(again.features).max() <= 1.0
    assert source(again, params()) is again


def test_known_infeasible_configurations_are_not_evaluated_first() -> None:
    given: dict[str, Any] = {"constraints": {"size": ("<=", 0.5)}, "progress": False}
    frame = pd.DataFrame({"x": [0.9, 0.4, 0.8, 0.3, 0.2], "score": [9.0, 4.0, 8.0, 3.0, 2.0]})
    frame["size"] = frame["x"]
    tuned = tune(lambda c: {"score": c["x"], "size": c["x"]}, {"x": (0.0, 1.0)}, budget=3, sources=[frame], **given)
    assert [e.config["x"] for e in tuned] == [0.4, 0.3, 0.2]


def test_frames_have_the_names_of_a_search_and_its_choice_none() -> None:
    space = {"cost": (0.0, 1.0), "penalty": ["l1", "l2", None]}
    tuned = tune(lambda c: c["cost"] + 3.0 * (c["penalty"] is None), space, agent="random", budget=9, progress=False)
    assert {"config.cost", "cost"} <= {*tuned.to_frame()}
    for known in (tuned.to_frame(), tuned):
        (e,) = tune(lambda c: 0.0, space, sources=[known], budget=1, progress=False)
        assert e.config == tuned.best_config
    assert tuned.best_config["penalty"] is None


def test_infeasible_trials_of_optuna_are_no_examples() -> None:
    optuna = pytest.importorskip("optuna")
    study = optuna.create_study(direction="maximize")
    for x, violation in ((0.9, 1.0), (0.4, -1.0)):
        attributes = {"constraints": [violation]}
        trial = optuna.create_trial(
            value=x, params={"x": x}, distributions={"x": optuna.distributions.FloatDistribution(0, 1)},
            system_attrs=attributes,
        )  # fmt: skip
        study.add_trial(trial)
    (e,) = tune(lambda c: c["x"], {"x": (0.0, 1.0)}, objective="value", sources=[study], budget=1, progress=False)
    assert e.config == {"x": 0.4}


@pytest.mark.parametrize("agent", ["asha", "hyperband"])
def test_paused_trainings_are_no_examples_of_complete_ones(agent: str) -> None:
    def overfits(config: Any) -> Iterator[float]:
        for epoch in range(1, 10):
            yield config["x"] if epoch < 9 else -config["x"]

    space: dict[str, Any] = {"x": (0.0, 1.0)}
    tuned = tune(overfits, space, epochs=9, agent=agent, budget=54, progress=False)
    whole = [e for e in tuned if e.action[1] == 8]
    assert tuned.best is max(whole, key=lambda e: e.reward)
    assert tuned.pareto == [tuned.best]
    assert tuned.recommended.mean == pytest.approx(tuned.best_score, abs=0.05)
    assert tuned.to_frame()["incumbent"].iloc[-1] == tuned.best_score
    assert (tuned.configurations()[0][:, -1] == [e.action[1] + 1 for e in tuned]).all()
    (e,) = tune(lambda c: 0.0, space, sources=[tuned], budget=1, progress=False)
    assert e.config == tuned.best_config


def test_objectives_of_a_study_are_found_by_name() -> None:
    optuna = pytest.importorskip("optuna")
    study = optuna.create_study(directions=["maximize", "minimize"])
    study.set_metric_names(["a", "b"])
    for x in (0.2, 0.7):
        spread = {"x": optuna.distributions.FloatDistribution(0, 1)}
        study.add_trial(optuna.create_trial(values=[x, x], params={"x": x}, distributions=spread))
    given: dict[str, Any] = {"space": {"x": (0.0, 1.0)}, "sources": [study], "budget": 1, "progress": False}
    for name, goal, best in (("a", "max", 0.7), ("b", "min", 0.2)):
        (e,) = tune(float_of_x, objective=name, goal=goal, **given)
        assert e.config == {"x": best}
    with pytest.raises(ValueError, match="source no-name-.* must have score, got a, b"):
        tune(float_of_x, **given)


def test_middle_of_a_new_conditional_hyperparameter_is_that_of_its_range() -> None:
    old = tune(float_of_x, {"x": (0.0, 1.0), "kind": ["a", "b"]}, budget=9, agent="random", progress=False)
    new = {"x": (0.0, 1.0), "kind": ["a", "b"], "rate": {"low": 1.0, "high": 3.0, "if": {"kind": ["a"]}},
           "size": {"low": 2.0, "high": 4.0, "if": {"kind": ["b"]}}}  # fmt: skip
    tuned = tune(float_of_x, new, sources=[old], budget=3, progress=False)
    assert tuned.evaluations[0].config["x"] == old.best_config["x"]
    assert all(e.config.get("rate", 2.0) == 2.0 and e.config.get("size", 3.0) == 3.0 for e in tuned if e.given)


def test_stopped_trainings_of_a_source_count_with_their_forecast(tmp_path: Path) -> None:
    def train(config: Any, trial: Any) -> None:
        for step in range(1, 28):
            trial.report(config["x"] * (60 - 2 * step) + (1.0 - config["x"]) * step)
            if trial.should_stop:
                break

    points = [{"x": x} for x in (0.3, 0.25, 0.2, 0.15, 0.1, 0.9)]
    tuned = tune(train, {"x": (0.0, 1.0)}, points=points, budget=6, out=tmp_path, progress=False)
    assert (tuned.evaluations[5].stopped, tuned.best_config) == (True, {"x": 0.1})
    assert tuned.evaluations[5].reward > tuned.best.reward
    (e,) = tune(float_of_x, {"x": (0.0, 1.0)}, sources=[tuned], budget=1, progress=False)
    assert e.config == {"x": 0.1}
    (run,) = runs_of(tmp_path)
    assert run.rewards.max() == tuned.best.reward


def test_sources_with_the_other_goal_are_refused(tmp_path: Path) -> None:
    given: dict[str, Any] = {"budget": 2, "progress": False, "out": tmp_path}
    tuned = tune(helpers.train, helpers.SPACE, goal="min", **given)
    table = user.from_frame(pd.DataFrame({"x": [0.1, 0.2], "score": [1.0, 2.0]}), "score", "min")
    optuna = pytest.importorskip("optuna", reason="needs the extra optuna")
    study = optuna.create_study(direction="minimize")
    for each in (tuned, tmp_path, table, study):
        for agent in ("bo", "box-bo"):
            wrong: Any = {"agent": agent, "sources": [each], "budget": 2}
            rejects("source .* must have the goal max of score, got min", tune, helpers.train, helpers.SPACE, **wrong)


def test_choices_that_are_classes_are_known_after_reading(tmp_path: Path) -> None:
    space: dict[str, Any] = {"kind": [Path, int], "act": [helpers.train, helpers.stops], "x": (0.0, 1.0)}
    with Search(space, out=tmp_path, budget=4) as search:
        for trial in search:
            search.tell(trial, trial.config["x"])
    with Search(space, budget=2, sources=[tmp_path]) as learning:
        assert learning.ask().config == search.result.best_config
        assert len(source(tmp_path, learning._params).rewards) == 4


ROW: dict[str, Any] = {"x": [0.1], "kind": ["bad"], "score": [1.0]}


@pytest.mark.parametrize(
    "given, message",
    [
        (3, "source must be a Table, a DataFrame"),
        (pd.DataFrame({"x": [0.1]}), "source DataFrame must have evaluations in this search space, got none: config"),
        (pd.DataFrame({**ROW, "score": [np.inf]}), "got none: scores and cost must be finite numbers, cost >= 0, got"),
        (pd.DataFrame({**ROW, "cost": ["dear"]}), "got none: could not convert string to float: 'dear'"),
        (pd.DataFrame({**ROW, "cost": [-1.0]}), "got none: scores and cost must be finite numbers, cost >= 0, got"),
        (pd.DataFrame({"x": [0.1], "kind": "bad"}), "got none: no 'score'"),
    ],
)
def test_non_source_is_rejected(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        source(given, params())


def test_agents_are_handed_all_sources(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space, seen = {"x": (0.0, 1.0)}, []
    earlier = tune(helpers.train, {**helpers.SPACE, "x": (0.0, 1.0)}, budget=3, progress=False)
    tune(float_of_x, space, budget=4, out=tmp_path, progress=False)
    study = optuna.create_study(direction="maximize")
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=5)
    frame = pd.DataFrame({"x": [0.1, 0.2, 3.0], "score": [0.1, 0.2, 3.0], "cost": [1.0, 2.0, 3.0]})

    def agent(problem: Any, seed: int) -> Any:
        seen.append(problem.sources)
        return agents.make("random", problem, seed)

    tune(float_of_x, space, agent=agent, budget=2, sources=[tmp_path, frame, study], progress=False)
    (handed,) = seen
    assert [len(s.rewards) for s in handed] == [4, 2, 5]  # x = 3 is outside of the space
    for s in handed:
        np.testing.assert_allclose(s.features[:, 0], s.rewards[:, 0])
    assert handed[1].costs.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="source .* must have evaluations in this search space"):
        tune(float_of_x, {"y": (0.0, 1.0)}, budget=2, sources=[earlier], progress=False)


def test_default_agent_begins_with_what_was_best_in_few_observations() -> None:
    space, settings = {"x": (0.0, 1.0)}, {"candidates": 200, "progress": False}
    earlier = tune(float_of_x, space, agent="random", budget=10, seed=1, **settings)
    frame = pd.DataFrame({"x": [0.5, 0.4], "score": [9.0, 1.0]})
    later = tune(float_of_x, space, budget=4, sources=[earlier, frame], **settings)
    second = sorted((e.config["x"] for e in earlier), reverse=True)[1]
    expected = [earlier.best.config["x"], 0.5, second]
    np.testing.assert_allclose([e.config["x"] for e in later.evaluations[:3]], expected, atol=0.01)


def float_of_x(config: Any) -> float:
    return float(config["x"])


def test_known_bests_are_evaluated_first_and_moved_into_space(tmp_path: Path) -> None:
    tune(helpers.train, helpers.SPACE, agent="random", budget=12, out=tmp_path, progress=False)
    frame = pd.DataFrame({"x": [0.2, 3.0], "kind": ["bad", "good"], "depth": [np.nan, 9], "score": [9.0, 8.0]})
    space = {**helpers.SPACE, "x": (0.0, 0.25), "new": (0.0, 2.0)}
    with pytest.warns(UserWarning, match="known bests are moved into the search space: x .* to 0.25"):
        tuned = tune(helpers.train, space, budget=6, sources=[tmp_path, frame], progress=False)
    old = sorted(load(tmp_path), key=lambda e: -e.reward)
    expected = {**old[0].config, "x": min(old[0].config["x"], 0.25), "new": 1.0}
    assert ([e.given for e in tuned], tuned.evaluations[0].config) == ([True] * 4 + [False] * 2, expected)
    assert tuned.evaluations[1].config == {"x": 0.2, "kind": "bad", "new": 1.0}
    assert tuned.evaluations[3].config == {"x": 0.25, "kind": "good", "depth": 3, "new": 1.0}
    assert tuned.header["picked"] == "box-bo"
    with pytest.warns(UserWarning, match="bo-spread does not learn from sources"):
        tune(helpers.train, helpers.SPACE, agent="bo-spread", budget=1, sources=[tmp_path], progress=False)


def test_changed_space_begins_search_with_old_one_as_source(tmp_path: Path, cli: Any) -> None:
    given: dict[str, Any] = {"out": tmp_path, "progress": False}
    old = tune(helpers.train, helpers.SPACE, budget=8, **given)
    wider = {**helpers.SPACE, "x": (-1.0, 2.0)}
    with pytest.raises(ValueError, match=r"has space .* learns from this one"):
        tune(helpers.train, wider, budget=8, **given)
    for budget in (3, 5):
        new = tune(helpers.train, wider, budget=budget, accept_changed=True, **given)
        assert (new.folder.parent, len(new)) == (tmp_path, budget)
        assert new.evaluations[0].config == pytest.approx(old.best.config)
    assert len(load(tmp_path)) == 8
    said = cli(["report", str(tmp_path)])
    assert "not compared with the searches in it: runs must share their space" in said
    assert "8 evaluations" in said


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("epochs", [None, 3])
@pytest.mark.parametrize("objective", ["score", ("score", "other")])
def test_no_agent_ignores_sources_in_silence(epochs: int | None, objective: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [0.625, 0.125, 0.25], "score": [9.0, 1.0, 2.0], "other": [1.0, 1.0, 1.0]})
    goal = "max" if objective == "score" else ("max", "max")
    tried = set()
    for name in agents.names():
        given = {"budget": epochs or 1, "epochs": epochs, "objective": objective, "goal": goal, "sources": [frame]}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                function = helpers.epochs if epochs else float_of_x
                prepared = Preparation.of(tmp_path, 0, function, {"x": (0.0, 1.0)}, agent=name, **given)
            except (ValueError, ModuleNotFoundError):
                continue  # not for this problem
        said = any("does not learn from sources" in str(w.message) for w in caught)
        learns = agents.entry(name).sources or name == "learned" or prepared.header.get("picked") == "quantile-copula"
        assert said or learns or prepared.points[0] == {"x": 0.625}, name
        tried.add(name)
    assert {"auto", "random"} <= tried
