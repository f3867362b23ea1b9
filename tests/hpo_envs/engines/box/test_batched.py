"""The batched form of an environment on a box equals the scalar one, on a function computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs.engines.box.batched import BoxVectorEnv
from hpo_envs.engines.box.scalar import BoxEnv
from hpo_envs.testing.rules import same
from tests.hpo_envs.engines.box.toy import params


@pytest.mark.parametrize("kwargs", [{}, {"objective": ("loss", "height"), "cost": "s", "budget": 30.0}])
def test_it_is_the_scalar_form_side_by_side(kwargs: dict[str, Any]) -> None:
    envs = BoxVectorEnv(4, params(**kwargs))
    singles = [BoxEnv(params(**kwargs)) for _ in range(4)]
    first, info = envs.reset(seed=5)
    for i, env in enumerate(singles):
        one, one_info = env.reset(seed=5 + i)
        assert first[i].tolist() == one.tolist()
        assert same({k: v[i] for k, v in info.items() if not k.startswith("_")}, one_info)
    assert len(set(info["table"])) == 2
    envs.action_space.seed(0)
    for _ in range(2):
        actions = envs.action_space.sample()
        observations, rewards, terminated, _, info = envs.step(actions)
        for i, env in enumerate(singles):
            observation, reward, done, _, one_info = env.step(actions[i])
            assert observations[i].tolist() == observation.tolist()
            assert np.array_equal(rewards[i], reward)
            assert terminated[i] == done
            assert info["cost"][i] == one_info["cost"]
            for part in ("metrics", "held_out", "config"):
                assert {k: v[i] for k, v in info[part].items()} == one_info[part]


def test_observations_are_reused_unless_copied() -> None:
    for copy in (True, False):
        envs = BoxVectorEnv(2, params(), copy=copy)
        first, _ = envs.reset(seed=0)
        second = envs.step(np.zeros((2, 2)))[0]
        assert (first is second) == (not copy)


def test_actions_outside_the_box_are_refused() -> None:
    envs = BoxVectorEnv(2, params())
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"actions must be numbers of shape \(2, 2\), none of them NaN"):
        envs.step(np.full((2, 2), np.nan))
    assert envs.action_of({"x": 5}) == pytest.approx([0.0, 0.5])
