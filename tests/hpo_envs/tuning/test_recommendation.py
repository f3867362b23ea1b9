"""Recommendations: with noise the predicted mean is better than the best score; finalists are evaluated again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.tuning import Search, load, tune
from tests.helpers import WIDE, rejects
from tests.hpo_envs.tuning import helpers

SPACE: dict[str, Any] = {"x": (0.0, 1.0), "kind": ["a", "b"]}


def truth(config: Any) -> float:
    return float(-((config["x"] - 0.3) ** 2) - 0.1 * (config["kind"] == "b"))


def noisy(seed: int, **given: Any) -> Search:
    """A finished search whose noise is larger than the differences near the optimum."""
    rng = np.random.default_rng(seed)
    search = Search(SPACE, seed=seed, budget=24, **given)
    for trial in search:
        search.tell(trial, 10.0 - truth(trial.config) + rng.normal(0.0, 0.1))
    return search


def test_recommended_is_better_than_luckiest_draw() -> None:
    lucky, recommended, covered = [], [], 0
    for seed in range(seeds := 60 if WIDE else 8):
        tuned = noisy(seed, goal="min").result
        found = tuned.recommended
        lucky.append(truth(tuned.best_config))
        recommended.append(truth(found.config))
        assert found.low < found.mean < found.high
        covered += found.low <= 10.0 - truth(found.config) <= found.high
    assert np.mean(recommended) > np.mean(lucky)
    assert covered >= 0.87 * seeds - 1  # of 95 % intervals, less two standard errors


def test_finalists_are_confirmed_within_budget(tmp_path: Path) -> None:
    tuned = noisy(0, goal="min", confirm=3, out=tmp_path).result
    repeats = [e.repeats for e in tuned]
    assert (len(tuned), repeats[:15]) == (24, [-1] * 15)
    assert sorted(repeats[15:].count(n) for n in {*repeats[15:]}) == [3, 3, 3]
    for e in tuned.evaluations[15:]:
        assert e.config == tuned.evaluations[e.repeats].config
    assert load(tmp_path).recommended.count >= 1
    assert "Best predicted mean: " in load(tmp_path).report().read_text()
    with Search(SPACE, budget=24, goal="min", confirm=3, out=tmp_path) as again:
        assert again.done


def test_repeats_begun_by_one_process_are_those_of_all(tmp_path: Path) -> None:
    given: dict[str, Any] = {"space": SPACE, "agent": "random", "join": True, "out": tmp_path}
    with Search(budget=9, **given) as first:
        assert [first.tell(trial, 1.0).repeats for trial in first] == [-1] * 9
    with Search(budget=20, confirm=2, **given) as resumed:
        with pytest.warns(UserWarning, match="keeps its confirm of 2, which processes share, instead of 0"):
            other = Search(budget=20, **given)
        assert [other.tell(trial, 1.0).repeats >= 0 for trial in other] == [False] * 5 + [True] * 6
        other.close()
        assert (resumed.begin(), load(tmp_path).header["confirm"]) == (None, 2)


def test_larger_budget_has_finalists_of_its_own(tmp_path: Path) -> None:
    given: dict[str, Any] = {"agent": "random", "confirm": 1, "out": tmp_path, "progress": False}
    scores = iter(np.arange(100.0))
    tune(lambda config: next(scores), {"x": (0.0, 1.0)}, budget=9, **given)
    tuned = tune(lambda config: next(scores), {"x": (0.0, 1.0)}, budget=20, **given)
    assert [e.repeats for e in tuned.evaluations[9:17]] == [-1] * 8
    assert {*range(9, 17)} & {e.repeats for e in tuned.evaluations[17:]}
    assert len(tuned) == 20


def test_budget_of_repeats_without_finalists_is_used() -> None:
    given: dict[str, Any] = {"constraints": {"size": ("<=", -1.0)}, "confirm": 1, "budget": 9, "progress": False}
    tuned = tune(lambda c: {"score": c["x"], "size": c["x"]}, {"x": (0.0, 1.0)}, **given)
    assert [e.repeats for e in tuned] == [-1] * 9


def test_repeats_of_trainings_have_their_epochs_reserved() -> None:
    tuned = tune(helpers.epochs, SPACE, epochs=9, budget=90, confirm=1, progress=False)
    assert sum(e.repeats >= 0 for e in tuned) == 3


def test_search_of_one_configuration_has_a_page(tmp_path: Path) -> None:
    scores = iter(np.arange(9.0))
    given: dict[str, Any] = {"space": {"kind": ["a"]}, "confirm": 8, "out": tmp_path, "progress": False}
    rejects("confirm must leave budget for other evaluations", tune, next, budget=24, **given)
    tuned = tune(lambda config: next(scores), budget=25, **given)
    assert (len(tuned), "What mattered" in tuned.report().read_text()) == (9, True)


def test_best_score_that_most_evaluations_share_is_recommended() -> None:
    tuned = tune(lambda config: float(config["x"] > 0.3), SPACE, agent="random", budget=12, progress=False)
    assert 6 < sum(e.reward == 1.0 for e in tuned) < 12
    assert (tuned.recommended.config["x"] > 0.3, np.isfinite(tuned.recommended.low)) == (True, True)


def test_few_or_equal_scores_have_no_interval() -> None:
    tuned = tune(lambda config: 1.0, SPACE, budget=5, progress=False)
    assert (tuned.recommended.mean, np.isnan(tuned.recommended.low)) == (1.0, True)
    # The only feasible evaluation was stopped early, or its repeat is infeasible: it is the best one all the same.
    one, two, *_ = tuned.evaluations
    bad = replace(two, violations=[1.0])
    for found in ((replace(one, status="truncated", curve=[[1, 1.0]]), bad), (one, replace(bad, config=one.config))):
        few = replace(tuned, evaluations=found).recommended
        assert (few.evaluation, few.mean, few.count, np.isnan(few.low)) == (found[0], 1.0, 1, True)
    with pytest.raises(ValueError, match="confirm must be 0 for several objectives"):
        Search(SPACE, objective=("a", "b"), confirm=2)
    both = tune(lambda c: {"a": c["x"], "b": -(c["x"] ** 2)}, SPACE, budget=9, objective=("a", "b"), progress=False)
    with pytest.raises(ValueError, match=r"got a, b: use .pareto, the front, or .recommended"):
        _ = both.best
    inside = sorted(e.metrics["a"] for e in both.pareto)
    assert inside[0] < both.recommended.config["x"] < inside[-1]
