"""Rewards are what they say, and what training knows stays hidden from the policy."""

import dataclasses
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import hpo_envs.wrappers as scalar
from hpo_envs.tables import store
from hpo_envs.testing.rules import same


def rollout(env: Any, rows: list[int]) -> tuple[list[float], list[float]]:
    env.reset(seed=0)
    out = [env.step(row) for row in rows]
    return [o[1] for o in out], [o[4]["metrics"]["bleu"] for o in out]


def test_rewards_are_what_they_say() -> None:
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


def seen_by_a_policy(env: Any, rows: list[int]) -> list[Any]:
    """All that a policy can look at: observations, infos and masks; the table's name and hash are its identity."""
    seen: list[Any] = []
    observation, info = env.reset(seed=0)
    out = [(observation, info), *((o, i) for o, _, _, _, i in (env.step(row) for row in rows))]
    for observation, info in out:
        seen.append(observation)
        seen.append({k: v for k, v in info.items() if k.removesuffix("_code") not in ("table", "kind", "sha256")})
    seen.append(env.unwrapped.action_masks())
    return seen


def test_policy_cannot_see_what_regret_reward_knows() -> None:
    """The optimum, moved among the rows that were never evaluated, changes the training reward and nothing else."""
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
