"""Target scores, attainment and bootstrap, by hand."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.benchmarks import run
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.analysis.scales import of_header
from hpo_envs.benchmarks.comparison import targets
from hpo_envs.benchmarks.runs import Run


def test_targets_equal_values_by_hand() -> None:
    rewards = [1.0, 3.0, 2.6, 3.4, 5.0, 4.0]
    assert (targets.ftb(rewards, 5.0), targets.ftc(rewards, 5.0, 1.6)) == (5, 4)
    assert (targets.ftc(rewards, 26.09, 0.5), targets.fb(rewards, 5.0, 3)) == (float("inf"), 2.0)
    assert targets.ftb(rewards, 6.0) == float("inf")
    points = np.array([[1.0, 1.0], [3.0, 0.0], [0.0, 3.0], [2.0, 2.0]])
    front = points[pareto_front(points)]
    assert (front.tolist(), targets.fto(points, front)) == ([[3.0, 0.0], [0.0, 3.0], [2.0, 2.0]], 2)
    assert (targets.fta(points, front), targets.fbp(points, front, 3)) == (4, 2)


def test_targets_on_the_edge_are_met() -> None:
    assert (targets.first_reaching([0, 0, 1, 1]), targets.first_reaching(["", "x"])) == (3.0, 2.0)
    assert type(targets.first_reaching([True])) is float
    assert targets.first_reaching([]) == float("inf")
    assert targets.ftb(["1", "2"], 2.0) == 2.0 == targets.fb(["1"], 3.0)
    assert targets.fto([["1", "2"]], [[1.0, 2.0]]) == targets.fto([[1.0, 2.0]], [["1", "2"]]) == 1.0
    assert targets.ftc([25.0, 25.59, 26.0], 26.09) == 2.0  # 26.09 - 0.5 is no exact binary number
    assert (targets.ftc([25.0, 25.5899, 26.0], 26.09), targets.ftc([1, 2, 3], 3, 1)) == (3.0, 2.0)
    assert targets.ftc([2.0 - 1e-6], 3, 1) == float("inf")
    rewards = np.arange(30.0)
    assert targets.fb(rewards, 40.0) == 21.0  # of 20 evaluations
    assert targets.fb(rewards, 40.0, 1) == 40.0
    assert type(targets.fb([1], 2.0)) is float
    front = np.array([[3.0, 0.0], [0.0, 3.0]])
    seen = [[3.0, 1.0], [0.0, 3.0], [0.0, 3.0], [3.0, 0.0]]
    assert (targets.fto(seen, front), targets.fta(seen, front)) == (2.0, 4.0)
    assert [targets.fbp(seen, front, k) for k in (1, 2, 3, 4)] == [0.0, 1.0, 1.0, 2.0]
    assert targets.fta(seen[:3], front) == float("inf")


def test_attainment_equals_values_by_hand() -> None:
    sets = [[[1.0, 5.0], [2.0, 3.0]], [[1.0, 4.0], [3.0, 1.0]], [[2.0, 6.0]]]
    grid = [0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]
    inf = float("inf")
    assert targets.attainment(sets, grid).tolist() == [5.0, 5.0, 3.0, 3.0, -inf, -inf, -inf]
    assert targets.attainment(sets, grid, 1.0).tolist() == [4.0, 4.0, 1.0, 1.0, -inf, -inf, -inf]
    assert targets.attainment(sets, grid, 0.01).tolist() == [6.0, 6.0, 6.0, 6.0, 1.0, 1.0, -inf]
    assert targets.attainment(sets, grid, 1 / 3).tolist() == targets.attainment(sets, grid, 0.2).tolist()
    assert targets.attainment([[["1", "2"]]], ["1"]).tolist() == [2.0]
    unsorted = [[[3.0, 1.0], [1.0, 5.0], [2.0, 0.0]]]
    assert targets.attainment(unsorted, [1.0, 2.0, 3.0]).tolist() == [5.0, 1.0, 1.0]


def test_tolerance_has_the_scale_of_the_metric() -> None:
    (one,) = run("random", "NMTHPO-zhen-v0", [0])
    scale = one.header["scale"]
    close = 0.1 * (scale["best"][0] - scale["reference"][0])
    assert (targets.tolerance_of(one, None), targets.tolerance_of(one, 0.25)) == (pytest.approx(close), 0.25)
    assert f"within {close:.3g} of it, in the unit of bleu (0.1 of" in targets.legend({"random": [one]})
    assert "within 0.25 of it, in the unit of bleu." in targets.legend({"random": [one]}, 0.25)
    shrunk = scale | {name: [scale[name][0] / 100] for name in ("best", "reference")}
    smaller = dataclasses.replace(one, rewards=one.rewards / 100, header={**one.header, "scale": shrunk})
    assert targets.score(smaller)["ftc"] == targets.score(one)["ftc"]


def scaled(run: Run, source: str) -> Run:
    return dataclasses.replace(run, header={**run.header, "scale": {**run.header["scale"], "source": source}})


def test_targets_of_repeats_are_true_means() -> None:
    for r in run("random", "CharMini-eng-lstm-v0", range(20), budget=60):
        found, after = targets.score(r), regret.after(r)
        assert found["fb"] >= 0.0
        assert (found["fb"] == 0.0) == (after[-1] == 0.0)
        assert found["ftb"] == targets.first_reaching(after == 0.0)


def test_summary_and_its_refusals() -> None:
    runs = run("random", "NMTHPO-zhen-v0", range(10))
    records = targets.summarise({"random": runs})
    fb = next(r for r in records if r["score"] == "fb")
    expected = [r.header["scale"]["best"][0] - r.rewards.max() for r in runs]
    assert (fb["mean"], fb["std"]) == (pytest.approx(np.mean(expected)), pytest.approx(np.std(expected)))
    assert fb["low"] <= fb["mean"] <= fb["high"]
    head, row = targets.rows(records)
    assert (head, row[0]) == (["agent", "best", "fb", "ftb", "ftc"], "random")
    assert "nan" not in str(targets.rows(targets.summarise({"random": runs[:1]})))
    assert [r["mean"] for r in targets.summarise({"random": runs}, 99.0) if r["score"] == "ftc"] == [1.0]
    unknown = [dataclasses.replace(scaled(r, "none"), rewards=-r.rewards) for r in runs]
    (best,) = targets.summarise({"random": unknown})
    assert (best["score"], best["low"] < best["mean"] < 0.0) == ("best", True)
    assert targets.tolerance_of(unknown[0], None) == 0.0
    other = Run(0, runs[0].actions, runs[0].rewards, runs[0].costs, 0, {**runs[0].header, "kind": "surrogate"})
    with pytest.raises(ValueError, match="runs must share id and kind of table"):
        targets.summarise({"a": runs, "b": [other]})


@pytest.mark.parametrize("objective", ["bleu", ("bleu", "decoding_seconds")])
def test_run_has_targets_of_its_rewards(objective: Any) -> None:
    (one,) = run("random", "NMTHPO-zhen-v0", [0], env_kwargs={"objective": objective}, budget=90)
    scale, rewards = of_header(one.header), one.rewards
    best, close = scale.best[0], targets.tolerance_of(one, None)
    if objective == "bleu":
        known = {"best": rewards.max(), "fb": targets.fb(rewards, best, 90), "ftb": targets.ftb(rewards, best)}
        assert targets.score(one) == known | {"ftc": targets.ftc(rewards, best, close)}
    else:
        known = {f.__name__: f(rewards, scale.front) for f in (targets.fto, targets.fta)}
        assert targets.score(one) == known | {"fbp": targets.fbp(rewards, scale.front, 90)}
        with pytest.raises(ValueError, match="objective must be one name on NMTHPO-zhen-v0, whose Pareto front is not"):
            targets.score(scaled(one, "bounds"))
    with pytest.raises(ValueError, match="must have at least one evaluation, got none with seed 0"):
        targets.score(dataclasses.replace(one, costs=one.costs[:0]))
