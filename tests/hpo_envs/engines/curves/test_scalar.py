"""The scalar learning-curve environment against a model of it, and every word about its actions."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from tests.helpers import raises
from tests.hpo_envs.engines.curves.model import (
    LEVELS,
    ONE,
    ROWS,
    SETTINGS,
    arguments,
    close,
    curves,
    curves_env,
    curves_envs,
)


@pytest.mark.parametrize("setting", SETTINGS)
def test_scalar_form_is_the_model(setting: str) -> None:
    env, model, rng = curves_env(**arguments(setting)), SETTINGS[setting], np.random.default_rng(0)
    assert env.action_space == gym.spaces.MultiDiscrete([ROWS, len(env.levels)])
    for seed, episode in ((3, 1), (None, 2)):
        model.begin(seed or 3, episode)
        observation, info = env.reset(seed=seed)
        assert env.budget == pytest.approx(model.limit)
        assert env.levels.tolist() == model.t.levels[model.grid].tolist()
        assert observation.dtype == np.float32
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
                if model.reached[row] < 0:
                    with raises(f"row must have been trained in this episode, got {row}"):
                        env.curve(row)
                else:
                    seen = range(model.reached[row] + 1)
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


def test_words_about_actions() -> None:
    env = curves_env("toy", table=ONE, objective="loss", budget=None)
    env.reset(seed=0)
    for action in (
        [5, 0], [0, 7], [-1, 0], [0, -1], 3, [0], [0, 0, 0], [0.0, 1.0], "ab", None, np.array([0.0, 1.0]), [True, 0],
        np.array([[0, 1]]), [0, True],
    ):  # fmt: skip
        with raises(f"action must be two ints, a row below 5 and a level below 7, got {action!r}"):
            env.step(action)
    for action in ([0, 0], (0, 1), [np.int8(0), np.uint64(2)], np.array([4, 6], np.uint8), np.array([4, 6])):
        env.step(action)
    envs = curves_envs(2, "toy", table=ONE, objective="loss")
    envs.reset(seed=0)
    for actions, message in (
        ([0, 1], "actions must be ints of shape (2, 2), got shape (2,) and dtype int64"),
        ([[0.0, 1.0]] * 2, "actions must be ints of shape (2, 2), got shape (2, 2) and dtype float64"),
        ([[0, 1], [5, 0]], "actions must be pairs below [5, 7] and >= 0, got [5, 0]"),
        ([[0, 1], [0, 7]], "actions must be pairs below [5, 7] and >= 0, got [0, 7]"),
        ([[-1, 1], [0, 7]], "actions must be pairs below [5, 7] and >= 0, got [-1, 1]"),
    ):
        with raises(message):
            envs.step(actions)
    envs.step(np.array([[4, 6], [0, 0]], np.uint8))


def test_an_observed_cost_is_capped() -> None:
    dear = curves(1, cost=np.full((ROWS, 1, LEVELS), 2e9))
    env = curves_env("toy", table=dear, objective="loss", budget=1e12)
    envs = curves_envs(1, "toy", table=dear, objective="loss", budget=1e12)
    env.reset(seed=0)
    envs.reset(seed=0)
    one, _, _, _, info = env.step([0, 0])
    many, _, _, _, batched = envs.step([[0, 0]])
    assert one[-3] == many[0, -3] == np.float32(1e9)
    assert info["cost"] == batched["cost"][0] == 2e9
