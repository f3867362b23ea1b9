"""Actions in a box are clipped, as Gymnasium's own environments do it; what is no point of it is refused."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.core.boxes import clip
from hpo_envs.core.params import shown
from tests.helpers import IDS, raises, short

BOXES = [s for s in IDS if isinstance(gym.make(s).action_space, gym.spaces.Box)]


@pytest.mark.parametrize("action", [[0.0], [0.0, np.nan], "ab", None, [[0.0, 0.0]], [0, 10**400], ["0", "1"]])
def test_non_point_is_rejected(action: Any) -> None:
    with raises(f"action must be numbers of shape (2,), none of them NaN, got {shown(action)}"):
        clip(action, (2,), "action")


def test_numbers_beyond_bound_are_set_to_it() -> None:
    points, clipped = clip([[0.5, 1], [1.5, -0.25], [-np.inf, np.inf]], (3, 2), "actions")
    assert points.tolist() == [[0.5, 1.0], [1.0, -0.25], [-1.0, 1.0]]
    assert clipped.tolist() == [False, True, True]


@pytest.mark.parametrize("spec_id", BOXES)
def test_environments_is_reported(spec_id: str) -> None:
    make = {**short(spec_id)}
    env, envs = gym.make(spec_id, **make), gym.make_vec(spec_id, num_envs=2, **make)
    at = np.linspace(-1, 1, env.action_space.shape[0], dtype=np.float32)
    at[0], beyond = 1.0, at.copy()
    beyond[0] = 101.0
    env.reset(seed=3)
    inside = env.step(at)
    env.reset(seed=3), envs.reset(seed=[3, 3])
    outside, both = env.step(beyond), envs.step(np.stack([at, beyond]))
    assert inside[0].tolist() == outside[0].tolist()
    assert inside[1] == outside[1]
    assert (inside[4]["clipped"], outside[4]["clipped"]) == (False, True)
    assert both[4]["clipped"].tolist() == [False, True]
    assert both[0][0].tolist() == both[0][1].tolist()
