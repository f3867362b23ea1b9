"""Every wrapper in both forms: Gymnasium's checks, equal results, rewards, and actions mapped to rows."""

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import hpo_envs.wrappers as scalar
import hpo_envs.wrappers.vector as vector
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.tables import store
from hpo_envs.tables.table import STATUSES
from hpo_envs.testing.rules import same
from tests.helpers import rejects, started
from tests.hpo_envs.core.engines.lookup.model import SOURCE, tiny

Wrap = Callable[[Any], Any]
BOTH: dict[str, tuple[Wrap, Wrap]] = {
    "improvement": (scalar.ImprovementReward, vector.ImprovementReward),
    "improvement-baseline": (
        lambda e: scalar.ImprovementReward(e, baseline=5.0),
        lambda e: vector.ImprovementReward(e, baseline=5.0),
    ),
    "normalised": (scalar.NormalisedReward, vector.NormalisedReward),
    "regret": (scalar.RegretReward, vector.RegretReward),
    "cost-aware": (lambda e: scalar.CostAwareReward(e, 0.25), lambda e: vector.CostAwareReward(e, 0.25)),
    "history": (lambda e: scalar.HistoryObservation(e, 3), lambda e: vector.HistoryObservation(e, 3)),
    "continuous": (scalar.ContinuousAction, vector.ContinuousAction),
    "hyperparameters": (scalar.HyperparameterAction, vector.HyperparameterAction),
    "stack": (
        lambda e: scalar.ImprovementReward(scalar.HistoryObservation(scalar.HyperparameterAction(e), 2)),
        lambda e: vector.ImprovementReward(vector.HistoryObservation(vector.HyperparameterAction(e), 2)),
    ),
}

ROWS_ONLY = {"continuous", "hyperparameters", "stack"}
STAGES = ["NMTHPO-zhen-v0", "NMTHPO-v0"]
CASES = [(name, spec) for name in BOTH for spec in STAGES if spec != "NMTHPO-v0" or name not in ROWS_ONLY]


