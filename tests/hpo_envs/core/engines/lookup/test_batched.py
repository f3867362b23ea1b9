"""The batched look-up environment against a model of it, and every word of its errors."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from hpo_envs.core.engines.lookup.batched import LookupVectorEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from tests.helpers import raises
from tests.hpo_envs.core.engines.lookup.model import SETTINGS, Model, act, arguments, lookups, tiny


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize(("setting", "copy"), [*((s, True) for s in SETTINGS), ("plain", False), ("grid", False)])
def test_batched_form_is_model(setting: str, mode: AutoresetMode, copy: bool) -> None:
    n = 3
    envs = lookups(n, (), **arguments(setting), autoreset_mode=mode, copy=copy)
    models, rng = [Model(*SETTINGS[setting]) for _ in range(n)], np.random.default_rng(1)
    vector = not isinstance(models[0].objective, str)
    seeds, episodes = [5, 6, 7], [1, 1, 1]
    for m, s in zip(models, seeds, strict=True):
        m.begin(s, 1)
    observations, info = envs.reset(seed=5)
    assert observations.tolist() == [m.first().tolist() for m in models]
    check_start(info, models, [True] * n)
    ended = [False] * n
    for _ in range(40):
        rows = rng.integers(6, size=n)
        if mode is AutoresetMode.DISABLED and any(ended):
            where = [i for i in range(n) if ended[i]]
            message = (
                f"environments {where} have ended and autoreset is disabled: call "
                "envs.reset(options={'reset_mask': ended}) first."
            )
            with raises(message, gym.error.ResetNeeded):
                envs.step(np.stack([act(int(r), models[0].grid) for r in rows]))
            for i in where:
                episodes[i] += 1
                models[i].begin(seeds[i], episodes[i])
            observations, info = envs.reset(options={"reset_mask": np.array(ended)})
            for i in where:
                assert observations[i].tolist() == models[i].first().tolist()
            check_start(info, models, ended)
            ended = [False] * n
        before = [list(m.pulls) for m in models]
        observations, rewards, terminated, truncated, info = envs.step(
            np.stack([act(int(r), models[0].grid) for r in rows])
        )
        assert truncated.tolist() == [False] * n
        started = [False] * n
        reported = [True] * n
        for i, model in enumerate(models):
            if ended[i] and mode is AutoresetMode.NEXT_STEP:
                episodes[i] += 1
                model.begin(seeds[i], episodes[i])
                started[i], reported[i] = True, False
                assert observations[i].tolist() == model.first().tolist()
                assert np.all(rewards[i] == 0.0)
                assert not terminated[i]
                ended[i] = False
                continue
            expected, reward, over, said = model.step(int(rows[i]))
            assert (rewards[i].tolist() if vector else [float(rewards[i])]) == reward
            assert bool(terminated[i]) == over
            ended[i] = over
            source, masks = info, info
            if over and mode is AutoresetMode.SAME_STEP:
                assert info["final_obs"][i].tolist() == expected.tolist()
                assert info["_final_obs"][i]
                assert info["_final_info"][i]
                source = masks = info["final_info"]
                episodes[i] += 1
                model.begin(seeds[i], episodes[i])
                expected = model.first()
                started[i], reported[i], ended[i] = True, False, False
            assert observations[i].tolist() == expected.tolist()
            got = {
                "cost": source["cost"][i],
                "metrics": {k: float(v[i]) for k, v in source["metrics"].items()},
                "status": source["status"][i],
                "status_code": source["status_code"][i],
                "config": {k: v[i] for k, v in source["config"].items()},
            }
            assert got == said
            assert masks["_cost"][i]
            assert masks["_metrics"][i]
        assert rewards.dtype == np.float64
        for key in ("cost", "metrics", "status", "config"):
            if all(started) and mode is AutoresetMode.NEXT_STEP:
                assert key not in info
                continue
            assert info["_" + key].tolist() == reported
            blank = [i for i in range(n) if not reported[i]]
            for values in info[key].values() if isinstance(info[key], dict) else [info[key]]:
                assert all(values[i] in (0, "", None) for i in blank)
        check_start(info, models, started)
        if not models[0].grid:
            masks_ = envs.action_masks()
            assert masks_.tolist() == [[p == 0 for p in m.pulls] for m in models]
            assert masks_.dtype == bool
        assert envs.table is models[0].table
        assert len(before) == n


def check_start(info: dict[str, Any], models: list[Model], started: list[bool]) -> None:
    """`table`, `kind` and `sha256` are said of the episodes that begin, and of no other."""
    for key in ("table", "kind", "sha256"):
        if not any(started):
            assert key not in info
            continue
        assert info["_" + key].tolist() == started
        assert [info[key][i] for i in range(len(models))] == [
            m.says()[key] if s else None for m, s in zip(models, started, strict=True)
        ]


def test_seeds_of_batch() -> None:
    def first_rewards(**kwargs: Any) -> list[float]:
        envs.reset(**kwargs)
        return [float(r) for _ in range(3) for r in envs.step(np.array([1, 1, 1]))[1]]

    envs = lookups(3, (), **arguments("repeats"))
    base = first_rewards(seed=4)
    assert first_rewards(seed=[4, 5, 6]) == base
    assert first_rewards(seed=np.array([4, 5, 6])) == base
    assert envs.np_random_seed == 4
    follow = first_rewards()
    assert first_rewards(seed=4) == base
    assert first_rewards(seed=[None, 5, None])[1::3] == base[1::3]
    first_rewards(seed=4)
    assert first_rewards(seed=[None, None, None]) == follow
    big = 2**64 + 4  # the lowest 64 bits count, as in the scalar form
    assert first_rewards(seed=big) == base
    for seed, message in (
        (-1, "seed must be an int >= 0, got -1"),
        (True, "seed must be an int >= 0, got True"),
        ([1, 2, -3], "seed must be an int >= 0, got -3"),
        ([1, 2, 1.5], "seed must be an int >= 0, got 1.5"),
        ([1, 2], "seed must be an int or have length num_envs=3, got 2"),
        ("abc", "seed must be None, an int >= 0 or 3 of them, got 'abc'"),
        (1.5, "seed must be None, an int >= 0 or 3 of them, got 1.5"),
    ):
        with raises(message):
            envs.reset(seed=seed)


def test_step_before_reset_is_refused() -> None:
    with raises("step() must follow reset(). Call envs.reset() first.", gym.error.ResetNeeded):
        lookups(2, (), **arguments("plain")).step([0, 0])


def test_where_all_runs_failed_every_status_is_reported() -> None:
    envs = LookupVectorEnv(2, LookupParams.of((), table=tiny(status=np.ones((6, 2), np.uint8)), objective="score"))
    envs.reset(seed=0)
    assert envs.step(np.array([0, 3]))[-1]["status"].tolist() == ["failed", "failed"]


def test_ends_are_bools_also_where_every_episode_starts() -> None:
    envs = lookups(2, (), **{**arguments("plain"), "budget": 1, "cost": "evaluations"})
    envs.reset(seed=0)
    for ended in (True, False, True):
        _, _, terminated, truncated, _ = envs.step(np.array([0, 1]))
        assert (terminated.dtype, truncated.dtype) == (bool, bool)
        assert terminated.tolist() == [ended, ended]


def test_what_was_given_or_returned_may_be_written_into() -> None:
    kwargs = {**arguments("plain"), "shuffle": True}
    trails = []
    for write in (False, True):
        envs = lookups(3, (), **kwargs)
        envs.reset(seed=0)
        trail: list[Any] = []
        for k in range(3):
            actions = np.full(3, k)
            observation, *_, info = envs.step(actions)
            trail += [observation, info]
            if write:
                actions[:] = 5
                info["row"][:] = 0
            if k == 1:  # some episodes start anew: masks that nobody has read yet are those of before
                envs.reset(options={"reset_mask": np.array([False, True, False])})
        trails.append([t if isinstance(t, np.ndarray) else t["action_mask"] for t in trail])
    for clean, written in zip(*trails, strict=True):
        np.testing.assert_array_equal(clean, written)
    assert trails[0][3].sum(axis=1).tolist() == [trails[0][3].shape[1] - 2] * 3
