"""Regret by hand and by definition, and the exact texts of its errors.

`tests/robustness/mutation.py` shows that these tests detect nearly every change of an operator, number, name or text.
"""

import dataclasses
import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import benchmarks
from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.runs import Run
from hpo_envs.benchmarks.study.block import Block
from hpo_envs.tables.table import LOST
from tests.helpers import raises

INF = float("inf")


def run(rewards: Any, *, costs: Any = None, rows: Any = None, truth: Any = None, **header: Any) -> Run:
    """A run whose header has a scale; with `rows` and `truth` (of each row) its rewards are noisy."""
    r = np.asarray(rewards, dtype=float)
    scale = {"source": "table", "signs": [1.0], "front": [], "repeats": 1}
    scale |= {"noise": 0.0, "best": [4.0], "reference": [2.0]}
    given = {k: header.pop(k) for k in (*scale,) if k in header}
    head: dict[str, Any] = {
        "env": "Toy-v0", "env_kwargs": {}, "table": "toy/scores", "kind": "surrogate", "sha256": "x", "agent": "toy",
        "objectives": ["score"], "budget": 10.0, "cost_unit": "evaluations", "scale": {**scale, **given}, **header,
    }  # fmt: skip
    spent = np.ones(len(r)) if costs is None else np.asarray(costs, dtype=float)
    evaluated = {}
    if rows is not None:
        at = np.asarray(rows)
        evaluated = {"row": at, "level": np.zeros_like(at), "truth": np.asarray(truth)[at]}
    return Run(0, np.zeros(len(r), int), r, spent, 0, head, evaluated)


def anytime(run: Run, after: np.ndarray) -> float:
    return regret.averaged(run.header, run.costs, after)  # type: ignore[no-any-return]


def final(r: Run) -> float:
    return float(Block.of([r]).final[0])


def test_regret_of_one_objective_by_hand() -> None:
    r = run([1.0, 3.0, 2.5, 4.0, 9.0])
    after = regret.after(r)
    assert (after.tolist(), final(r)) == ([1.0, 0.5, 0.5, 0.0, 0.0], 0.0)
    assert final(run([3.5])) == 0.25
    for flat in (2.0, 1.0):
        assert regret.after(run([1.0, 3.0], best=[flat])).tolist() == [0.0] * 2
    assert regret.after(run([2.25], best=[2.5])).tolist() == [0.5]
    bare = dataclasses.replace(r, header={k: v for k, v in r.header.items() if k != "scale"})
    with raises("header must have a scale, got none for toy on Toy-v0: repeat the run"):
        regret.after(bare)


def test_regret_of_noisy_rewards_by_hand() -> None:
    truth = [4.0, 3.0, 2.0, 0.0]
    # Means so far: row 1 alone; row 2 leads by one lucky draw; after its second row 1 leads again; then row 0.
    r = run([-1.0, 5.0, -9.0, 0.0, 1.0], rows=[1, 2, 2, 0, 1], truth=truth)
    assert regret.noisy(r)
    assert regret.after(r).tolist() == [0.5, 1.0, 0.5, 0.0, 0.5], "level with row 0, and met before it"
    assert regret.after(run([1.0, 1.0], rows=[2, 0], truth=truth)).tolist() == [1.0, 1.0], "the earliest of equals"
    late = run([0.5, 3.0, 3.0], rows=[0, 1, 1], truth=truth)
    assert regret.after(late).tolist() == [0.0, 0.5, 0.5]
    back = run([3.0, 5.0, 1.0, 9.0], rows=[1, 0, 0, 1], truth=truth)
    assert regret.after(back).tolist() == [0.5, 0.0, 0.5, 0.5], "level with row 1 again, which was first"
    # At the end what is recommended counts, whatever its own rewards were; regret is clipped at 1.
    for told, expected in ((2.0, 1.0), (np.array([3.0, 3.0]), 0.5), (0.0, 1.0), (None, 0.5)):
        end = dataclasses.replace(r, recommended_truth=told)
        assert final(end) == expected
    bad = run([99.0, 99.0], rows=[3, 3], truth=truth)
    assert regret.after(bad).tolist() == [1.0, 1.0], "no worse than the median configuration"
    levels = dataclasses.replace(r, evaluated={**r.evaluated, "level": np.arange(5)})
    assert regret.after(levels).tolist() == [0.5, 1.0, 1.0, 1.0, 1.0], "each level of a row stands for itself"


