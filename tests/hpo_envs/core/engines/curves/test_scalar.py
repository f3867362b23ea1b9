"""The scalar learning-curve environment compared with a model of it, and the texts of errors on actions."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.core.engines.curves.params import COST_HIGH
from hpo_envs.tables.table import STATUSES, Table
from tests.helpers import raises, started
from tests.hpo_envs.core.engines.curves.model import (
    LEVELS,
    ONE,
    ROWS,
    SETTINGS,
    THREE,
    arguments,
    close,
    curves,
    curves_env,
    curves_envs,
    validated,
)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_scalar_form_equals_a_simple_model(setting: str) -> None:
    env, model, rng = curves_env(**arguments(setting)), SETTINGS[setting], np.random.default_rng(0)
    assert env.action_space == gym.spaces.MultiDiscrete([ROWS, len(env.levels)])
    for seed, episode in ((3, 1), (None, 2)):
        model.begin(seed or 3, episode)
        observation, info = env.reset(seed=seed)
        assert (env.unwrapped.np_random_seed, env.budget) == (3, pytest.approx(model.limit))
        assert (env.levels.tolist(), observation.dtype) == (model.t.levels[model.grid].tolist(), np.float32)
        assert observation == pytest.approx(np.array(model.last), rel=1e-6, abs=1e-7)
        assert (info["table"], info["sha256"]) == (model.t.name, model.t.provenance.sha256)
        assert info["action_mask"].tolist() == [1] * (ROWS + len(model.grid))
        assert (env.best, env.best_held_out, env.clock, env.total_cost) == (None, {}, 0.0, 0.0)
        over = False
        while not over:
            action = np.array([rng.integers(ROWS), rng.integers(len(model.grid))])
            expected = model.step(*action.tolist())
            observation, reward, over, truncated, info = env.step(action)
            close(reward, expected["reward"])
            assert (over, truncated) == (expected["over"], False)
            assert type(over) is bool
            mask = info.pop("action_mask")
            assert mask.dtype == np.int8
            assert mask.astype(bool).tolist() == env.action_masks().tolist() == model.mask()
            close(info, expected["info"])
            assert observation == pytest.approx(np.array(model.last), rel=1e-6, abs=1e-6)
            assert env.observation_space.contains(observation)
            assert env.total_cost == pytest.approx(model.spent)
            assert env.clock == pytest.approx(model.clock if model.workers > 1 else model.spent)
            assert env.best == model.best_cell
            if model.best_cell:
                row, at = model.best_cell
                close(env.best_held_out, {n: model.value(row, model.repeat(row), at, n) for n in model.held_out})
            for row in range(ROWS):
                if model.returned[row] < 0:
                    with raises(f"row must have been trained in this episode, got {row}"):
                        env.curve(row)
                else:
                    seen = range(model.returned[row] + 1)
                    c = model.repeat(row)
                    values = {n: [model.value(row, c, model.grid[k], n) for k in seen] for n in model.shown}
                    close(env.curve(row), values)
            # What a step returned is the caller's.
            observation[:] = 9
            for part in ("metrics", "config", "held_out"):
                for key in info.get(part, {}):
                    info[part][key] = -1.0
            mask[:] = 0
            if isinstance(reward, np.ndarray):
                reward[:] = 9
                if "best" in info:
                    info["best"][:] = 9
        with pytest.raises(gym.error.ResetNeeded):
            env.step(action)


@pytest.mark.parametrize("setting", ["all", "vector", "accuracy", "many workers"])
def test_batch_knows_what_each_environment_spent_and_held_out(setting: str) -> None:
    envs, ones = curves_envs(2, **arguments(setting)), [curves_env(**arguments(setting)) for _ in range(2)]
    envs.action_space.seed(0)
    envs.reset(seed=3)
    for i, one in enumerate(ones):
        one.reset(seed=3 + i)
    assert (envs.budget, envs.levels.tolist()) == (ones[0].budget, ones[0].levels.tolist())
    assert all(np.isnan(v).all() for v in envs.best_held_out.values())
    over = False
    while not over:
        actions = envs.action_space.sample()
        reward = envs.step(actions)[1]
        for i, one in enumerate(ones):
            _, expected, ended, *_ = one.step(actions[i])
            over |= ended
            assert np.all(reward[i] == expected)
            assert envs.total_cost[i] == one.total_cost
            if one.best_held_out:
                assert {k: v[i] for k, v in envs.best_held_out.items()} == one.best_held_out
        reward[:] = envs.total_cost[:] = 9  # the caller's


@settings(max_examples=200, deadline=None)
@given(row=st.integers(0, ROWS - 1), splits=st.lists(st.integers(0, LEVELS - 1), max_size=6), seed=st.integers(0, 50))
def test_any_split_costs_same_and_returns_same(row: int, splits: list[int], seed: int) -> None:
    target = max([*splits, 0])
    one, often = validated(THREE), validated(THREE)
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
    assert (spent, last[1]) == (pytest.approx(info["cost"], rel=1e-12), reward)
    for key in ("metrics", "held_out", "status", "reached", "best"):
        assert last[-1][key] == info[key]
    assert (often.total_cost, often.best) == (pytest.approx(one.total_cost, rel=1e-12), one.best)
    assert often.best_held_out == one.best_held_out


def test_the_first_of_equal_rows_is_the_best() -> None:
    env = gym.make("CharMiniLC-eng-lstm-v0", budget=None).unwrapped
    last = len(env.levels) - 1
    env.reset(seed=0)
    best = [env.step([row, last])[-1]["best"] for row in range(env.params.rows)]
    one = next(i for i, b in enumerate(best) if best.count(b) > 1 and b > 0)
    other = best.index(best[one], one + 1)
    env.reset(seed=0)
    env.step([one, last])
    held_out = dict(env.best_held_out)
    env.step([other, last])
    assert (env.best[0], env.best_held_out) == (one, held_out)


def test_very_first_cell_stays_best_after_worse_one() -> None:
    envs = started(gym.make_vec("NASBenchNLP-wikitext2-v0", num_envs=1).unwrapped)
    losses = [envs.step(np.array([[row, 0]])) and envs.best_held_out["test_loss"].tolist() for row in (0, 104)]
    assert losses[0] == losses[1]  # row 0 is trained once, row 104 diverges


def test_an_episode_of_queries_alone_ends() -> None:
    env = validated(budget=1e6)
    steps = 0
    terminated = False
    while not terminated:
        terminated = env.step([0, 0])[2]
        steps += 1
    assert steps == ROWS * LEVELS


class Released:
    """The environment released with the paper, on the lists of one log per row.

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
        t = curves(1, trial)
        env, reference = validated(t, variant="released"), Released(t)
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
                assert env.best_held_out["test"] == reference.test[env.best[0]][env.best[1]]
            if terminated:
                break
    env = validated(variant="released")
    assert env.step([0, 0])[-1]["cost"] == 0.0, "the first epoch is free there"
    assert env.step([0, 6])[-1]["cost"] == ONE.cost[0, 0, 5]


def test_costs_beyond_the_bound_are_clipped_in_observations() -> None:
    """Of a training from scratch, and of one that is continued."""
    env = validated(curves(1, cost=ONE.cost * 1e10))
    for level in (2, 5):
        observation, _, _, _, info = env.step(np.array([0, level]))
        assert observation in env.observation_space
        assert observation[env.params.cost_at] == COST_HIGH < info["cost"]
