"""Hyperband, successive halving and ASHA: brackets, promotions, budgets."""

import dataclasses
import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.multifidelity.hyperband import bracket, brackets, halvings
from hpo_envs.benchmarks import problem_of
from tests.agents.multifidelity.helpers import make, play, smooth
from tests.hpo_envs.core.engines.curves.model import THREE, validated


def test_hyperband_has_the_brackets_of_the_paper() -> None:
    """R = 81, eta = 3: brackets by the algorithm of Li et al. (2018), not by its table; SMAC3 has the same numbers."""
    found = brackets(81, 3)
    assert ([b[0][0] for b in found], found[0]) == ([81, 34, 15, 8, 5], [(81, 1), (27, 3), (9, 9), (3, 27), (1, 81)])
    assert (sum(n for b in found for n, _ in b), sum(n * r for b in found for n, r in b)) == (206, 1902)


def test_hyperband_has_the_brackets_of_nas_bench_nlp() -> None:
    """R = 50, eta = 3, B = N R / 3.5 with N = 100, as in the released comparison."""
    found = brackets(50, 3, 100 / 3.5)
    assert [[r for _, r in b] for b in found] == [[1, 5, 16, 50], [5, 16, 50], [16, 50], [50]]
    assert [b[0][0] for b in found] == [193, 86, 43, 29]


@given(
    n=st.integers(1, 1000), maximum=st.floats(1, 1e4), eta=st.floats(1.5, 8), s=st.integers(0, 12), full=st.booleans()
)
def test_halving_never_exceeds_its_budget(n: int, maximum: float, eta: float, s: int, full: bool) -> None:
    s = halvings(maximum, eta) if full else min(s, halvings(maximum, eta))
    rungs = bracket(n, maximum, eta, s)
    assert len(rungs) == s + 1
    assert sum(k * r for k, r in rungs) <= (s + 1) * n * maximum / eta**s * (1 + 1e-6)
    assert rungs[-1][1] in (int(maximum), int(maximum + 1e-9))
    assert all(a[0] >= b[0] and a[1] <= b[1] for a, b in itertools.pairwise(rungs))


@pytest.mark.parametrize("base", range(2, 12))
def test_number_of_halvings_is_exact_at_powers(base: int) -> None:
    for s in range(8):
        assert (halvings(base**s, base), halvings(base**s * 0.999, base)) == (s, max(s - 1, 0))


def test_hyperband_runs_on_an_environment() -> None:
    """206 steps cost less than the 1,902 epochs, because trainings are continued; the best row wins if it was drawn."""
    env = make(budget=1e9)
    agent, trail = play("hyperband", env, rounds=1)
    assert len(trail) == 206
    assert agent.done
    asked = [level + 1 for (_, level), _, _ in trail]
    assert sum(asked) == 1902
    reached: dict[int, int] = {}
    for (row, level), _, info in trail:
        assert info["cost"] == max(level - reached.get(row, -1), 0)
        reached[row] = max(level, reached.get(row, -1))
    assert env.total_cost < 1902
    first = [row for (row, _), _, _ in trail[:81]]
    assert len(set(first)) == 81
    assert trail[120][0] == [min(first), 80], "the only survivor of the first bracket is its best row"
    assert agent.recommend().tolist() == [min(r for (r, level), _, _ in trail if level == 80), 80]


def test_successive_halving_keeps_the_best_and_starts_again() -> None:
    _, trail = play("successive-halving", make(budget=1e9), steps=242, n=81)
    assert [level for (_, level), _, _ in trail[:121]] == [0] * 81 + [2] * 27 + [8] * 9 + [26] * 3 + [80]
    ranks = sorted(row for (row, _), _, _ in trail[:81])
    assert (sorted(row for (row, _), _, _ in trail[81:108]), trail[120][0][0]) == (ranks[:27], ranks[0])
    assert trail[121][0][1] == 0


def test_diverged_rows_never_survive() -> None:
    t = smooth(rows=9, levels=9)
    values, status = t.values.copy(), t.status.copy()
    values[:8, :, 1:], status[:8] = np.nan, 2
    t = dataclasses.replace(t, values=values, status=status, provenance=dataclasses.replace(t.provenance, sha256=""))
    _, trail = play("successive-halving", make(t, budget=1e9), steps=6)
    # Rung 1 trains one epoch, where nothing has diverged yet; rung 2 three epochs; only row 8 can go on, if chosen.
    survivors = [row for (row, level), _, info in trail if level == 8 and info["status"] == "ok"]
    assert all(row == 8 for row in survivors)


def test_halving_ranks_by_the_last_or_the_best_score() -> None:
    t = smooth(rows=9, levels=9)
    values = t.values.copy()
    values[0, 0, 0], values[0, 0, 1:] = 0.1, 9.0  # best of all at once, then over-trained
    t = dataclasses.replace(t, values=values, provenance=dataclasses.replace(t.provenance, sha256=""))
    best, last = (play("successive-halving", make(t, budget=1e9), steps=13, score=s)[1] for s in ("best", "last"))
    assert best[-1][0] == [0, 8]
    assert last[-1][0] != [0, 8]


