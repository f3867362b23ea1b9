"""Spaces and functions as plain data."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents.encoding import decode_function, decode_space, encode_function, encode_space

SPACES = [
    gym.spaces.Discrete(5, start=2),
    gym.spaces.MultiDiscrete([3, 4]),
    gym.spaces.MultiDiscrete([3, 4], dtype=np.int32),
    gym.spaces.Box(-1.0, 1.0, (2, 3)),
    gym.spaces.Box(np.array([0.1, -np.inf]), np.array([0.2, np.inf]), dtype=np.float64),
    gym.spaces.Tuple([gym.spaces.Discrete(2), gym.spaces.Box(0, 9, (1,), np.int64)]),
    gym.spaces.Dict({"b": gym.spaces.Discrete(2), "a": gym.spaces.Dict({"c": gym.spaces.Discrete(3)})}),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_spaces_survive_json(space: gym.Space[Any]) -> None:
    back = decode_space(json.loads(json.dumps(encode_space(space))))
    assert back == space
    assert back.dtype == space.dtype


def test_other_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="kind must be Discrete, .*, got 'Graph'"):
        decode_space({"kind": "Graph"})


def test_functions_are_named() -> None:
    assert encode_function(encode_space) == "hpo_envs.agents.encoding:encode_space"
    assert decode_function("hpo_envs.agents.encoding:encode_space") is encode_space
    with pytest.raises(ValueError, match="one of the packages hpo_envs, got 'os:system'"):
        decode_function("os:system")
    with pytest.raises(ValueError, match="mutate must name a function, got 'hpo_envs.agents.encoding:TRUSTED'"):
        decode_function("hpo_envs.agents.encoding:TRUSTED")