def test_diverged_first_evaluation_counts_as_median_configuration() -> None:
    for truth in ([-1e6, 3.0], [2.0, 3.0]):
        r = run([0.0, 3.0], rows=[0, 1], truth=truth, budget=2.0)
        assert anytime(r, regret.after(r)) == pytest.approx(0.75)


def test_raw_scores_are_minus_the_incumbent() -> None:
    r = run([1.0, 3.0, 2.0], source="none", best=[], reference=[], budget=4.0, costs=[2.0, 1.0, 1.0])
    after = regret.after(r)
    assert (after.tolist(), final(r), regret.raw(r)) == ([-1.0, -3.0, -3.0], -3.0, True)
    assert anytime(r, after) == -2.5
    assert regret.runtimes(np.stack([after]), r.costs, [0.5, 0.0], raw=True).tolist() == [[INF, INF]]
    assert regret.at_costs(after, r.costs, 4.0, [0.25, 0.5, 1.0], raw=True).tolist() == [-1.0, -1.0, -3.0]
    assert not regret.raw(run([1.0]))


def area(points: np.ndarray, corner: np.ndarray) -> float:
    """Hypervolume above a corner by slices: as wide as each step of the first reward, as high as the best second."""
    good = points[(points > corner).all(axis=1)]
    xs = np.unique(np.append(good[:, 0], corner[0]))
    return sum((b - a) * (good[good[:, 0] >= b, 1].max() - corner[1]) for a, b in itertools.pairwise(xs))


PAIR = {"objectives": ["score", "loss"], "best": [1.0, 1.0], "reference": [0.0, 0.0]}


def test_regret_of_two_objectives_is_the_lost_area() -> None:
    rng = np.random.default_rng(3)
    points = rng.random((25, 2)) * 2 - 0.5
    points[7], points[11] = points[3], [0.9, -1.0]  # seen before, and outside the corner
    r = run(points, **PAIR, front=[[3.0, 1.0]])
    expected = [min(max(1 - area(points[: i + 1], np.zeros(2)) / 3.0, 0.0), 1.0) for i in range(25)]
    after = regret.after(r)
    assert (after.tolist(), final(r)) == (pytest.approx(expected), pytest.approx(expected[-1]))
    assert regret.after(run(points, **PAIR, front=[[0.1, 0.1]]))[-1] == 0.0
    edge = run([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], **PAIR, front=[[3.0, 1.0]])
    assert regret.after(edge) == pytest.approx([1.0, 1.0, 1 - 0.25 / 3])
    with raises("objectives must be one or two for hypervolume, got 3"):
        regret.after(run(np.ones((2, 3)), objectives=["a", "b", "c"], best=[1.0] * 3, reference=[0.0] * 3))


def test_noisy_fronts_count_the_true_means_of_their_rows() -> None:
    truth = np.array([[1.0, 0.5], [0.5, 1.0], [0.25, 0.25], [-1.0, 2.0]])
    told: dict[str, Any] = {"truth": truth, "front": [[1.0, 1.0]], **PAIR}
    r = run([[9.0, 9.0], [0.8, 0.5], [0.1, 0.1], [0.4, 1.0]], rows=[2, 0, 2, 1], **told)
    # Row 2 is taken for the front by luck, and still dominates on its own means after a second draw.
    assert regret.after(r).tolist() == pytest.approx([1 - 1 / 16] * 4)
    fair = run([[0.2, 0.2], [0.8, 0.5], [0.4, 1.0], [0.0, 3.0]], rows=[2, 0, 1, 3], **told)
    assert regret.after(fair).tolist() == pytest.approx([1 - 1 / 16, 0.5, 0.25, 0.25])


def test_regret_over_budget_by_hand() -> None:
    r = np.array([0.8, 0.5, 0.1])
    assert regret.at_evaluations(r, 5).tolist() == [0.8, 0.5, 0.1, 0.1, 0.1]
    assert regret.at_evaluations(r, 2).tolist() == [0.8, 0.5]
    costs = np.array([2.0, 3.0, 100.0])
    shares = [0.1, 0.2, 0.49, 0.5, 0.99, 1.0]
    timed = run([0, 0, 0], costs=costs, budget="10", cost_unit="s")
    many = regret.at_costs(np.stack([r, r]), np.stack([costs, costs]), 10.0, shares)
    assert (many.tolist(), len(regret.at_costs(r, costs, 10.0))) == ([[1.0, 0.8, 0.8, 0.5, 0.5, 0.1]] * 2, 100)
    assert regret.at_costs(r, costs, 10.0)[[18, 19, 48, 49, 98, 99]].tolist() == [1.0, 0.8, 0.8, 0.5, 0.5, 0.1]
    # Three tenths added up are a hair more than 0.3, and count as finished there.
    assert regret.at_costs(np.array([0.9, 0.8, 0.7]), np.full(3, 0.1), 1.0, [0.3]).tolist() == [0.7]
    evaluations = run([0, 0, 0], budget=5.0)
    assert anytime(evaluations, r) == pytest.approx((0.8 + 0.5 + 0.1 * 3) / 5)
    assert anytime(run([0], budget=0.4), r[:1]) == pytest.approx(0.8)
    assert anytime(run([0, 0, 0], budget=1.6), r) == pytest.approx(0.65)
    assert isinstance(anytime(evaluations, r), float)
    assert anytime(timed, r) == pytest.approx(regret.at_costs(r, costs, 10.0).mean())
    assert isinstance(anytime(timed, r), float)


