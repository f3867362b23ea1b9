"""The contract of every id: Gymnasium's checkers, bounds, seeds, errors, pickles."""

import gymnasium as gym
import pytest

from hpo_envs.families.registry import SPECS
from hpo_envs.testing import ENV_RULES, check_env
from hpo_envs.testing.batches import BATCH_RULES
from tests.helpers import here_and_elsewhere

COVERS = tuple(sorted({s.entry_point.partition(":")[0] for s in SPECS.values()}))
"""Modules that every test here goes through."""


@pytest.mark.parametrize("rule", [rule for rule in ENV_RULES if rule not in BATCH_RULES])
def test_every_id_keeps(rule: str, env_id: str) -> None:
    check_env(env_id, rules=[rule])


_SCRIPT = """
import hashlib, sys, warnings
import gymnasium as gym, numpy as np, hpo_envs
sys.path.insert(0, sys.argv[1])
from tests.helpers import IDS, short
digest = hashlib.sha256()
def feed(v):
    if isinstance(v, dict):
        for k in sorted(v): digest.update(k.encode()); feed(v[k])
    else:
        a = np.asarray(v); digest.update(str(a.tolist()).encode())
for i in IDS:
    env = gym.make(i, **short(i))
    env.action_space.seed(3)
    for v in env.reset(seed=3): feed(v)
    for _ in range(6):
        out = env.step(env.action_space.sample())
        for v in out: feed(v)
        if out[2]: env.reset()
print(digest.hexdigest())
"""


def test_same_seed_same_trajectory_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = here_and_elsewhere(_SCRIPT, monkeypatch)
    assert len(ours) == 64
    assert ours == theirs


def test_module_prefix_and_plain_id() -> None:
    assert gym.make("hpo_envs:NMTHPO-swen-v0").spec.id == "NMTHPO-swen-v0"
    assert gym.make("NMTHPO-swen-v0").action_space.n == 767


def test_unknown_names_suggest_nearest() -> None:
    with pytest.raises(gym.error.NameNotFound, match="NMTHPO-swen"):
        gym.make("NMTHPO-swenn-v0")
    with pytest.raises(ValueError, match="pair must be one of .*, got 'sven', did you mean 'swen'"):
        gym.make("NMTHPO-swen-v0", pair="sven")
