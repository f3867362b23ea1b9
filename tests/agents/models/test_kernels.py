"""Kernels by hand."""

import math

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents.candidates import Candidates
from hpo_envs.agents.models import kernels
from hpo_envs.agents.problem import Problem


def test_kernels_by_hand() -> None:
    x = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    assert kernels.square_distances(x, x[:2]).tolist() == [[0, 25], [25, 0], [0, 25]]
    z = math.sqrt(5.0) * 2.5
    matern = (1 + z + z * z / 3) * math.exp(-z)
    assert kernels.gram("matern52", x, 2.0)[0].tolist() == pytest.approx([1.0, matern, 1.0], rel=1e-14)
    assert kernels.gram("rbf", x, 2.0)[0].tolist() == pytest.approx([1.0, math.exp(-0.5 * 6.25), 1.0], rel=1e-14)
    for kernel in kernels.KERNELS:
        whole = kernels.gram(kernel, x, 2.0)
        assert whole is kernels.gram(kernel, x.copy(), 2)
        assert not whole.flags.writeable
        for k in range(3):
            assert kernels.gram_row(kernel, x, 2.0, k).tolist() == whole[k].tolist()


def test_candidates_of_share_gather_kernel_of_their_base() -> None:
    base = np.random.default_rng(0).random((40, 3))
    index = np.random.default_rng(1).permutation(40)[:17]
    share = Candidates(Problem(gym.spaces.Discrete(17), base=base, index=index))
    kernels._gram.cache_clear()
    for kernel in kernels.KERNELS:
        expected = kernels.gram(kernel, base[index], 0.7)
        assert np.array_equal(share.gram(kernel, 0.7), expected), "bit for bit"
        assert np.array_equal([share.gram_rows(kernel, 0.7)(k) for k in range(17)], expected)
    kernels._gram.cache_clear()
    for seed in range(20):
        index = np.random.default_rng(seed).permutation(40)[:17]
        Candidates(Problem(gym.spaces.Discrete(17), base=base, index=index)).gram("rbf", 1.0)
    assert kernels._gram.cache_info().misses == 1, "computed once for all seeds"
