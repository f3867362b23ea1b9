"""One configuration in Python's numbers."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables.datasets.charhpo import model, one, space


@pytest.mark.parametrize("arch", [0, 1])
@pytest.mark.parametrize("noise", [True, False])
def test_one_configuration_has_the_bits_of_the_batch(arch: int, noise: bool) -> None:
    u = np.random.default_rng(arch).random((300, 16))
    u[:4] = np.array([0.0, 1.0, 0.5, 1 / 3])[:, None]
    tasks = 2 * (np.arange(300) % 12) + arch
    configs = space.configurations(tasks % 2, u)
    x, surrogate = model.inputs(arch, tasks, configs), model.load()
    first, second = model.normals(tasks, x)
    answers, single = surrogate.evaluate(tasks, configs, noise), one.One(surrogate)
    for i, task in enumerate(tasks.tolist()):
        config = one.configuration(arch, u[i].tolist())
        assert config == configs[i].tolist()
        assert one.inputs(arch, task, config) == x[i].tolist()
        assert one.normals(task, x[i].tolist()) == (first[i], second[i])
        assert single.evaluate(task, config, noise) == tuple(answers[i])
