"""How probable kernels are: slopes, and problems side by side."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.agents.models import kernels
from hpo_envs.agents.models.kernel_fit import Prior
from hpo_envs.agents.models.kernel_fit.posterior import Posteriors
from tests.agents.helpers import RNG


@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_gradient_of_the_kernel_estimate(kernel: str) -> None:
    rng = RNG(4)
    x, y = rng.random((2, 25, 3)), rng.normal(size=(2, 25))
    f = Posteriors(kernel, x, y, Prior())
    at = np.log([[0.4, 1.3, 0.8, 0.05], [1.1, 0.2, 0.5, 0.3]])
    steps = 1e-5 * np.eye(4)
    numeric = [(f.at(at + e, [0, 1])[0] - f.at(at - e, [0, 1])[0]) / 2e-5 for e in steps]
    np.testing.assert_allclose(f.at(at, [0, 1])[1], np.transpose(numeric), rtol=1e-5, atol=1e-6)
    for k in (0, 1):
        assert [v.tobytes() for v in f.at(at[[k]], [k])] == [v[[k]].tobytes() for v in f.at(at, [0, 1])]
