"""Training by checkpoints: continuing, ends of runs, masks, workers, and the released variant."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.engines.curves.batched import CurvesVectorEnv
from hpo_envs.engines.curves.params import CurveParams
from hpo_envs.engines.curves.scalar import CurvesEnv
from hpo_envs.tables.table import STATUSES, Metric, Provenance, Table
from hpo_envs.testing.batches import agree, pick
from hpo_envs.testing.rules import same


def curves_env(*args: Any, **kwargs: Any) -> CurvesEnv:
    return CurvesEnv(CurveParams.of(*args, **kwargs))


def curves_envs(n: int, *args: Any, autoreset_mode: Any = "NextStep", copy: bool = True, **kwargs: Any) -> Any:
    return CurvesVectorEnv(n, CurveParams.of(*args, **kwargs), autoreset_mode, copy)


ROWS, REPEATS, LEVELS = 6, 3, 10
METRICS = (
    Metric("val_loss", "nat", "min", 0.0, 20.0),
    Metric("test_loss", "nat", "min", 0.0, 20.0),
    Metric("accuracy", "", "max", 0.0, 1.0),
)


def table(seed: int = 0, repeats: int = REPEATS) -> Table:
    """Curves of different lengths: row 1 diverges after 4 epochs, row 2 at once, row 3 is cut at 6."""
    rng = np.random.default_rng(seed)
    val = np.cumsum(rng.normal(-0.1, 0.3, (ROWS, repeats, LEVELS)), axis=2) + 6
    values = np.stack([val, val + rng.normal(0, 0.1, val.shape), rng.random(val.shape)], axis=-1)
    cost = np.cumsum(rng.random((ROWS, repeats, LEVELS)) + 0.5, axis=2)
    status = np.zeros((ROWS, repeats), np.uint8)
    values[1, 0, 4:], status[1, 0] = np.nan, STATUSES.index("diverged")
    values[2, 0, :], status[2, 0] = np.nan, STATUSES.index("diverged")
    values[3, 0, 6:], status[3, 0] = np.nan, STATUSES.index("truncated")
    cost[1, 0, 5:] = cost[2, 0, 1:] = cost[3, 0, 6:] = np.nan
    if repeats > 1:
        values[2, 1:] = values[4, 2:] = cost[2, 1:] = cost[4, 2:] = np.nan
    return Table(
        name="tests/curves",
        keys=tuple("abcdef"[:ROWS]),
        metrics=METRICS,
        values=values,
        cost=cost,
        cost_unit="seconds",
        levels=np.arange(1.0, LEVELS + 1),
        level_unit="epochs",
        status=status,
        provenance=Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none", notes=("made up",)),
        feature_names=("x", "y"),
        features=rng.random((ROWS, 2)),
    )


T1, T3 = table(repeats=1), table()
KWARGS: dict[str, Any] = {"objective": "val_loss", "held_out": ("test_loss",)}


def make(t: Table = T1, **kwargs: Any) -> CurvesEnv:
    env = curves_env("x", table=t, **{**KWARGS, "budget": None, **kwargs})
    env.reset(seed=0)
    return env


@settings(max_examples=200, deadline=None)
@given(row=st.integers(0, ROWS - 1), splits=st.lists(st.integers(0, LEVELS - 1), max_size=6), seed=st.integers(0, 50))
def test_any_split_costs_the_same_and_returns_the_same(row: int, splits: list[int], seed: int) -> None:
    target = max([*splits, 0])
    one, often = make(T3), make(T3)
    one.reset(seed=seed)
    often.reset(seed=seed)
    _, reward, _, _, info = one.step([row, target])
    spent = 0.0
    for level in splits:
        out = often.step([row, level])
        spent += out[-1]["cost"]
        assert out[-1]["cost"] >= 0
    last = often.step([row, target])
    spent += last[-1]["cost"]
    assert spent == pytest.approx(info["cost"], rel=1e-12)
    assert last[1] == reward
    for key in ("metrics", "held_out", "status", "reached", "best"):
        assert last[-1][key] == info[key]
    assert often.total_cost == pytest.approx(one.total_cost, rel=1e-12)
    assert often.best == one.best
    assert often.best_held_out == one.best_held_out


def test_the_first_epoch_is_not_free() -> None:
    env = make()
    assert env.step([0, 0])[-1]["cost"] == T1.cost[0, 0, 0] > 0


def test_a_checkpoint_already_reached_costs_nothing() -> None:
    env = make()
    env.step([0, 7])
    _, reward, _, _, info = env.step([0, 2])
    assert info["cost"] == 0.0
    assert info["reached"] == 7
    assert reward == -T1.values[0, 0, 2, 0]
    assert info["held_out"] == {"test_loss": T1.values[0, 0, 2, 1]}
    assert info["metrics"] == {"val_loss": T1.values[0, 0, 2, 0], "accuracy": T1.values[0, 0, 2, 2]}
    assert info["best"] == -T1.values[0, 0, :8, 0].min()


def test_past_the_end_trains_to_the_end() -> None:
    env = make()
    _, reward, _, _, info = env.step([3, 9])
    assert info["status"] == "truncated"
    assert info["reached"] == 5
    assert reward == -T1.values[3, 0, 5, 0]
    assert info["cost"] == T1.cost[3, 0, 5]
    assert env.step([3, 9])[-1]["cost"] == 0.0


def test_a_diverged_run_gets_the_worst_value_at_the_epoch_where_it_diverged() -> None:
    env = make()
    _, reward, _, _, info = env.step([1, 3])
    assert (info["status"], reward) == ("ok", -T1.values[1, 0, 3, 0])
    _, reward, _, _, info = env.step([1, 9])
    assert info["status"] == "diverged"
    assert reward == -20.0
    assert info["metrics"] == {"val_loss": 20.0, "accuracy": 0.0}
    assert info["held_out"] == {"test_loss": 20.0}
    assert info["reached"] == 4
    assert info["cost"] == T1.cost[1, 0, 4] - T1.cost[1, 0, 3]
    _, reward, _, _, info = env.step([2, 9])
    assert (info["status"], reward, info["reached"], info["cost"]) == ("diverged", -20.0, 0, T1.cost[2, 0, 0])


def test_the_best_configuration_and_epoch_by_validation() -> None:
    env = make()
    assert env.best is None
    assert env.best_held_out == {}
    seen = []
    for row, level in [(0, 4), (3, 9), (5, 8), (4, 2)]:
        env.step([row, level])
        last = min(level, 5) if row == 3 else level
        seen += [(T1.values[row, 0, k, 0], row, k) for k in range(last + 1)]
        _, row, k = min(seen)
        assert env.best == (row, k)
        assert env.best_held_out == {"test_loss": T1.values[row, 0, k, 1]}
    assert np.array_equal(env.curve(5)["accuracy"], T1.values[5, 0, :9, 2])
    assert set(env.curve(5)) == {"val_loss", "accuracy"}
    with pytest.raises(ValueError, match="row must have been trained in this episode, got 1"):
        env.curve(1)


def test_each_episode_sees_one_repeat_of_a_row_and_all_occur() -> None:
    env, seen = make(T3), set()
    for seed in range(40):
        env.reset(seed=seed)
        first = env.step([0, 5])[1]
        assert env.step([0, 5])[1] == first
        seen.add(first)
        assert env.step([2, 0])[-1]["status"] == "diverged", "row 2 has one repeat only"
        assert env.step([4, 3])[1] in (-T3.values[4, :2, 3, 0]).tolist()
    assert seen == set((-T3.values[0, :, 5, 0]).tolist())


@pytest.mark.parametrize("t", [T1, T3], ids=["one-repeat", "repeats"])
def test_masks_say_what_is_left_to_train(t: Table) -> None:
    env = make(t)
    rng = np.random.default_rng(0)
    terminated = False
    while not terminated:
        mask = env.action_masks()
        rows, levels = np.flatnonzero(mask[:ROWS]), np.flatnonzero(mask[ROWS:])
        assert len(rows), "an episode ends when nothing is left"
        assert len(levels)
        row = int(rng.choice(rows))
        free = all(make_peek(env, r, levels[-1]) for r in range(ROWS) if r not in rows)
        assert free
        _, _, terminated, _, info = env.step([row, int(rng.choice(levels))])
    assert env.total_cost == pytest.approx(env.total_cost)
    assert info["action_mask"].all(), "a mask without a 1 would break samplers"


def make_peek(env: CurvesEnv, row: int, level: int) -> bool:
    """Whether training a row further would cost nothing (asked on a copy)."""
    import pickle

    return pickle.loads(pickle.dumps(env)).step([row, level])[-1]["cost"] == 0.0


def test_the_whole_table_costs_what_it_costs() -> None:
    env = make()
    for row in range(ROWS):
        *_, terminated, _, _ = env.step([row, LEVELS - 1])
    assert terminated
    assert env.total_cost == pytest.approx(np.nanmax(T1.cost, axis=2).sum())
    assert env.budget == pytest.approx(env.total_cost)


def test_queries_end_too() -> None:
    env = make(budget=1e6)
    steps = 0
    terminated = False
    while not terminated:
        terminated = env.step([0, 0])[2]
        steps += 1
    assert steps == ROWS * LEVELS


@pytest.mark.parametrize(
    ("cost", "paid", "unit"),
    [(None, T1.cost[0, 0, 4], "seconds"), ("seconds", T1.cost[0, 0, 4], "seconds"), ("epochs", 5.0, "epochs"),
     ("evaluations", 1.0, "evaluations")],
)  # fmt: skip
def test_units_of_cost(cost: str | None, paid: float, unit: str) -> None:
    env = make(cost=cost)
    assert env.cost_unit == unit
    assert env.step([0, 4])[-1]["cost"] == paid
    assert env.step([0, 4])[-1]["cost"] == 0.0


def test_the_default_budget_is_twenty_full_trainings() -> None:
    full = np.nanmax(T1.cost, axis=2).mean()
    assert curves_env("x", table=T1, **KWARGS).budget == pytest.approx(20 * full)
    assert curves_env("x", table=T1, cost="evaluations", **KWARGS).budget == 20


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"objective": "test_loss"}, "objective must be one of val_loss, accuracy, got 'test_loss'"),
        ({"objective": "vall_loss"}, "objective must be .*, did you mean 'val_loss'"),
        ({"objective": ()}, r"objective must name at least one metric of .*, got \(\)"),
        ({"held_out": ("test",)}, "metric must be one of .*, got 'test', did you mean 'test_loss'"),
        ({"cost": "second"}, "cost must be one of seconds, epochs, evaluations, got 'second', did you mean 'seconds'"),
        ({"budget": "all"}, "budget must be 'auto', None or a number > 0, got 'all'"),
        ({"levels": 0}, "levels must be None or an int >= 1, got 0"),
        ({"levels": 2.5}, "levels must be None or an int >= 1, got 2.5"),
        ({"workers": 0}, "workers must be an int >= 1, got 0"),
        ({"workers": True}, "workers must be an int >= 1, got True"),
        ({"variant": "release"}, "variant must be one of paper, released, got 'release', did you mean 'released'"),
    ],
)
def test_bad_arguments(kwargs: dict[str, Any], message: str) -> None:
    for call in (lambda k: curves_env("x", table=T1, **k), lambda k: curves_envs(2, "x", table=T1, **k)):
        with pytest.raises(ValueError, match=message):
            call({**KWARGS, **kwargs})


def test_fewer_levels_are_the_same_training() -> None:
    env = make(levels=4)
    assert env.levels.tolist() == [1, 2, 5, 10]
    assert env.action_space.nvec.tolist() == [ROWS, 4]
    _, reward, _, _, info = env.step([0, 2])
    assert reward == -T1.values[0, 0, 4, 0]
    assert info["cost"] == T1.cost[0, 0, 4]
    assert info["best"] == -T1.values[0, 0, :5, 0].min(), "checkpoints in between were passed"
    _, reward, _, _, info = env.step([3, 3])
    assert (reward, info["status"], info["cost"]) == (-T1.values[3, 0, 5, 0], "truncated", T1.cost[3, 0, 5])
    assert env.step([1, 2])[-1]["status"] == "diverged"


class Released:
    """What the environment released with the paper does, on the lists of one log per row.

    Training to index e sees e + 1 epochs; the time charged is the sum of the first e wall times; an index past the
    end is cut to the last one; the status is OK before the last index; the best is the smallest validation loss
    seen, NaN skipped.
    """

    def __init__(self, t: Table) -> None:
        known = [int((~np.isnan(t.cost[r, 0])).sum()) for r in range(len(t))]
        self.wall = [np.diff(t.cost[r, 0, :k], prepend=0.0) for r, k in enumerate(known)]
        self.val = [t.values[r, 0, :k, 0] for r, k in enumerate(known)]
        self.test = [t.values[r, 0, :k, 1] for r, k in enumerate(known)]
        self.status = ["ok" if s == 0 else STATUSES[s] for s in t.status[:, 0]]
        self.epoch: dict[int, int] = {}
        self.best: tuple[int, int] | None = None

    def train(self, row: int, epoch: int) -> None:
        if epoch <= self.epoch.get(row, -1):
            return
        self.epoch[row] = epoch = min(epoch, len(self.val[row]) - 1)
        seen = self.val[row][: epoch + 1]
        if not np.isnan(seen).all():
            k = int(np.nanargmin(seen))
            if self.best is None or self.val[self.best[0]][self.best[1]] > seen[k]:
                self.best = row, k

    def time(self) -> float:
        return float(sum(self.wall[row][:epoch].sum() for row, epoch in self.epoch.items()))


def test_golden_released_variant() -> None:
    rng = np.random.default_rng(3)
    for trial in range(20):
        t = table(trial, repeats=1)
        env, reference = make(t, variant="released"), Released(t)
        for _ in range(25):
            row, epoch = int(rng.integers(ROWS)), int(rng.integers(LEVELS))
            *_, terminated, _, info = env.step([row, epoch])
            reference.train(row, epoch)
            assert env.total_cost == pytest.approx(reference.time(), abs=1e-9)
            reached = reference.epoch[row]
            at = min(epoch, reached)
            assert info["status"] == ("ok" if at < len(reference.val[row]) - 1 else reference.status[row])
            assert info["reached"] == reached
            if reference.best is not None:
                assert env.best == reference.best
                assert env.best_held_out["test_loss"] == reference.test[env.best[0]][env.best[1]]
            if terminated:
                break
    env = make(variant="released")
    assert env.step([0, 0])[-1]["cost"] == 0.0, "the first epoch is free there"
    assert env.step([0, 9])[-1]["cost"] == T1.cost[0, 0, 8]


def play(envs: Any, singles: list[Any], steps: int, seed: int) -> int:
    """Steps both forms with the same actions and compares everything; returns how many episodes ended."""
    envs.action_space.seed(seed)
    observation, info = envs.reset(seed=seed)
    for i, env in enumerate(singles):
        one, one_info = env.reset(seed=seed + i)
        assert same(one, observation[i])
        agree(one_info, pick(info, i), 0.0)
    ended, ends = [False] * len(singles), 0
    for _ in range(steps):
        actions = envs.action_space.sample()
        observation, reward, terminated, _, info = envs.step(actions)
        for i, env in enumerate(singles):
            if ended[i]:
                one, _ = env.reset()
                ended[i] = False
                assert same(one, observation[i])
                continue
            one, one_reward, ended[i], _, one_info = env.step(actions[i])
            assert same(one, observation[i])
            assert same(one_reward, reward[i])
            assert ended[i] == terminated[i]
            batched = pick(info, i)
            for key in set(one_info) - {"action_mask"}:
                assert same(one_info[key], batched[key]), key
            if not ended[i]:
                assert same(env.action_masks(), envs.action_masks()[i])
                assert envs.total_cost[i] == env.total_cost
                if env.best is not None:
                    assert same(env.best_held_out, {k: v[i] for k, v in envs.best_held_out.items()})
            ends += ended[i]
    return ends


@pytest.mark.parametrize("t", [T1, T3], ids=["one-repeat", "repeats"])
@pytest.mark.parametrize(
    "kwargs",
    [
        {"budget": 25.0},
        {"budget": None},
        {"budget": 30, "cost": "epochs"},
        {"budget": 4, "cost": "evaluations"},
        {"budget": 25.0, "levels": 3},
        {"budget": 25.0, "variant": "released"},
        {"budget": 25.0, "objective": ("val_loss", "accuracy")},
        {"budget": 25.0, "workers": 3},
        {"budget": 25.0, "workers": 8},
        {"budget": 9, "cost": "evaluations", "workers": 2},
        {"budget": None, "workers": 3, "objective": ("val_loss", "accuracy")},
    ],
    ids=str,
)
def test_batched_equals_scalar(t: Table, kwargs: dict[str, Any]) -> None:
    kwargs = {**KWARGS, **kwargs}
    envs = curves_envs(4, "x", table=t, **kwargs)
    assert play(envs, [curves_env("x", table=t, **kwargs) for _ in range(4)], 130, 5) >= 4


def run_workers(workers: int, actions: list[list[int]], **kwargs: Any) -> tuple[CurvesEnv, list[Any]]:
    env = make(workers=workers, **kwargs)
    finished, terminated, k = [], False, 0
    while not terminated:
        _, reward, terminated, _, info = env.step(actions[k % len(actions)])
        k += 1
        if info["finished"]:
            finished.append((info["action"].tolist(), reward, info["cost"], info["clock"]))
        else:
            assert (reward, info["cost"]) == (0.0, 0.0)
            assert info["action"].tolist() == actions[(k - 1) % len(actions)]
    return env, finished


def test_workers_finish_in_the_order_of_the_clock() -> None:
    rng = np.random.default_rng(1)
    actions = [[int(rng.integers(ROWS)), int(rng.integers(LEVELS))] for _ in range(40)]
    for workers in (2, 3, 5):
        env, finished = run_workers(workers, actions, budget=30.0)
        clocks = [clock for *_, clock in finished]
        assert clocks == sorted(clocks)
        assert env.total_cost == pytest.approx(sum(cost for _, _, cost, _ in finished))
        assert env.total_cost >= 30.0, "the budget is submitted before the end"
        assert max(clocks) >= env.total_cost / workers - 1e-9, "W workers cannot be more than W times as fast"
        # What was submitted is what a sequential run of the same actions pays, and everything came back.
        plain = make(budget=30.0)
        submitted = 0
        while True:
            submitted += 1
            if plain.step(actions[submitted - 1])[2]:
                break
        assert plain.total_cost == pytest.approx(env.total_cost)
        assert sorted(a for a, *_ in finished) == sorted(actions[:submitted])


def test_two_workers_by_hand() -> None:
    """Row 0 and row 5 train side by side; the continuation of row 0 waits for row 0."""
    env = make(workers=2, budget=1e6)
    a, b = T1.cost[0, 0, 4], T1.cost[5, 0, 9]
    assert a < b
    info = env.step([5, 9])[-1]
    assert (info["finished"], info["clock"]) == (False, 0.0)
    _, reward, _, _, info = env.step([0, 4])
    assert (info["finished"], info["clock"], info["action"].tolist()) == (True, a, [0, 4])
    assert reward == -T1.values[0, 0, 4, 0]
    c = T1.cost[0, 0, 9]
    info = env.step([0, 9])[-1]
    assert (info["action"].tolist(), info["clock"]) == (([0, 9], c) if c < b else ([5, 9], b))
    assert env.clock == info["clock"]


def test_workers_wait_for_the_checkpoint_they_continue_from() -> None:
    env = make(workers=2, budget=1e6)
    env.step([0, 9])
    info = env.step([0, 4])[-1]  # submitted after, so it is answered from the finished run
    assert info["action"].tolist() == [0, 9]
    info = env.step([5, 0])[-1]
    assert info["action"].tolist() == [0, 4]
    assert info["cost"] == 0.0
    assert info["clock"] == T1.cost[0, 0, 9]


def test_unfinished_results_do_not_show() -> None:
    env = make(workers=3, budget=1e6)
    start, _ = env.reset(seed=0)
    observation, _, _, _, info = env.step([0, 9])
    assert np.array_equal(observation, start)
    assert set(info) == {"cost", "finished", "action", "clock", "action_mask"}
    assert env.best is None
    assert info["action_mask"][0] == 0, "row 0 is submitted to its end"


NMTLC = [s for s in gym.registry if s.startswith("NMTLC-")]


def test_all_corpora_are_registered() -> None:
    assert len(NMTLC) == 8


@pytest.mark.parametrize("spec_id", NMTLC)
def test_nmtlc_pays_updates_or_checkpoints(spec_id: str) -> None:
    env = gym.make(spec_id, table="surrogate").unwrapped
    env.reset(seed=0)
    _, reward, _, _, info = env.step([0, 0])
    per = 1.0 if "-ft-" in spec_id else 2000.0
    assert info["cost"] == per
    assert reward == -info["metrics"]["log_perplexity"]
    assert math.exp(-reward) == pytest.approx(info["metrics"]["perplexity"])
    assert ("bleu" in info["metrics"]) == ("-ft-" in spec_id)
    assert env.step([0, 1])[-1]["cost"] == per


def test_teeth_a_free_first_epoch_is_noticed() -> None:
    """The property test would reject the released accounting."""
    released = dataclasses.replace(T1)
    env = curves_env("x", table=released, variant="released", **KWARGS)
    env.reset(seed=0)
    with pytest.raises(AssertionError):
        assert env.step([0, 0])[-1]["cost"] == T1.cost[0, 0, 0] > 0
