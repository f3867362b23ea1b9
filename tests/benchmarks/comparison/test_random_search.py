"""Exact random search: against all orders of small tables, and against runs of the agent."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.agents.models.acquisition import hypervolume, pareto_front
from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.comparison import random_search, targets


def _moments(exact: random_search.Exact, values: list[float]) -> None:
    assert exact.mean == pytest.approx(np.mean(values), abs=1e-9)
    assert exact.std == pytest.approx(np.std(values), abs=1e-6)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.integers(1, 5), st.integers(1, 4))
def test_targets_of_one_objective_equal_all_orders(values: list[int], budget: int, least: int) -> None:
    budget = min(budget, len(values))
    exact = random_search.of_values(values, 1.0, budget, least)
    orders = list(itertools.permutations(values))
    best = float(max(values))
    _moments(exact["ftb"], [max(least, targets.ftb(o, best)) for o in orders])
    _moments(exact["ftc"], [max(least, targets.ftc(o, best, 1.0)) for o in orders])
    _moments(exact["fb"], [targets.fb(o, best, budget) for o in orders])


@settings(max_examples=40)
@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5), st.integers(1, 4))
def test_targets_and_volume_of_two_objectives_equal_all_orders(found: set[tuple[int, int]], least: int) -> None:
    points = np.array(sorted(found), dtype=float)
    front = points[pareto_front(points)]
    orders = [points[list(o)] for o in itertools.permutations(range(len(points)))]
    exact = random_search.of_points(points, 2, least)
    _moments(exact["fto"], [max(least, targets.fto(o, front)) for o in orders])
    _moments(exact["fta"], [max(least, targets.fta(o, front)) for o in orders])
    _moments(exact["fbp"], [targets.fbp(o, front, 2) for o in orders])
    corner = np.array([0.5, -1.0])
    volumes = random_search.volume_after(points, corner, len(points))
    for b in range(1, len(points) + 1):
        inside = [o[:b][(o[:b] > corner).all(axis=1)] for o in orders]
        truth = np.mean([hypervolume(-p, -corner) if len(p) else 0.0 for p in inside])
        assert volumes[b - 1] == pytest.approx(truth, abs=1e-9)


def test_selected_reports_draw_with_best_criterion() -> None:
    criterion, values = np.array([3.0, np.nan, 2.0, 5.0, 4.0]), np.array([10.0, 40.0, 20.0, 30.0, 50.0])
    rows = [0, 1, 2, 2, 3]
    draws = {0: [0], 1: [1], 2: [2, 3], 3: [4]}
    known = np.nan_to_num(criterion, nan=-1.0)
    for b in (1, 2, 3, 4):
        found = [
            np.mean([values[max(d, key=lambda i: known[i])] for d in itertools.product(*(draws[r] for r in s))])
            for s in itertools.combinations(range(4), b)
        ]
        assert random_search.selected(criterion, values, rows, b) == pytest.approx(np.mean(found))


@pytest.mark.parametrize(("env", "seeds"), [("NMTHPO-zhen-v0", 300), ("NMTHPO-jaen-mo-v0", 60)])
def test_agent_has_these_means(env: str, seeds: int) -> None:
    kwargs: dict[str, Any] = {}
    found = runs.run("random", env, range(seeds), env_kwargs=kwargs)
    after = [regret.after(r) for r in found]
    simulated = np.array([(regret.anytime(r, a), regret.final(r, a)) for r, a in zip(found, after, strict=True)])
    exact = random_search.baseline(found[0])
    assert exact is not None
    error = simulated.std(axis=0) / np.sqrt(seeds)
    assert (np.abs(simulated.mean(axis=0) - exact) <= 4.0 * error).all()


@pytest.mark.parametrize("env", ["NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0"])
def test_targets_of_agent_have_these_means(env: str) -> None:
    found = runs.run("random", env, range(100), budget=118)
    records = targets.summarise({"random": found})
    exact = {r["score"]: r for r in records if r["agent"] == "random, exact"}
    simulated = {r["score"]: r for r in records if r["agent"] == "random"}
    assert set(exact) == set(simulated)
    for name, r in simulated.items():
        assert abs(r["mean"] - exact[name]["mean"]) <= 4.0 * exact[name]["std"] / np.sqrt(100) + 1e-9
    assert targets.rows(records)[-1][0] == "random, exact"


@pytest.mark.parametrize(
    "env", ["NMTHPO-v0", "NMTLC-ruen-v0", "CharHPO-v0", "FIESTA-gaussian-v0", "CushLEPOR-ted-ende-v0"]
)
def test_no_baseline_where_none_is_exact(env: str) -> None:
    found = runs.run("random", env, [0], budget=3)
    assert random_search.baseline(found[0]) is None


@pytest.mark.parametrize("env", ["NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0", "NMTHPO-v0"])
@pytest.mark.parametrize("subsample", [0.3, 1.0])
def test_problems_looked_at_batched_have_baseline_of_each(env: str, subsample: float) -> None:
    kwargs = {} | ({"subsample": subsample} if env != "NMTHPO-v0" else {})
    found = runs.run("random", env, range(5), budget=3, env_kwargs=kwargs)
    together = random_search.baselines(found[2], {r.seed: r.header["scale"] for r in found})
    for pair, each in zip(together, map(random_search.baseline, found), strict=True):
        assert pair == (each and pytest.approx(each, rel=1e-12))


def test_impossible_targets_are_rejected() -> None:
    with pytest.raises(ValueError, match="wanted must be in 1 to 5"):
        random_search.first_of(5, 6)
