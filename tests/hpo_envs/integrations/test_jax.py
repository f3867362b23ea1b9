"""Tables in JAX (extra `jax`): the rewards of the environments, bit for bit."""

import functools
import importlib.util
import runpy
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import wrappers
from tests.helpers import ROOT, started

jax = pytest.importorskip("jax", reason="extra jax is not installed")

from hpo_envs.integrations import jax as ours  # noqa: E402

TASKS: list[Any] = [
    "CharHPO-g2p-hun-lstm-v0",
    ("TaskSet-gru128-v0", {"budget": 30}),
    ("NMTLC-zhen-v0", {"budget": 3e5}),
    ("TaskSetLC-gru128-v0", {"levels": 4}),
    ("NMTLC-ft-zhen-v0", {"cost": "evaluations"}),
]


def many(function: Any, batch: ours.TaskBatch) -> Any:
    return jax.jit(jax.vmap(functools.partial(function, batch)))


def restarted(over: np.ndarray, states: Any) -> Any:
    """`over` in the form of the states."""
    return jax.tree.map(lambda leaf: np.broadcast_to(over.reshape(-1, *[1] * (leaf.ndim - 1)), leaf.shape), states)


def test_rewards_costs_and_ends_equal_those_of_the_environments_bit_for_bit() -> None:
    with jax.enable_x64(True):
        batch, rng, steps = ours.export(TASKS), np.random.default_rng(0), 0
        begin, step = many(functools.partial(ours.reset, horizon=4), batch), many(ours.step, batch)
        for k, task in enumerate(TASKS):
            env_id, kwargs = (task, {}) if isinstance(task, str) else task
            envs = gym.make_vec(env_id, num_envs=512, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP, **kwargs)
            envs.reset(seed=0)
            curves = isinstance(envs.single_action_space, gym.spaces.MultiDiscrete)
            p, keys = envs.unwrapped.params, jax.random.split(jax.random.key(0), 512)
            first = states = jax.vmap(functools.partial(ours.reset, batch, horizon=4, task=k))(keys)
            spent = np.zeros(512)
            for _ in range(50):
                rows = rng.integers(len(p.table), size=512)
                levels = rng.integers(len(p.levels), size=512) if curves else np.zeros(512, int)
                actions = np.stack([rows, levels], axis=1) if curves else rows
                _, reward, over, _, info = envs.step(actions)
                paid = np.where(over, info["final_info"]["cost"], info["cost"]) if over.any() else info["cost"]
                spent += paid
                states, ours_reward, ours_over = step(states, rows, levels)
                assert np.array_equal(np.asarray(ours_reward), reward)
                assert np.array_equal(np.asarray(states.spent), spent)
                assert np.array_equal(np.asarray(ours_over), over)
                states = jax.vmap(functools.partial(jax.tree.map, jax.numpy.where))(
                    restarted(over, states), first, states
                )
                spent[over] = 0.0
                steps += 512
        assert steps >= 100_000
        assert begin(keys).task.max() < len(TASKS)


def test_episode_ends_where_nothing_is_left_to_train() -> None:
    with jax.enable_x64(True):
        task = ("NMTLC-zhen-v0", {"budget": None})
        lookup = ("CharHPO-g2p-hun-lstm-v0", {"budget": 1e4})
        batch, env, rng = ours.export([lookup, task]), gym.make(task[0], **task[1]), np.random.default_rng(0)
        step, state = jax.jit(functools.partial(ours.step, batch)), ours.reset(batch, jax.random.key(0), task=1)
        env.reset(seed=0)
        levels = len(env.unwrapped.table.levels)
        for row in rng.permutation([*range(len(env.unwrapped.table))] * 2):
            level = int(rng.integers(levels)) if state.reached[row] == 0 else levels - 1
            _, _, over, _, _ = env.step(np.array([row, level]))
            state, _, ended = step(state, int(row), level)
            assert bool(ended) == over
            if over:
                break
        assert over
        assert int(state.complete) == len(env.unwrapped.table)


