"""The acquisition network is the documented function."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.agents.transfer import acquisition_net
from hpo_envs.agents.transfer.acquisition_net import INPUTS, SIZE


def test_log_ranks() -> None:
    free = np.array([[True, True, False, True]])
    ranks = acquisition_net.log_ranks(np.array([[0.1, 5.0, 9.0, 2.0]]), free)
    assert ranks[0] == pytest.approx(np.log([3, 1, 4, 2]) / np.log(5))


def test_the_network_is_the_documented_function() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(4, 5, len(INPUTS))), rng.normal(size=(2, SIZE))
    got = acquisition_net.score(x, w)
    d, k = len(INPUTS), acquisition_net.HIDDEN
    for episode in range(4):
        own = w[episode // 2]
        first, rest = own[: d * k].reshape(d, k), own[d * k :]
        hidden = np.maximum(x[episode] @ first + rest[:k], 0.0)
        assert np.allclose(got[episode], hidden @ rest[k : 2 * k] + x[episode] @ rest[2 * k :])
