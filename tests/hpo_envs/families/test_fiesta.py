"""FIESTA environments and tables: laws of resampling, and the measured numbers of the paper."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.testing.batches import agree, pick
from hpo_envs.testing.rules import same

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("tdsa8", {"batch_size": 3}),
    ("tdsa12", {"replacement": False, "budget": 1300}),
    ("tdsa8", {"shared": True, "batch_size": 2}),
    ("tdsa8", {"shared": True, "replacement": False}),
    ("ner", {"fix_split": 3, "replacement": False}),
    ("ner", {"fix_seed": 1, "objective": "validation_f1"}),
    ("ner", {"fix_seed": 4, "fix_split": 149}),
    ("gaussian", {"means": (0.5, 0.6), "deviations": (0.0, 0.02), "batch_size": 4}),
]


def make(task: str, **kwargs: Any) -> Any:
    return gym.make(f"FIESTA-{task}-v0", **kwargs)


@pytest.mark.parametrize(("task", "kwargs"), VARIANTS)
def test_batched_equals_scalar_in_every_variant(task: str, kwargs: dict[str, Any]) -> None:
    kwargs = {"budget": 12, **kwargs}
    envs = gym.make_vec(f"FIESTA-{task}-v0", num_envs=3, **kwargs)
    singles = [make(task, **kwargs) for _ in range(3)]
    envs.action_space.seed(0)
    envs.reset(seed=4)
    for i, env in enumerate(singles):
        env.reset(seed=4 + i)
    ended = [False] * 3
    for _ in range(30):
        actions = envs.action_space.sample()
        observation, reward, terminated, _, info = envs.step(actions)
        for i, env in enumerate(singles):
            if ended[i]:
                one, one_info = env.reset()
                one_reward, end = 0.0, False
            else:
                one, one_reward, end, _, one_info = env.step(actions[i])
            assert same(one, observation[i])
            assert (one_reward, end) == (reward[i], terminated[i])
            agree(one_info, pick(info, i), 0.0)
            ended[i] = end


@pytest.mark.parametrize("kwargs", [{"workers": 3}, {"workers": 2, "durations": (3.0, 1.0, 1.5, 0.25, 1.0)}])
def test_batched_workers_equal_scalar_ones(kwargs: dict[str, Any]) -> None:
    kwargs = {"budget": 9, **kwargs}
    envs = gym.make_vec("FIESTA-gaussian-v0", num_envs=3, **kwargs)
    singles = [make("gaussian", **kwargs) for _ in range(3)]
    envs.action_space.seed(1)
    envs.reset(seed=4)
    for i, env in enumerate(singles):
        env.reset(seed=4 + i)
    ended = [False] * 3
    for _ in range(36):
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
            assert (one_reward, ended[i]) == (reward[i], terminated[i])
            for key in ("finished", "action", "clock", "cost"):
                assert one_info[key] == info[key][i]
            if one_info["finished"]:
                assert one_info["metrics"]["score"] == info["metrics"]["score"][i]


def test_two_workers_by_hand() -> None:
    """Arm 0 takes 3, arm 1 takes 1: the second evaluation comes back first."""
    env = make("gaussian", means=(0.5, 0.6), workers=2, durations=(3.0, 1.0), budget=4)
    env.reset(seed=0)
    alone = pulls(make("gaussian", means=(0.5, 0.6)), [0, 1, 1, 1])
    said = [env.step(arm) for arm in (0, 1, 1, 1, 0)]
    infos = [s[4] for s in said]
    assert [i["finished"] for i in infos] == [False, True, True, True, True]
    assert [int(i["action"]) for i in infos[1:]] == [1, 1, 0, 1]
    assert [i["clock"] for i in infos] == [0.0, 1.0, 2.0, 3.0, 3.0]
    assert [s[1] for s in said] == [0.0, alone[1], alone[2], alone[0], alone[3]]
    assert [s[2] for s in said] == [False, False, False, False, True]


def test_asynchronous_thompson_sampling_in_the_run_loop() -> None:
    from hpo_envs.benchmarks import run

    kwargs = {"workers": 4, "durations": (1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 1.0)}
    runs = run("bts", "FIESTA-tdsa8-v0", [0, 1, 2], budget=300, env_kwargs=kwargs, confidence=0.8)
    for r in runs:
        assert 24 <= len(r) <= 300
        assert np.bincount(r.actions, minlength=8).min() >= 3
        assert (r.rewards > 0.4).all()
    alone = run("bts", "FIESTA-tdsa8-v0", [1], budget=300, env_kwargs=kwargs, confidence=0.8)[0]
    assert np.array_equal(runs[1].actions, alone.actions)


def pulls(env: Any, arms: list[int], seed: int = 0) -> np.ndarray:
    env.reset(seed=seed)
    return np.array([env.step(arm)[1] for arm in arms])


def test_a_pull_depends_on_arm_and_count_alone() -> None:
    env = make("tdsa8", budget=40)
    alone = pulls(env, [2] * 10)
    mixed = pulls(env, [5, 2, 2, 7, 2, 2, 0, 2, 2, 2, 2, 1, 2, 2])
    assert np.array_equal(mixed[[1, 2, 4, 5, 7, 8, 9, 10, 12, 13]], alone)
    assert not np.array_equal(pulls(env, [2] * 10, seed=1), alone)


def test_without_replacement_sees_each_evaluation_once_a_sweep() -> None:
    env = make("ner", fix_split=7, replacement=False)
    scores = pulls(env, [0] * 15)
    row = env.unwrapped.table.values[0, 35:40, 0, 0]
    for sweep in scores.reshape(3, 5):
        assert sorted(sweep) == sorted(row)
    with_replacement = pulls(make("ner", fix_split=7), [0] * 15)
    assert set(with_replacement) <= set(row)
    assert any(sorted(s) != sorted(row) for s in with_replacement.reshape(3, 5))


def test_shared_pulls_read_one_column() -> None:
    env = make("tdsa8", shared=True, budget=400)
    x = pulls(env, [a for _ in range(100) for a in (0, 3)]).reshape(100, 2)
    table = env.unwrapped.table.values[:, :, 0, 0]
    pairs = {(a, b) for a, b in zip(table[0], table[3], strict=True)}
    assert all((a, b) in pairs for a, b in x)
    apart = pulls(make("tdsa8", budget=400), [a for _ in range(100) for a in (0, 3)]).reshape(100, 2)
    assert np.corrcoef(x.T)[0, 1] > 0.4 > np.corrcoef(apart.T)[0, 1]


def test_fixing_both_leaves_one_evaluation() -> None:
    env = make("ner", fix_split=2, fix_seed=3)
    assert len(set(pulls(env, [1] * 6))) == 1
    assert pulls(env, [1])[0] == env.unwrapped.table.values[1, 13, 0, 0]


def test_batches_end_before_the_budget_is_overdrawn() -> None:
    env = make("tdsa8", batch_size=4, budget=10)
    _, info = env.reset(seed=0)
    assert "action_mask" not in info
    _, reward, terminated, _, info = env.step([0, 0, 1, 2])
    assert not terminated
    assert info["cost"] == 4.0
    assert reward == pytest.approx(info["scores"].mean())
    assert info["scores"][0] != info["scores"][1]
    observation, _, terminated, truncated, _ = env.step([3, 3, 3, 3])
    assert terminated is True
    assert truncated is False
    assert observation[-1] == pytest.approx(0.2)
    assert observation[:8] == pytest.approx([0.2, 0.1, 0.1, 0.4, 0, 0, 0, 0])


def test_observation_holds_the_moments() -> None:
    env = make("gaussian", budget=30)
    env.reset(seed=3)
    scores = [env.step(2)[1] for _ in range(9)]
    observation = env.step(2)[0]
    scores.append(float(observation[15]))
    assert observation[7] == pytest.approx(np.mean(scores), abs=1e-6)
    assert observation[12] == pytest.approx(np.std(scores), abs=1e-6)
    assert observation[5:7] == pytest.approx([0.0, 0.0])


def test_gaussian_arms_are_gaussian() -> None:
    from scipy import stats

    env = make("gaussian", budget=4000, means=(0.5, 0.7), deviations=(0.01, 0.03))
    x = pulls(env, [1] * 4000)
    assert stats.kstest((np.array(x) - 0.7) / 0.03, "norm").pvalue > 1e-3


@pytest.mark.parametrize(
    ("task", "kwargs", "message"),
    [
        ("tdsa8", {"objective": "f2"}, "objective must be one of f1, got 'f2'"),
        ("tdsa8", {"cost": "seconds"}, "cost must be one of evaluations"),
        ("tdsa8", {"batch_size": 0}, "batch_size must be None or an int >= 1, got 0"),
        ("tdsa8", {"batch_size": 9, "budget": 8}, "budget must be >= batch_size, 9 evaluations"),
        ("tdsa8", {"fix_split": 1}, "fix_split must be left alone for tdsa8: it is for ner only"),
        ("tdsa8", {"means": (0.1, 0.2)}, "means must be left alone for tdsa8: it is for gaussian only"),
        ("ner", {"fix_split": 150}, r"fix_split must be None or an int in \[0, 150\), got 150"),
        ("ner", {"fix_seed": -1}, r"fix_seed must be None or an int in \[0, 5\), got -1"),
        ("tdsa8", {"workers": 0}, "workers must be an int >= 1, got 0"),
        ("tdsa8", {"workers": 2, "batch_size": 2}, "workers must be 1 with batch_size"),
        ("tdsa8", {"durations": (1.0,)}, "durations must be None or 8 numbers > 0"),
        ("gaussian", {"shared": True}, "shared must be left alone for gaussian"),
        ("gaussian", {"means": (0.5,)}, "means must be at least two finite numbers"),
        ("gaussian", {"means": (0.5, 0.99)}, "bounds must be 8.5 deviations away from every mean"),
        ("gaussian", {"deviations": -1.0}, "deviations must be a number >= 0"),
    ],
)
def test_bad_arguments_name_rule_and_value(task: str, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(task, **kwargs)


def test_synthetic_arms_are_said_to_be_synthetic() -> None:
    assert store.synthetic("fiesta/gaussian")
    assert store.load("fiesta/gaussian").provenance.kind == "surrogate"


@pytest.mark.parametrize("action", [8, -1, 1.0, [1], "a", None, True])
def test_bad_actions(action: Any) -> None:
    env = make("tdsa8").unwrapped
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action must be"):
        env.step(action)