def test_observations_are_those_of_candidate_sets() -> None:
    env_id, features = "CharHPO-g2p-hun-lstm-v0", ("observed", "history")
    env = started(wrappers.CandidateObservation(gym.make(env_id, budget=8), 200, features))
    order = env.rule._picked[0]
    batch = ours.export([(env_id, {"budget": 8})])
    state = ours.reset(batch, jax.random.key(0), 8)
    for action in (3, 50, 120, 7, 9):
        seen, *_ = env.step(action)
        state, *_ = ours.step(batch, state, order[action])
        found = np.asarray(ours.observed(batch, state))[order]
        np.testing.assert_allclose(found, seen["candidates"][:, :2], atol=2e-4)
        d = batch.features.shape[2]
        np.testing.assert_allclose(ours.history(batch, state), seen["history"][:, : 4 + d], atol=2e-4)
        assert np.array_equal(np.asarray(ours.free(batch, state))[order], seen["mask"] > 0.5)
    repeated = state._replace(rows=jax.numpy.full_like(state.rows, 4))
    wanted = np.zeros((len(order), 2), np.float32)
    wanted[4] = 1.0, ours.standardised(state)[4]  # of the last of five evaluations
    assert np.array_equal(ours.observed(batch, repeated), wanted)


def test_random_rows_are_uniform_over_what_is_free_and_scores_are_sampled_in_proportion() -> None:
    batch = ours.export([("NMTHPO-zhen-v0", {})])
    if importlib.util.find_spec("torch"):
        torch = importlib.import_module("torch")
        assert np.array_equal(torch.from_dlpack(batch.values).numpy(), batch.values)
    state = ours.reset(batch, jax.random.key(0), 8)
    for row in (0, 117, 5, 6, 5):
        state, *_ = ours.step(batch, state, row)
    short = ours.reset(batch, jax.random.key(0), 2)
    for row in (117, 5, 3, 60):
        short, *_ = ours.step(batch, short, row)
    assert (short.evaluated.tolist(), short.rows.tolist(), int(short.steps)) == ([5, 117], [117, 5], 4)
    keys = jax.random.split(jax.random.key(1), 40_000)
    rows = np.asarray(jax.vmap(lambda key: ours.random_row(batch, state, key))(keys))
    counts = np.bincount(rows, minlength=118)
    assert not counts[[0, 5, 6, 117]].any()
    expected = len(keys) / 114
    assert np.abs(counts[counts > 0] - expected).max() < 5.0 * np.sqrt(expected)
    assert (counts > 0).sum() == 114
    mask, scores = np.array([True, False, True, True]), np.log([1.0, 9.0, 2.0, 5.0])
    drawn = np.asarray(jax.vmap(lambda key: ours.sample(key, scores, mask))(keys))
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / len(keys), [0.125, 0.0, 0.25, 0.625], atol=0.012)


def test_other_environments_are_refused_in_one_line() -> None:
    for env_id in ("NMTHPO-v0", "NMTHPO-zhen-mo-v0", "FIESTA-ner-v0", "CushLEPOR-ted-ende-v0"):
        with pytest.raises(ValueError, match="tasks must be look-ups or curves of one table and one objective, got"):
            ours.export([env_id])
    with pytest.raises(ValueError, match="tasks must have all configurations in order and one worker, got"):
        ours.export([("NMTHPO-zhen-v0", {"subsample": 0.5})])


def test_the_example_trains_in_one_scan(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["jax_policy.py", "--episodes", "16", "--updates", "2"])
    runpy.run_path(str(ROOT / "docs" / "examples" / "jax_policy.py"), run_name="__main__")
    regrets = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines() if "unseen" in line]
    assert len(regrets) == 2
    assert all(0.1 < regret < 0.6 for regret in regrets)
