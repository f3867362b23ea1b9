"""The contract of every id: Gymnasium's checkers, bounds, seeds, errors, pickles."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from hpo_envs.registry import SPECS
from tests.helpers import finite, same, short


class Scalarise(gym.RewardWrapper[Any, Any], gym.utils.RecordConstructorArgs):
    """Mean of a vector reward, for checkers that know one objective."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)

    def reward(self, reward: Any) -> float:
        return float(np.mean(reward))


def scalar(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    return Scalarise(env) if hasattr(env.unwrapped, "reward_space") else env


def rollout(env: gym.Env[Any, Any], seed: int, steps: int = 10) -> list[Any]:
    """A trajectory with actions of the seeded action space."""
    env.action_space.seed(seed)
    trail: list[Any] = list(env.reset(seed=seed))
    for _ in range(steps):
        out = env.step(env.action_space.sample())
        trail.extend(out)
        if out[2]:
            trail.extend(env.reset())
    return trail


def test_gymnasium_checker_has_no_complaint(id_kind: tuple[str, str]) -> None:
    spec_id, kind = id_kind
    env = scalar(gym.make(spec_id, table=kind, disable_env_checker=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The checker wants the bare environment, and warns of any wrapper; scalarised ids need theirs.
        if not isinstance(env, Scalarise):
            env = env.unwrapped
        else:
            warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(env, skip_render_check=True)


def test_steps_stay_in_bounds_and_are_finite(id_kind: tuple[str, str]) -> None:
    spec_id, kind = id_kind
    env = gym.make(spec_id, table=kind, **short(spec_id))
    env.action_space.seed(4)
    observation, info = env.reset(seed=4)
    assert observation in env.observation_space
    assert info["kind"] == kind == env.unwrapped.table.provenance.kind
    assert info["sha256"] == env.unwrapped.table.provenance.sha256
    assert info["table"] == env.unwrapped.table.name
    for _ in range(20):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert observation in env.observation_space
        assert observation.dtype == np.float32
        assert isinstance(terminated, bool)
        assert truncated is False
        assert finite(reward)
        assert finite(info)
        assert info["cost"] >= 0
        assert isinstance(info["status"], str)
        if hasattr(env.unwrapped, "reward_space"):
            assert reward in env.unwrapped.reward_space
            assert reward.shape == (env.unwrapped.reward_dim,)
        else:
            assert type(reward) is float
        if terminated:
            env.reset()


def test_same_seed_same_trajectory(id_kind: tuple[str, str]) -> None:
    spec_id, kind = id_kind
    one, two = (gym.make(spec_id, table=kind, **short(spec_id)) for _ in range(2))
    for a, b in zip(rollout(one, 5), rollout(two, 5), strict=True):
        assert same(a, b)


def test_nothing_is_shared_between_steps(id_kind: tuple[str, str]) -> None:
    """Writing into what a step returned changes no later step."""
    spec_id, kind = id_kind
    clean, dirty = (gym.make(spec_id, table=kind, **short(spec_id)) for _ in range(2))
    clean.action_space.seed(6)
    a, b = clean.reset(seed=6), dirty.reset(seed=6)
    for _ in range(12):
        action = clean.action_space.sample()
        b[0][:] = -1
        for value in b[-1].values():
            if isinstance(value, dict):
                value.clear()
            elif isinstance(value, np.ndarray) and value.ndim:
                value[:] = 0
        b[-1].clear()
        if len(a) == 5 and a[2]:
            a, b = clean.reset(), dirty.reset()
            continue
        a, b = clean.step(action), dirty.step(action)
        for x, y in zip(a, b, strict=True):
            assert same(x, y)


def test_pickle_and_json_round_trip(id_kind: tuple[str, str]) -> None:
    spec_id, kind = id_kind
    env = gym.make(spec_id, table=kind, **short(spec_id))
    again = pickle.loads(pickle.dumps(env.unwrapped))
    spec = gym.envs.registration.EnvSpec.from_json(env.spec.to_json())
    assert json.loads(env.spec.to_json())["id"] == spec_id
    for a, b, c in zip(rollout(env.unwrapped, 8), rollout(again, 8), rollout(gym.make(spec).unwrapped, 8), strict=True):
        assert same(a, b)
        assert same(a, c)


_SCRIPT = """
import hashlib, sys, warnings
import gymnasium as gym, numpy as np, hpo_envs
from hpo_envs.registry import SPECS
sys.path.insert(0, sys.argv[1])
from tests.helpers import short
digest = hashlib.sha256()
def feed(v):
    if isinstance(v, dict):
        for k in sorted(v): digest.update(k.encode()); feed(v[k])
    else:
        a = np.asarray(v); digest.update(str(a.tolist()).encode())
for i in SPECS:
    env = gym.make(i, table="surrogate", **short(i))
    env.action_space.seed(3)
    for v in env.reset(seed=3): feed(v)
    for _ in range(6):
        out = env.step(env.action_space.sample())
        for v in out: feed(v)
        if out[2]: env.reset()
print(digest.hexdigest())
"""


def test_same_seed_same_trajectory_in_another_process(request: pytest.FixtureRequest) -> None:
    digests = set()
    for hash_seed in ("0", "4711"):
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT, str(request.config.rootpath / "tests")],
            env={**__import__("os").environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout.strip())
    assert len(digests) == 1


def test_max_episode_steps_truncates(id_kind: tuple[str, str]) -> None:
    spec_id, kind = id_kind
    env = gym.make(spec_id, table=kind, max_episode_steps=2)
    env.action_space.seed(0)
    env.reset(seed=0)
    _, _, terminated, truncated, _ = env.step(env.action_space.sample())
    if not terminated:
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
    assert truncated or terminated


def test_module_prefix_and_plain_id() -> None:
    assert gym.make("hpo_envs:NMTHPO-swen-v0", table="surrogate").spec.id == "NMTHPO-swen-v0"
    assert gym.make("NMTHPO-swen-v0", table="surrogate").action_space.n == 767


@pytest.mark.parametrize("spec_id", list(SPECS))
def test_step_before_reset_and_after_the_end(spec_id: str) -> None:
    env = gym.make(spec_id, table="surrogate", **short(spec_id)).unwrapped
    env.action_space.seed(0)
    with pytest.raises(gym.error.ResetNeeded, match="must follow reset"):
        env.step(env.action_space.sample())
    env.reset(seed=0)
    terminated = False
    while not terminated:
        terminated = env.step(env.action_space.sample())[2]
    with pytest.raises(gym.error.ResetNeeded, match="must follow reset"):
        env.step(env.action_space.sample())


@pytest.mark.parametrize("spec_id", list(SPECS))
@pytest.mark.parametrize("action", ["x", None, 1.5, -1, 10**9, np.array([1.0, 2.0]), [[0]], {}, float("nan")])
def test_actions_outside_the_space_name_rule_and_value(spec_id: str, action: Any) -> None:
    env = gym.make(spec_id, table="surrogate", disable_env_checker=True).unwrapped
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"^actions? must be .*, got "):
        env.step(action)
    # The refusal cost nothing: the episode goes on.
    env.action_space.seed(0)
    env.step(env.action_space.sample())


@pytest.mark.parametrize("spec_id", list(SPECS))
@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"budget": 0}, "budget must be .*, got 0"),
        ({"budget": -3}, "budget must be .*, got -3"),
        ({"budget": float("nan")}, "budget must be .*, got nan"),
        ({"budget": "20"}, "budget must be .*, got '20'"),
        ({"table": "mesured"}, "table must be one of .*, got 'mesured', did you mean 'measured'"),
        ({"table": 3}, "table must be .*, got 3"),
    ],
)
def test_bad_arguments_name_rule_and_value(spec_id: str, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gym.make(spec_id, **{"table": "surrogate", **kwargs})
    with pytest.raises(ValueError, match=message):
        gym.make_vec(spec_id, num_envs=2, **{"table": "surrogate", **kwargs})


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(ValueError, match="objective must be one of .*, got 'blue', did you mean 'bleu'"):
        gym.make("NMTHPO-swen-v0", table="surrogate", objective="blue")
    with pytest.raises(ValueError, match="cost must be one of evaluations, .*, got 'update', did you mean 'updates'"):
        gym.make("NMTHPO-swen-v0", table="surrogate", cost="update")
    with pytest.raises(ValueError, match="cost must be evaluations or a metric to be kept low, got 'bleu'"):
        gym.make("NMTHPO-swen-v0", table="surrogate", cost="bleu")
    with pytest.raises(gym.error.NameNotFound, match="NMTHPO-swen"):
        gym.make("NMTHPO-swenn-v0")
    with pytest.raises(ValueError, match="table must be one of .*, got 'nmthpo/sven'"):
        gym.make("NMTHPO-swen-v0", pair="sven", table="surrogate")
    with pytest.raises(ValueError, match=r"options\['table'\] must be one of .*, got 'jaenn', did you mean 'jaen'"):
        gym.make("NMTHPO-v0", table="surrogate").reset(options={"table": "jaenn"})
