"""Batched learning curves: against a model and against the scalar form, with workers and without."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables.table import Table
from hpo_envs.testing.batches import agree, pick
from hpo_envs.testing.rules import same
from tests.hpo_envs.engines.curves.helpers import KWARGS, T1, T3
from tests.hpo_envs.engines.curves.model import ROWS, SETTINGS, arguments, close, curves_env, curves_envs


@pytest.mark.parametrize(
    ("setting", "copy"), [*((s, True) for s in SETTINGS), ("plain", False), ("vector", False), ("workers", False)]
)
def test_batched_form_is_the_model(setting: str, copy: bool) -> None:
    n = 3
    envs, rng = curves_envs(n, **arguments(setting), copy=copy), np.random.default_rng(1)
    models = [dataclasses.replace(SETTINGS[setting]) for _ in range(n)]
    for i, model in enumerate(models):
        model.begin(5 + i, 1)
    observation, info = envs.reset(seed=5)
    assert observation == pytest.approx(np.array([m.last for m in models]), rel=1e-6, abs=1e-7)
    assert info["table"].tolist() == [models[0].t.name] * n
    assert info["sha256"].tolist() == [models[0].t.provenance.sha256] * n
    assert envs.budget == pytest.approx(models[0].limit)
    assert envs.levels.tolist() == models[0].t.levels[models[0].grid].tolist()
    if models[0].held_out:
        assert all(np.isnan(v).all() for v in envs.best_held_out.values())
    episodes, ended, held = [1] * n, [False] * n, observation
    for _ in range(28):
        before = held.copy()
        actions = np.stack([rng.integers(ROWS, size=n), rng.integers(len(models[0].grid), size=n)], axis=1)
        observation, reward, terminated, truncated, info = envs.step(actions)
        assert (observation is held) != copy
        if copy:
            assert np.array_equal(held, before), "what was handed out stays as it was"
        held = observation
        assert observation.dtype == np.float32
        assert reward.dtype == np.float64
        assert not truncated.any()
        for i, model in enumerate(models):
            if ended[i]:
                episodes[i] += 1
                model.begin(5 + i, episodes[i])
                ended[i] = False
                assert np.all(reward[i] == 0.0)
                assert not terminated[i]
                assert observation[i] == pytest.approx(np.array(model.last), rel=1e-6, abs=1e-7)
                continue
            expected = model.step(*actions[i].tolist())
            ended[i] = expected["over"]
            close(reward[i], expected["reward"])
            assert terminated[i] == expected["over"]
            assert observation[i] == pytest.approx(np.array(model.last), rel=1e-6, abs=1e-6)
            for key, value in expected["info"].items():
                got = {k: v[i] for k, v in info[key].items()} if isinstance(value, dict) else info[key][i]
                if key == "config":
                    assert got == value
                else:
                    close(got, value)
            assert envs.action_masks()[i].tolist() == model.mask()
            assert envs.total_cost[i] == pytest.approx(model.spent)
            if model.best_cell:
                row, at = model.best_cell
                best = {k: v[i] for k, v in envs.best_held_out.items()}
                close(best, {k: model.value(row, model.repeat(row), at, k) for k in model.held_out})
        reward[:] = 9  # the caller's
        envs.total_cost[:] = 9
    assert max(episodes) >= 2 or setting in ("all", "all evaluations", "accuracy", "auto", "workers vector", "late")


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