@pytest.mark.parametrize(("name", "spec_id"), CASES)
def test_gymnasium_checker_accepts_wrapped_environment(name: str, spec_id: str) -> None:
    env = BOTH[name][0](gym.make(spec_id, budget=5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(env, skip_render_check=True)


def test_wrappers_reject_what_they_cannot_wrap() -> None:
    mo = gym.make("NMTHPO-zhen-mo-v0")
    rejects("one objective", scalar.NormalisedReward, mo)
    rejects("one objective", started(scalar.ImprovementReward(mo)).step, 0)
    both = vector.CostAwareReward(gym.make_vec("NMTHPO-zhen-mo-v0", num_envs=2), 1.0)
    rejects("one objective", started(both).step, [0, 1])
    grid = gym.make("NMTHPO-v0")
    rejects("a row per action", scalar.ContinuousAction, grid)
    one = LookupParams.of((), table=tiny(name="toy/wrapped"), objective="score")
    two = dataclasses.replace(one, tables=(one.table, one.table.subset(range(5, -1, -1))))
    rejects("tables must have the same configurations", scalar.ContinuousAction, LookupEnv(two))
    rejects("fewer than 2.63 combinations", scalar.FlattenAction, gym.make("FIESTA-tdsa8-v0", batch_size=30))
    live = gym.make("FunctionHPO-v0", function=float, space={"x": (0.0, 1.0)})
    rejects("look up one objective in tables", scalar.NormalisedReward, live)
    rejects("length must be an int >= 1, got 0", scalar.HistoryObservation, grid, 0)
    for price in (-1, "1", np.nan):
        rejects(f"price must be a finite number >= 0, got {price!r}", scalar.CostAwareReward, grid, price)
    for baseline in (True, "0.5", np.nan):
        rejects(f"baseline must be None or a finite number, got {baseline!r}", scalar.ImprovementReward, grid, baseline)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize(("name", "spec_id"), CASES)
def test_batched_equals_scalar(name: str, spec_id: str, mode: AutoresetMode) -> None:
    one, many = BOTH[name]
    kwargs = {"budget": 4}
    envs = many(gym.make_vec(spec_id, num_envs=3, autoreset_mode=mode, **kwargs))
    singles = [one(gym.make(spec_id, **kwargs)) for _ in range(3)]
    envs.action_space.seed(0)
    observation, _ = envs.reset(seed=5)
    for i, env in enumerate(singles):
        assert same(env.reset(seed=5 + i)[0], observation[i])
        assert (env.observation_space, env.action_space) == (envs.single_observation_space, envs.single_action_space)
    ended = [False] * 3
    for _ in range(18):
        actions = envs.action_space.sample()
        observation, reward, terminated, _, info = envs.step(actions)
        assert observation in envs.observation_space
        for i, env in enumerate(singles):
            if ended[i]:
                one_obs, one_reward, one_end = env.reset()[0], 0.0, False
            else:
                one_obs, one_reward, one_end, _, _ = env.step(actions[i])
            assert (one_reward, one_end) == (reward[i], terminated[i])
            if one_end and mode is AutoresetMode.SAME_STEP:
                assert same(one_obs, info["final_obs"][i])
                one_obs = env.reset()[0]
            assert same(one_obs, observation[i])
            ended[i] = one_end and mode is AutoresetMode.NEXT_STEP


def test_history_is_last_observations_newest_last() -> None:
    bare = gym.make("NMTHPO-zhen-v0", budget=9)
    env = scalar.HistoryObservation(gym.make("NMTHPO-zhen-v0", budget=9), 3)
    past = [bare.reset(seed=0)[0]]
    seen = env.reset(seed=0)[0]
    assert seen.shape == (3, *past[0].shape)
    assert not seen[:2].any()
    for row in (4, 8, 15, 16):
        past.append(bare.step(row)[0])
        seen = env.step(row)[0]
    assert np.array_equal(seen, past[-3:])
    assert not env.reset(seed=0)[0][:2].any()


def rollout(env: Any, rows: list[int]) -> tuple[list[float], list[float]]:
    env.reset(seed=0)
    out = [env.step(row) for row in rows]
    return [o[1] for o in out], [o[4]["metrics"]["bleu"] for o in out]


def test_rewards_of_wrappers_equal_their_definitions() -> None:
    make = lambda: gym.make("NMTHPO-zhen-v0", budget=10)  # noqa: E731
    rows = [3, 50, 7, 99, 20, 20]
    bleu = rollout(make(), rows)[1]
    best = np.maximum.accumulate(bleu)
    gains, _ = rollout(scalar.ImprovementReward(make()), rows)
    assert np.allclose(gains, np.r_[0.0, np.diff(best)])
    gains, _ = rollout(scalar.ImprovementReward(make(), baseline=0.0), rows)
    assert sum(gains) == pytest.approx(best[-1])
    final = store.load("nmthpo/zhen").final("bleu")
    regret, _ = rollout(scalar.RegretReward(make()), rows)
    assert np.allclose(regret, best - final.max())
    normalised, _ = rollout(scalar.NormalisedReward(make()), rows)
    assert np.allclose(normalised, (np.array(bleu) - final.min()) / (final.max() - final.min()))
    priced, _ = rollout(scalar.CostAwareReward(make(), price=0.5), rows)
    assert np.allclose(priced, np.array(bleu) - 0.5)


def test_scales_are_those_of_drawn_table() -> None:
    env = scalar.NormalisedReward(gym.make("NMTHPO-v0", budget=400))
    for name in ("zhen", "jaen"):
        env.reset(seed=0, options={"table": name})
        final = env.unwrapped.table.final("bleu")
        best = np.unravel_index(final.argmax(), (3, 2, 3, 2, 2, 3))
        assert env.step(np.array(best))[1] == 1.0


def test_scale_begins_at_worst_value_of_diverged_run() -> None:
    table = tiny(repeats=1)
    values, status = table.values[:5].copy(), np.zeros((5, 1), np.uint8)
    values[0, 0, 1], status[0, 0] = np.nan, STATUSES.index("diverged")
    table = dataclasses.replace(table.subset(range(5)), values=values, status=status, provenance=SOURCE)
    env = scalar.NormalisedReward(LookupEnv(LookupParams.of((), table=table, objective="score")))
    env.reset(seed=0)
    assert env.step(0)[1] == 0.0


def seen_by_a_policy(env: Any, rows: list[int]) -> list[Any]:
    """All inputs of a policy: observations, infos and masks, without the table's name and hash."""
    seen: list[Any] = []
    observation, info = env.reset(seed=0)
    out = [(observation, info), *((o, i) for o, _, _, _, i in (env.step(row) for row in rows))]
    for observation, info in out:
        seen.append(observation)
        seen.append({k: v for k, v in info.items() if k.removesuffix("_code") not in ("table", "kind", "sha256")})
    seen.append(env.unwrapped.action_masks())
    return seen


def test_policy_cannot_see_what_regret_reward_knows() -> None:
    """Moving the optimum among rows that were not evaluated changes the training reward and nothing else."""
    rows = [3, 50, 7, 99]
    table = store.load("nmthpo/zhen")
    values = table.values.copy()
    hidden = next(i for i in range(len(table)) if i not in rows)
    values[hidden, 0, 0, 0] = 77.0
    changed = dataclasses.replace(table, values=values, provenance=dataclasses.replace(table.provenance, sha256=""))
    views, regrets = [], []
    for t in (table, changed):
        for wrap in (scalar.RegretReward, scalar.NormalisedReward, lambda e: e):
            env = wrap(gym.make("NMTHPO-zhen-v0", table=t))
            views.append(seen_by_a_policy(env, rows))
        regrets.append(rollout(scalar.RegretReward(gym.make("NMTHPO-zhen-v0", table=t)), rows)[0])
    assert regrets[0] != regrets[1]
    for view in views[1:]:
        assert all(same(a, b) for a, b in zip(views[0], view, strict=True))


@pytest.mark.parametrize("wrapper", [scalar.HyperparameterAction, scalar.ContinuousAction])
def test_actions_of_wrappers_meet_every_row_exactly(wrapper: Any) -> None:
    env = started(wrapper(gym.make("NMTHPO-zhen-v0", budget=None)))
    table = env.unwrapped.table
    grid = np.stack([np.unique(column, return_inverse=True)[1] for column in table.configs.T], axis=1)
    actions = grid if wrapper is scalar.HyperparameterAction else (2 * table.features - 1).astype(np.float32)
    for row in range(0, len(table), 5):
        _, _, _, _, info = env.step(actions[row])
        assert tuple(info["config"].values()) == tuple(table.configs[row])


def test_invalid_actions_of_wrappers_are_rejected_and_those_beyond_bound_set_to_it() -> None:
    env = started(scalar.ContinuousAction(gym.make("NMTHPO-zhen-v0")))
    envs = started(vector.ContinuousAction(gym.make_vec("NMTHPO-zhen-v0", num_envs=1)))
    for action in (np.zeros(5), "x", np.full(6, np.nan)):
        for step, each in ((env.step, action), (envs.step, np.asarray(action)[None])):
            rejects(r"actions must be numbers of shape \(1, 6\)", step, each)
    inside, outside = env.step(np.full(6, 1.0)), env.step(np.full(6, 2.0))
    assert (inside[4]["config"], inside[4]["clipped"], outside[4]["clipped"]) == (outside[4]["config"], False, True)
    assert [envs.step(np.full((1, 6), x))[4]["clipped"].tolist() for x in (1.0, -3.0)] == [[False], [True]]


@pytest.mark.parametrize("spec_id", ["NMTLC-ft-zhen-v0", "NASBenchNLP-cell-v0", "NMTHPO-v0"])
def test_flat_actions_are_those_of_several_parts(spec_id: str) -> None:
    env, flat = gym.make(spec_id), scalar.FlattenAction(gym.make(spec_id))
    many = vector.FlattenAction(gym.make_vec(spec_id, num_envs=2))
    sizes = env.action_space.nvec
    assert flat.action_space.n == many.single_action_space.n == np.prod(sizes)
    flat.action_space.seed(0)
    env.reset(seed=0), many.reset(seed=0)
    _, info = flat.reset(seed=0)
    for _ in range(4):
        action = int(flat.action_space.sample(info.get("action_mask")))
        parts = np.unravel_index(action, sizes)
        theirs, ours, batch = env.step(np.array(parts)), flat.step(action), many.step(np.full(2, action))
        info = ours[4]
        assert theirs[0].tolist() == ours[0].tolist() == batch[0][0].tolist()
        assert theirs[1] == ours[1] == batch[1][0]
        if "action_mask" not in info:
            assert not hasattr(many, "action_masks")
            rejects("action_masks", flat.get_wrapper_attr, "action_masks", error=AttributeError)
            continue
        mask, starts = theirs[4]["action_mask"], np.cumsum(sizes) - sizes
        useful = [all(mask[starts + np.unravel_index(k, sizes)]) for k in (0, action)]
        assert info["action_mask"][[0, action]].tolist() == batch[4]["action_mask"][0, [0, action]].tolist() == useful
        assert np.array_equal(flat.get_wrapper_attr("action_masks")(), info["action_mask"])


def test_masks_of_rows_are_none_of_points() -> None:
    env = scalar.ContinuousAction(gym.make("NMTHPO-zhen-v0"))
    envs = vector.HyperparameterAction(gym.make_vec("NMTHPO-zhen-v0", num_envs=2))
    assert "action_mask" not in env.reset(seed=0)[1]
    assert "action_mask" not in envs.reset(seed=0)[1]
    assert not hasattr(envs, "action_masks")
    rejects("no useful mask", env.get_wrapper_attr, "action_masks", error=AttributeError)
    rejects("env must have actions of several parts", scalar.FlattenAction, gym.make("NMTHPO-zhen-v0"))
