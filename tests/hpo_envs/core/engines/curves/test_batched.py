"""Batched learning curves: against a model and against the scalar form, with workers and without."""

import dataclasses

import numpy as np
import pytest

from tests.hpo_envs.core.engines.curves.model import ROWS, SETTINGS, arguments, close, curves_envs


@pytest.mark.parametrize(
    ("setting", "copy"), [*((s, True) for s in SETTINGS), ("plain", False), ("vector", False), ("workers", False)]
)
def test_batched_form_is_model(setting: str, copy: bool) -> None:
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
