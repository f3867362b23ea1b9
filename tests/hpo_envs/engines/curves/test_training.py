"""Training by checkpoints: continuing, ends of runs, masks, and the released variant."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.engines.curves.scalar import CurvesEnv
from hpo_envs.tables.table import STATUSES, Table
from tests.hpo_envs.engines.curves.helpers import KWARGS, LEVELS, ROWS, T1, T3, make, table
from tests.hpo_envs.engines.curves.model import curves_env, curves_envs


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


def test_teeth_a_free_first_epoch_is_noticed() -> None:
    """The property test would reject the released accounting."""
    released = dataclasses.replace(T1)
    env = curves_env("x", table=released, variant="released", **KWARGS)
    env.reset(seed=0)
    with pytest.raises(AssertionError):
        assert env.step([0, 0])[-1]["cost"] == T1.cost[0, 0, 0] > 0
