"""Candidates as a set, in both forms."""

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import hpo_envs.wrappers.vector as vector
from hpo_envs import wrappers
from hpo_envs.agents.models.candidate_set import GROUPS
from hpo_envs.benchmarks import tasks
from hpo_envs.benchmarks.tasks import pools
from tests.helpers import rejects, started

EVERY = tuple(GROUPS)


def made(env_id: str, size: int, **kwargs: Any) -> Any:
    env = gym.make(env_id, **kwargs)
    predictions = np.random.default_rng(0).standard_normal((3, len(env.unwrapped.table)))
    return wrappers.CandidateObservation(env, size, EVERY, predictions, np.array([0.1, 0.0, 0.3]))


@pytest.mark.parametrize("size", [40, 150])
def test_gymnasium_checker_accepts_sets_smaller_and_larger_than_the_table(size: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(made("NMTHPO-zhen-v0", size, budget=5), skip_render_check=True)


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
@pytest.mark.parametrize("kwargs", [{}, {"shuffle": True, "subsample": 0.5}])
def test_both_forms_show_the_same_and_reward_wrappers_hide_nothing(mode: AutoresetMode, kwargs: dict[str, Any]) -> None:
    envs = vector.ImprovementReward(gym.make_vec("NMTHPO-zhen-v0", num_envs=2, autoreset_mode=mode, budget=4, **kwargs))
    many = vector.CandidateObservation(envs, 30, EVERY)
    ones = [wrappers.CandidateObservation(gym.make("NMTHPO-zhen-v0", budget=4, **kwargs), 30, EVERY) for _ in range(2)]
    batch, info = many.reset(seed=5)
    apart = [env.reset(seed=5 + i)[0] for i, env in enumerate(ones)]
    for step in range(11):
        for i, one in enumerate(apart):
            for name, values in one.items():
                np.testing.assert_allclose(batch[name][i], values, atol=2e-5, err_msg=f"{name} {step}")
        assert np.array_equal(info["action_mask"], many.action_masks())
        actions = np.array([int(np.flatnonzero(m)[-1 - step % 3]) for m in many.action_masks()])
        batch, _, done, _, info = many.step(actions)
        if mode is AutoresetMode.NEXT_STEP and step % 5 == 4:
            apart = [env.reset()[0] for env in ones]
            continue
        apart = [env.step(int(a))[0] for env, a in zip(ones, actions, strict=True)]
        if done.all() and mode is AutoresetMode.SAME_STEP:
            assert np.allclose(info["final_obs"][1]["candidates"], apart[1]["candidates"], atol=2e-5)
            apart = [env.reset()[0] for env in ones]


def test_columns_say_what_was_evaluated_and_actions_name_candidates() -> None:
    env = wrappers.CandidateObservation(gym.make("NMTHPO-zhen-v0", budget=6), 20, ("observed", "hyperparameters"))
    env.reset(seed=3)
    rewards = {}
    for action in (7, 0, 12):
        seen, rewards[action], *_, info = env.step(action)
        found = env.unwrapped.table.configs == np.array([[*info["config"].values()]])
        features = env.unwrapped.table.features[found.all(axis=1)][0]
        for mask in (info["action_mask"], env.get_wrapper_attr("action_masks")()):
            assert np.flatnonzero(mask == 0).tolist() == sorted(rewards)
        assert np.allclose(seen["hyperparameters"][action, :6], 2 * features - 1, atol=1e-6)
    assert np.flatnonzero(seen["candidates"][:, 0]).tolist() == [0, 7, 12]
    assert np.flatnonzero(seen["mask"] == 0).tolist() == [0, 7, 12]
    order = sorted(rewards, key=rewards.__getitem__)
    assert seen["candidates"][order, 1].tolist() == sorted(seen["candidates"][order, 1].tolist())
    assert (seen["candidates"][[0, 7, 12], 2] > 0.99).all()
    assert seen["context"][0] == 0.5


def test_a_table_smaller_than_the_set_is_filled_up() -> None:
    env = wrappers.CandidateObservation(gym.make("NMTHPO-zhen-v0"), 150)
    assert env.get_wrapper_attr("action_masks")().all()
    seen, _ = env.reset(seed=0)
    assert seen["mask"].sum() == 118
    assert not seen["candidates"][118:].any()
    seen, *_ = env.step(120)
    assert np.flatnonzero(seen["candidates"][:, 0]).tolist() == [2]


def test_what_cannot_be_shown_is_refused() -> None:
    for env_id in ("NMTHPO-zhen-mo-v0", "NMTHPO-v0", "NMTLC-zhen-v0", "FIESTA-ner-v0"):
        with pytest.raises(ValueError, match="env must have one table with features, a row per action"):
            wrappers.CandidateObservation(gym.make(env_id))
    with pytest.raises(ValueError, match="features must be a tuple of names among hyperparameters"):
        wrappers.CandidateObservation(gym.make("NMTHPO-zhen-v0"), 20, ("hyperparameter",))


def test_training_defaults_add_up_to_the_best_normalised_reward() -> None:
    env = started(wrappers.for_training(gym.make("NMTHPO-zhen-v0", budget=5), 64))
    best = sum(env.step(action)[1] for action in (3, 40, 8))
    table = env.unwrapped.table.values[:, 0, -1, 0]
    assert np.isclose((table - table.min()) / np.ptp(table), best).any()


def test_sampled_tasks_leave_languages_out_and_end_together() -> None:
    with pytest.raises(ValueError, match="without must be languages or task groups among"):
        tasks.make_vec(2, without=("xx",))
    names = {p.name for p in pools.pools(without=("ron", "jpn"))}
    assert {"nmthpo/swen", "charmini/eng-lstm"} <= names
    assert not [n for n in names if "rom" in n or "ja" in n]
    envs = wrappers.for_training(tasks.make_vec(3, candidates=40, budget=5), 40)
    seen, _ = envs.reset(seed=1)
    again = wrappers.for_training(tasks.make_vec(2, candidates=40, budget=5), 40).reset(seed=2)[0]
    assert np.array_equal(seen["hyperparameters"][1:], again["hyperparameters"])
    total = np.zeros(3)
    for step in range(10):
        masks = envs.action_masks()
        assert masks.sum(axis=1).min() >= 5 - step % 5
        _, reward, done, _, info = envs.step(masks.argmax(axis=1))
        total += reward
        assert done.all() == (step % 5 == 4) == ("final_obs" in info)
    assert (total <= 2.0 + 1e-9).all()
    assert (total >= 0.0).all()


def test_functions_alone_are_tasks_without_end() -> None:
    envs = started(tasks.make_vec(64, families=(), candidates=24))
    first = envs.candidates().x
    assert (envs.single_action_space.n, envs.pools) == (24, [])
    envs.reset()
    assert not np.array_equal(first, envs.candidates().x)


def test_sampled_tasks_have_what_torchrl_reads_and_name_their_tasks() -> None:
    drawn = tasks.make_vec(4, ["CharHPO"], objective="accuracy")
    envs = wrappers.for_training(drawn)
    _, info = envs.reset(seed=0)
    assert envs.autoreset_mode is AutoresetMode.SAME_STEP
    assert all(np.issubdtype(value.dtype, np.number) or value.dtype == bool for value in info.values())
    assert len(drawn.tasks) == 4
    assert {"function"} | {p.name for p in drawn.pools} >= {*drawn.tasks}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"predictions": np.zeros((2, 767))}, r"predictions must be finite numbers of shape \(J, 200\), got \(2, 767"),
        ({"predictions": np.zeros(200)}, r"predictions must be finite numbers of shape \(J, 200\), got \(200,\)"),
        ({"predictions": np.full((2, 200), np.nan)}, "predictions must be finite numbers of shape"),
        (
            {"predictions": np.zeros((2, 200)), "distances": np.zeros(3)},
            r"distances must be .* of shape \(J,\), got .*3",
        ),
        ({"numbers": {"nonsense": 3.0}}, "numbers must be one of .*, got 'nonsense'"),
    ],
)
def test_source_tasks_of_another_table_are_refused(given: Any, message: str) -> None:
    rejects(message, wrappers.CandidateObservation, gym.make("CharHPO-g2p-hun-lstm-v0"), 16, EVERY, **given)
