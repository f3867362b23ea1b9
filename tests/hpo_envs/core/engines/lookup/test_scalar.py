"""The scalar look-up environment compared with a model of it, differences of batches, and texts of its errors."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.core.engines.lookup.batched import LookupVectorEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from tests.helpers import raises, started
from tests.hpo_envs.core.engines.lookup.model import ONE, SETTINGS, TWO, Model, act, arguments, lookup, lookups, tiny

RESET = "step() must follow reset(): no episode is running. Call env.reset() first."


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_scalar_form_equals_a_simple_model(setting: str) -> None:
    env = lookup((), **arguments(setting))
    model, rng = Model(*SETTINGS[setting]), np.random.default_rng(0)
    vector = not isinstance(model.objective, str)
    for seed, episode, options in [(3, 1, None), (None, 2, None), (None, 3, None), (8, 1, None), (8, 1, "last")]:
        last = len(model.tables) - 1
        given = {"table": model.tables[last].name[4:]} if options and last else None
        model.begin(seed if seed is not None else 8 if episode > 3 else 3, episode, last if given else None)
        observation, info = env.reset(seed=seed, options=given)
        assert (observation.dtype, observation.tolist()) == (np.float32, model.first().tolist())
        assert {k: info[k] for k in ("table", "kind", "sha256")} == model.says()
        assert env.table is model.table
        assert (env.tables, env.budget) == (tuple(model.tables), model.limit)
        mask = np.ones(6, np.int8)
        assert ("action_mask" in info) != model.grid
        over = False
        while not over:
            row = int(rng.integers(6))
            expected, rewards, over, said = model.step(row)
            observation, reward, terminated, truncated, info = env.step(act(row, model.grid))
            assert observation.tolist() == expected.tolist()
            assert (reward.tolist() if vector else [reward]) == rewards
            assert vector or type(reward) is float
            assert (terminated, truncated) == (over, False)
            mask[row] = 0
            if not model.grid:
                assert info.pop("action_mask").tolist() == mask.tolist()
                assert (env.action_masks().tolist(), env.action_masks().dtype) == (mask.astype(bool).tolist(), bool)
            assert info == said
            assert env.observation_space.contains(observation)
        with raises(RESET, gym.error.ResetNeeded):
            env.step(act(0, model.grid))


def test_options_choose_table_of_every_episode() -> None:
    envs = lookups(4, (), **arguments("two tables"))
    for i, name in enumerate(("one", "two")):
        _, info = envs.reset(seed=0, options={"table": name})
        assert info["table"].tolist() == [f"toy/{name}"] * 4
        assert (info["table_code"].tolist(), info["kind_code"].tolist()) == ([i] * 4, [1] * 4)  # a surrogate
        assert info["sha256_code"][3].tobytes().hex() == info["sha256"][3] == envs.table.provenance.sha256
        assert envs.table is (ONE, TWO)[i]
    assert envs.tables == (ONE, TWO)
    with raises("options['table'] must be one of one, two, got 'too', did you mean 'two'?"):
        envs.reset(options={"table": "too"})


def test_unseeded_episodes_differ() -> None:
    env = lookup((), **arguments("repeats"))
    seen = set()
    for _ in range(12):
        env.reset()
        seen.add(tuple(env.step(1)[1] for _ in range(5)))
    assert len(seen) > 3
    other = lookup((), **arguments("repeats"))
    other.reset()
    assert other._stream != env._stream
    envs = lookups(20, (), **arguments("repeats"))
    envs.reset()
    assert len({tuple(envs.step(np.ones(20, int))[1][i] for _ in range(1)) for i in range(20)}) > 1
    assert len(set(envs._streams.tolist())) == 20


def test_grid_has_no_mask() -> None:
    for env in (lookup((), **arguments("grid")), lookups(2, (), **arguments("grid"))):
        env.reset(seed=0)
        space = env.params.action_space
        with raises(f"action_masks: there is no useful mask of actions in {space}", AttributeError):
            env.action_masks()
        assert not hasattr(env, "action_masks")


def test_held_out_metrics_stand_apart() -> None:
    env = started(gym.make("CharMini-eng-lstm-v0").unwrapped)
    info = env.step(3)[-1]
    names = ("test_accuracy", "test_phoneme_error_rate")
    assert env.params.held_out == names
    assert {*info} == {"cost", "metrics", "status", "status_code", "held_out", "config", "action_mask"}
    assert info["action_mask"].dtype == np.int8
    assert sorted([*info["metrics"], *info["held_out"]]) == sorted(env.table.metric_names)
    assert tuple(info["held_out"]) == names
    for name in names:
        assert info["held_out"][name] in env.table.values[env.rows[3], :, -1, env.table.metric(name)]
    assert env.params.repeats_of(np.array([1], np.uint64), 0, np.array([3]))["level"].tolist() == [19]
    envs = gym.make_vec("CharMini-eng-lstm-v0", num_envs=2)
    seeds = [4, 9]
    envs.reset(seed=seeds)
    together = envs.step(np.array([3, 8]))[-1]
    envs.step(np.array([5, 6]))
    for i, row in enumerate((3, 8)):
        env.reset(seed=seeds[i])
        alone = env.step(row)[-1]["held_out"]
        assert {name: together["held_out"][name][i] for name in names} == alone
        alone.clear()
        env.reset(seed=seeds[i])
        assert tuple(env.step(row)[-1]["held_out"]) == names


def test_held_out_metric_is_missing_for_runs_that_were_never_tested() -> None:
    env = started(gym.make("CharHPO-inflection-hun-lstm-v0", shuffle=False, budget=None).unwrapped)
    infos = [env.step(row)[-1] for row in range(200)]
    tested = [info for info in infos if info["held_out"]]
    assert [info["held_out"]["test_accuracy"] for info in tested] == [91.3], "as in Table 6"
    assert tested[0]["metrics"]["accuracy"] == max(info["metrics"]["accuracy"] for info in infos)
    envs = started(gym.make_vec("CharHPO-inflection-hun-lstm-v0", num_envs=200, shuffle=False).unwrapped)
    held_out = envs.step(np.arange(200))[-1]["held_out"]
    assert held_out["_test_accuracy"].tolist() == [bool(info["held_out"]) for info in infos]
    assert held_out["test_accuracy"].sum() == 91.3


def test_seeds_of_batch() -> None:
    def first_rewards(**kwargs: Any) -> list[float]:
        envs.reset(**kwargs)
        return [float(r) for _ in range(3) for r in envs.step(np.array([1, 1, 1]))[1]]

    envs = lookups(3, (), **arguments("repeats"))
    base = first_rewards(seed=4)
    assert (first_rewards(seed=[4, 5, 6]), first_rewards(seed=np.array([4, 5, 6]))) == (base, base)
    assert envs.np_random_seed == 4
    follow = first_rewards()
    assert (first_rewards(seed=4), first_rewards(seed=[None, 5, None])[1::3]) == (base, base[1::3])
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
        ("abc", "seed must be None, an int >= 0 or a list of 3 such ints, got 'abc'"),
        (1.5, "seed must be None, an int >= 0 or a list of 3 such ints, got 1.5"),
    ):
        with raises(message):
            envs.reset(seed=seed)


def test_repeats_after_very_many_evaluations_of_a_row_are_equal_in_both_forms() -> None:
    table = tiny(name="toy/many", repeats=6000)
    one, many = (f(*n, (), table=table, objective="score", budget=None) for f, n in ((lookup, ()), (lookups, (1,))))
    started(one), started(many)
    one._pulls[0] = many._pulls[0, 0] = 2**15 - 1
    for _ in range(3):
        assert one.step(0)[1] == many.step(np.array([0]))[1].item()


def test_step_before_reset_is_refused() -> None:
    with raises("step() must follow reset(). Call envs.reset() first.", gym.error.ResetNeeded):
        lookups(2, (), **arguments("plain")).step([0, 0])


def test_where_all_runs_failed_every_status_is_reported() -> None:
    envs = LookupVectorEnv(2, LookupParams.of((), table=tiny(status=np.ones((6, 2), np.uint8)), objective="score"))
    envs.reset(seed=0)
    assert envs.step(np.array([0, 3]))[-1]["status"].tolist() == ["failed", "failed"]


def test_ends_are_bools_also_where_every_episode_starts() -> None:
    envs = started(lookups(2, (), **{**arguments("plain"), "budget": 1, "cost": "evaluations"}))
    for ended in (True, False, True):
        _, _, terminated, truncated, _ = envs.step(np.array([0, 1]))
        assert (terminated.dtype, truncated.dtype, terminated.tolist()) == (bool, bool, [ended, ended])


def test_what_was_given_or_returned_may_be_written_into() -> None:
    kwargs = {**arguments("plain"), "shuffle": True}
    trails = []
    for write in (False, True):
        envs = started(lookups(3, (), **kwargs))
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
