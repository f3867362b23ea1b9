"""The engine that builds cells: scores, illegal moves, masks, batches, error texts."""

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings

from hpo_envs import benchmarks
from hpo_envs.core.engines.cells.params import CellParams
from hpo_envs.families.nasbenchnlp.cell import Simulated
from hpo_envs.tables import cells, store
from hpo_envs.tables.cells.grammar import END, SIZES, SOURCES
from hpo_envs.tables.cells.recipe import OPERATIONS, Cell
from hpo_envs.tables.datasets.nasbenchnlp import model
from tests.helpers import rejects, started
from tests.tables.cells.helpers import SEEDS, drawn


def make(**kwargs: Any) -> Any:
    return gym.make("NASBenchNLP-cell-v0", **{**kwargs}).unwrapped


def build(env: Any, cell: Cell) -> Any:
    for action in cells.actions_of(cell):
        out = env.step(action)
    return out


def test_building_cell_scores_it_once() -> None:
    env = started(make())
    actions = cells.actions_of(cells.EXAMPLES["LSTM"])
    for action in actions[:-1]:
        _, reward, terminated, _, info = env.step(action)
        assert (reward, terminated, info["cost"], info["finished"], info["source"]) == (0.0, False, 0.0, False, "none")
    _, reward, terminated, _, info = env.step(actions[-1])
    assert terminated
    assert info["finished"]
    assert (info["cost"], info["key"]) == (1.0, cells.key(cells.EXAMPLES["LSTM"]))
    assert reward == -info["metrics"]["validation_loss"] == -info["curve"][-1]
    assert "test_loss" not in info["metrics"]
    assert info["metrics"]["parameters"] == cells.parameters(cells.EXAMPLES["LSTM"], cells.VOCABULARY["wikitext2"])


def test_known_cells_are_measured_and_others_simulated() -> None:
    env, m = make(budget=40), store.load("nasbenchnlp/wikitext2")
    env.reset(seed=1)
    row = m.row(cells.key(cells.EXAMPLES["GRU"]))
    info = build(env, cells.EXAMPLES["GRU"])[4]
    assert info["source"] == "measured"
    assert np.array_equal(info["curve"], m.values[row, 0, :, 0])
    assert info["metrics"]["seconds"] == m.cost[row, 0, -1]
    # Repeats are pooled over recipes of one computation, and every one of them is met.
    pooled = [k for k in m.keys if k.split("#")[0] == cells.key(cells.EXAMPLES["RNN"])]
    finals = {v for k in pooled for v in m.values[m.row(k), :, -1, 0].tolist() if not math.isnan(v)}
    met = {build(env, cells.EXAMPLES["RNN"])[4]["curve"][-1] for _ in range(30)}
    assert (len(pooled), met) == (2, finals)
    rng = np.random.default_rng(0)
    unknown = next(c for c in (drawn(i) for i in range(99)) if cells.key(c) not in env.params.scorer.runs)
    unknown = cells.mutate(unknown, rng) if cells.key(unknown) in m.keys else unknown
    assert build(env, unknown)[4]["source"] == "surrogate"


ILLEGAL = [
    ("input", [[0, 1, 9, 0]]), ("arity", [[0, 0, 0, 0]]), ("arity", [[1, 1, 2, 0]]), ("arity", [[2, 1, 0, 0]]),
    ("arity", [[4, 0, 1, 2]]), ("hidden", [[7, 0, 0, 0]]), ("hidden", [[0, 1, 2, 0], [7, 1, 2, 0]]),
    ("hidden", [[0, 1, 3, 0], [7, 5, 0, 0]]), ("unused", [[0, 1, 0, 0], [7, 5, 0, 0]]),
    ("hidden", [[0, 1, 2, 0], [7, 5, 5, 0]]), ("nodes", [[0, 1, 2, 0]] * 25),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "actions"), ILLEGAL, ids=[f"{i}-{r}" for i, (r, _) in enumerate(ILLEGAL)])
def test_illegal_moves_end_cell_at_worst_score(rule: str, actions: list[list[int]]) -> None:
    env = started(make(budget=2))
    for action in actions:
        observation, reward, terminated, _, info = env.step(np.array(action))
    assert (reward, info["status"]) == (-50.0, "failed")
    assert info["finished"]
    assert info["error"].startswith(rule)
    assert not terminated
    assert (observation[:241] == 0).all()
    # The next cell starts from nothing.
    assert build(env, cells.EXAMPLES["RNN"])[2]


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_masks_never_exclude_legal_move(seed: int) -> None:
    env, cell = make(), drawn(seed)
    _, info = env.reset(seed=0)
    for action in cells.actions_of(cell):
        mask = np.split(info["action_mask"], np.cumsum(SIZES)[:-1])
        assert all(m[a] for m, a in zip(mask, action, strict=True))
        info = env.step(action)[4]
    assert info["status"] != "failed"


def test_masks_exclude_what_is_never_legal() -> None:
    env = started(make())
    mask = np.split(env.action_masks(), np.cumsum(SIZES)[:-1])
    assert not mask[0][END]
    assert not mask[1][0]
    assert not any(m[SOURCES:].any() for m in mask[1:])


def test_vector_rewards() -> None:
    env = started(make(objective=("validation_loss", "parameters")))
    _, reward, _, _, info = build(env, cells.EXAMPLES["RNN"])
    assert reward.tolist() == [-info["metrics"]["validation_loss"], -info["metrics"]["parameters"]]
    rejects("objective must be one of .*, got 'test_loss'", make, objective="test_loss")
    rejects("cost must be one of evaluations, got 's'", make, cost="s")