def test_runtimes_equal_values_by_hand() -> None:
    r = run([0, 0, 0], costs=[2.0, 3.0, 4.0])
    seen = np.array([0.5, 0.7, 0.1])
    assert regret.runtimes(seen, r.costs, [0.6, 0.5, 0.4, 0.1, 0.0999]).tolist() == [2.0, 2.0, 9.0, 9.0, INF]
    assert regret.runtimes(seen, r.costs, ["0.1"]).tolist() == [9.0]
    assert regret.runtimes(seen, r.costs, [0.1 - 5e-10]).tolist() == [9.0], "a hair of slack"
    assert regret.runtimes(seen, r.costs).shape == (21,)
    both = regret.runtimes(np.stack([seen, seen[::-1]]), np.stack([r.costs, r.costs]), [0.5, 0.1])
    assert (both.tolist(), regret.TARGETS[0]) == ([[2.0, 9.0], [2.0, 2.0]], pytest.approx(10**-0.1))
    assert regret.TARGETS[-2:] == pytest.approx([0.01, 0.0])
    assert (regret.SHARES[0], regret.SHARES[-1], len(regret.SHARES)) == (0.01, 1.0, 100)


def test_memory_does_not_grow_with_budget() -> None:
    assert anytime(run([1.0, 2.0], budget=1e12), np.array([1.0, 0.5])) == pytest.approx(0.5)
    assert anytime(run([1.0, 2.0], budget=4.0), np.array([1.0, 0.5])) == 0.625
    assert anytime(run([1.0, 2.0, 3.0], budget=2.0), np.array([1.0, 0.5, 0.0])) == 0.75


@pytest.mark.parametrize(
    "env_id, row",
    [
        ("FIESTA-ner-v0", "worst"),
        *((env_id, row) for env_id in ("FIESTA-tdsa8-v0", "NASBenchNLP-ptb-final-v0") for row in ("worst", "middle")),
    ],
)
def test_agent_that_pulls_one_row_scores_its_true_mean_clipped_at_one(env_id: str, row: str) -> None:
    """By its luckiest draw the row would seem as good as the best."""

    kwargs = {"budget": 40, "shuffle": False}
    env: Any = gym.make(env_id, disable_env_checker=True, **kwargs).unwrapped
    metric = env.table.metrics[env.table.metric(env.objectives[0])]
    lost = np.isin(env.table.status, LOST)  # a run that diverged is rewarded with the worst value
    means = metric.sign * np.nanmean(np.where(lost, metric.worst, env.table.ends(metric.name)), axis=1)
    trained = means[~lost.any(axis=1)]
    best, reference = trained.max(), np.median(trained)
    wanted = means.min() if row == "worst" else (best + reference) / 2
    chosen = int(np.abs(means - wanted).argmin())

    stubborn = type("Stubborn", (RandomSearch,), {"ask": lambda self: chosen, "recommend": lambda self: chosen})
    worth = (best - means[chosen]) / (best - reference)
    assert worth > 1.0 if row == "worst" else 0.2 < worth < 0.8
    for r in benchmarks.run(stubborn, env_id, range(4), env_kwargs=kwargs):
        after = regret.after(r)
        for score in (*after, final(r), anytime(r, after)):
            assert score == pytest.approx(min(worth, 1.0), rel=1e-6)


def test_regret_of_rows_is_that_of_a_table_and_unknown_where_best_is_median() -> None:
    assert regret.of_rows(np.array([0.0, 3.0, 1.0, 2.0])).tolist() == [1.0, 0.0, 1.0, pytest.approx(2 / 3)]
    assert np.isnan(regret.of_rows(np.array([1.0, 2.0, 2.0]))).all()