@pytest.mark.parametrize(
    ("name", "hyper", "message"),
    [
        ("hyperband", {"eta": 1.0000001}, "eta must be >= 1.01, got 1.0000001"),
        ("hyperband", {"score": "first"}, "score must be one of last, best, got 'first'"),
        ("asha", {"eta": 0.5}, "eta must be >= 1.01, got 0.5"),
        ("hyperband", {"trainings": 0}, "trainings must be a finite number > 0, got 0"),
        ("hyperband", {"rounds": 0}, "rounds must be an int >= 1, got 0"),
        ("successive-halving", {"n": 0}, "n must be an int >= 1, got 0"),
        ("successive-halving", {"s": -1}, "s must be an int >= 0, got -1"),
        ("curve-ranker", {"shift": -1}, "shift must be an int >= 0, got -1"),
        ("bagged-trees", {"bag": 0}, "bag must be an int >= 1, got 0"),
        ("smac-like", {"trees": 0}, "trees must be an int >= 1, got 0"),
        ("asha", {"minimum": 0}, "minimum must be a finite number > 0, got 0"),
        ("regularized-evolution", {"sample": 30}, "sample must be at most population=20, got 30"),
        ("regularized-evolution", {"sample": 2.5}, "sample must be an int >= 1, got 2.5"),
        ("regularized-evolution", {"evaluations": 0}, "evaluations must be an int >= 1, got 0"),
        ("regularized-evolution", {"metric": "l1"}, "metric must be one of cosine, euclidean, got 'l1'"),
        ("bagged-trees", {"initial": 0}, "initial must be an int >= 1, got 0"),
        ("bagged-trees", {"features": "q"}, "features must be a prefix of the name of a feature .*, got 'q'"),
        ("smac-like", {"random_share": 2}, r"random_share must be in \[0, 1\], got 2"),
        ("smac-like", {"resource": 0}, "resource must be > 0, got 0"),
    ],
)
def test_hyperparameters_out_of_range_are_rejected(name: str, hyper: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agents.make(name, problem_of(make()), 0, **hyper)


@pytest.mark.parametrize("name", ["hyperband", "successive-halving", "asha"])
def test_halving_needs_checkpoints(name: str) -> None:
    with pytest.raises(ValueError, match=r"action_space must be \(row, level\) pairs, got Discrete"):
        agents.make(name, Problem(gym.spaces.Discrete(5)), 0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), budget=st.floats(1.0, 60.0))
def test_an_episode_exceeds_its_budget_by_one_training_at_most(seed: int, budget: float) -> None:
    env = validated(THREE, budget=budget)
    _, trail = play("hyperband", env, seed)
    assert env.total_cost - trail[-1][2]["cost"] < budget


def test_brackets_start_with_rows_that_were_never_tried() -> None:
    """Two brackets of 9 of 20 rows are disjoint; without `fresh` they may overlap."""
    t = smooth(rows=20, levels=9)
    shared = {}
    for fresh in (True, False):
        rows = [r for (r, level), _, _ in play("successive-halving", make(t, budget=1e9), steps=26, fresh=fresh)[1]]
        shared[fresh] = set(rows[:9]) & set(rows[13:22])
    assert not shared[True]
    assert shared[False]


def test_halving_is_done_when_nothing_is_left_to_train() -> None:
    agent, trail = play("successive-halving", make(smooth(rows=5, levels=9), budget=1e9))
    assert agent.done
    assert len(trail) == 2 * (5 + 3 + 1), "the second bracket finds nothing new"
    assert sum(info["cost"] for _, _, info in trail[9:]) == 0


@pytest.mark.parametrize("workers", [1, 4, 9])
def test_asha_promotes_only_top_third(workers: int) -> None:
    env = make(smooth(rows=400), budget=500.0, workers=workers)
    env.reset(seed=0)
    agent = agents.make("asha", problem_of(env), 0)
    rungs, results = agent.rungs, {level: {} for level in agent.rungs}
    assert rungs == [0, 2, 8, 26, 80]
    promotions, terminated = 0, False
    while not terminated:
        row, level = asked = agent.ask().tolist()
        k = rungs.index(level)
        if k:
            below = results[rungs[k - 1]]
            rank = sorted(below, key=below.__getitem__, reverse=True).index(row) + 1
            assert rank <= len(below) / 3, "promoted without being in the top third of the results that are in"
            promotions += 1
        _, reward, terminated, _, info = env.step(asked)
        if info.get("finished", True):
            row, level = info.get("action", np.array(asked)).tolist()
            results[level][row] = reward
        agent.tell(info.get("action", np.array(asked)), reward, info)
    assert promotions > 20
    assert results[26]


def test_asha_without_new_rows_promotes_rest_and_is_done() -> None:
    agent, trail = play("asha", make(smooth(rows=7, levels=9), budget=1e9))
    assert agent.done
    assert len({tuple(action) for action, _, _ in trail}) == len(trail), "nothing was asked twice"
    assert sorted(row for (row, level), _, _ in trail if level == 8) == list(range(7))


def test_asha_with_more_workers_is_done_earlier() -> None:
    clocks = []
    for workers in (1, 4):
        env = make(budget=800.0, workers=workers)
        play("asha", env)
        clocks.append(env.clock)
    assert clocks[1] < 0.5 * clocks[0]