def test_agents_build_cells_with_grammar() -> None:
    """Random search draws legal cells; evolution of the graph finds better ones on average."""
    found = {}
    for name in ("random", "regularized-evolution"):
        runs = benchmarks.run(name, "NASBenchNLP-cell-v0", range(2), budget=60)
        assert all(len(r) == 60 for r in runs)
        for r in runs:
            assert (r.rewards > -50.0).mean() > 0.9
            env = started(make())
            assert build(env, cells.cell_of(r.recommended))[4]["status"] == "ok"
        found[name] = np.mean([r.rewards[-20:].mean() for r in runs])
    assert found["regularized-evolution"] > found["random"]


def test_cell_so_far_is_graph() -> None:
    env = started(gym.make("NASBenchNLP-cell-v0").unwrapped)
    assert set(env.graph()) == {"x", "h_prev_0", "h_prev_1", "h_prev_2"}
    env.step(np.array([OPERATIONS.index("linear"), 1, 2, 0]))
    assert set(env.graph().edges) == {("x", "node_0"), ("h_prev_0", "node_0")}


def batch(num_envs: int, **kwargs: Any) -> Any:
    return gym.make_vec("NASBenchNLP-cell-v0", num_envs=num_envs, **kwargs)


def test_cells_of_different_sizes_are_built_batched() -> None:
    envs = started(batch(2, budget=3))
    plans = [cells.actions_of(cells.EXAMPLES[name]) for name in ("RNN", "GRU")]
    short, long = map(len, plans)
    assert short < long
    for t in range(short):
        info = envs.step(np.array([plan[t] for plan in plans]))[4]
    assert info["finished"].tolist() == [True, False]
    assert (info["key"].tolist(), envs.action_masks().shape) == ([cells.key(cells.EXAMPLES["RNN"]), ""], (2, 95))


def test_actions_outside_space_are_rejected() -> None:
    envs = started(batch(2))
    with pytest.raises(ValueError, match=r"actions: each action must be 4 ints in .*, got array\(\[8, 0, 0, 0\]\)"):
        envs.step(np.array([[0, 1, 2, 0], [8, 0, 0, 0]]))


def test_illegal_moves_are_told_as_by_scalar_form() -> None:
    moves = [[0, 0, 0, 0], [1, 1, 2, 0], [2, 1, 0, 0], [4, 0, 1, 2], [4, 9, 0, 0], [3, 1, 0, 28], [7, 0, 3, 1],
             [7, 5, 0, 9], [7, 6, 0, 0], [0, 1, 2, 0], [5, 5, 28, 28]]  # fmt: skip
    envs, one = batch(len(moves), budget=99), gym.make("NASBenchNLP-cell-v0", budget=99)
    envs.reset(seed=0)
    said = envs.step(np.array([[4, 1, 0, 0]] * len(moves)))[4], *envs.step(np.array(moves))
    for i, move in enumerate(moves):
        one.reset(seed=i)
        one.step(np.array([4, 1, 0, 0]))
        observation, reward, _, _, info = one.step(np.array(move))
        assert said[-1]["error"][i] == info["error"]
        assert (said[1][i] == observation).all()
        assert said[2][i] == reward
    one.reset(seed=0)
    envs.reset(seed=0)
    for _ in range(24):
        one.step(np.array([4, 1, 0, 0]))
        envs.step(np.array([[4, 1, 0, 0]] * len(moves)))
    error = one.step(np.array([4, 1, 0, 0]))[4]["error"]
    assert error.startswith("nodes: ")
    assert set(envs.step(np.array([[4, 1, 0, 0]] * len(moves)))[4]["error"]) == {error}


def params(**kwargs: Any) -> CellParams:
    table = store.load("nasbenchnlp/wikitext2")
    return CellParams.of(table, Simulated(table), **{"objective": "validation_loss", "budget": 2, **kwargs})


def test_spaces_follow_from_bounds_of_metrics() -> None:
    p = params(objective=("validation_loss", "parameters"), budget=None)
    assert (p.kind, p.vector, p.cost_unit, p.budget) == ("graph", True, "evaluations", float(len(p.table)))
    assert p.action_space.nvec.tolist() == [*SIZES]
    assert p.observation_space.shape == (247,)
    assert np.array_equal(p.observation_space.low[241:245], np.float32([*p.low, *p.low]))
    assert np.array_equal(p.observation_space.high[241:245], np.float32([*p.high, *p.high]))


def test_invalid_cell_has_worst_of_everything() -> None:
    p = params()
    info = p.info(p.invalid, "", True)
    assert (info["status"], info["source"], info["metrics"]["validation_loss"]) == ("failed", "none", 50.0)
    assert (p.reward(p.invalid), set(p.info(p.unfinished, "", False))) == ([-50.0], set(info))


def test_known_cell_is_looked_up_and_another_simulated() -> None:
    table = store.load("nasbenchnlp/wikitext2")
    scorer = Simulated(table)
    name = next(iter(scorer.runs))
    row, repeat = scorer.runs[name][0]
    known = scorer.score(cells.Cell.from_text(name), name, 0)
    assert known.metrics["seconds"] == np.nanmax(table.cost[row, repeat])
    cell = cells.EXAMPLES["LSTM"]
    scorer.runs.pop(cells.key(cell), None)
    bits = [(s << 61) + 1 for s in range(8)]
    scores = [scorer.score(cell, cells.key(cell), b) for b in bits]
    assert {s.source for s in scores} == {"surrogate"}
    assert len({s.metrics["validation_loss"] for s in scores}) == model.SEEDS
    assert scorer.score(cell, cells.key(cell), bits[3]).metrics == scores[3].metrics
    assert set(known.metrics) == {m.name for m in scorer.metrics} | {"seconds"}
