"""The surrogate in loops has the bits of NumPy's form."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables.datasets.charhpo import loops, model, space


@pytest.mark.parametrize("noise", [True, False])
def test_answers_have_the_bits_of_numpys_form(noise: bool) -> None:
    u = np.random.default_rng(0).random((96, 16))
    u[:4] = np.array([0.0, 1.0, 0.5, 1 / 3])[:, None]
    tasks = np.arange(96) % 24
    with np.errstate(over="ignore"):
        configs, metrics = loops.answers(tasks, u, noise)
    assert configs.tobytes() == space.configurations(tasks % 2, u).tobytes()
    assert metrics.tobytes() == model.load().evaluate(tasks, configs, noise).tobytes()
