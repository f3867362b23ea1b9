"""The encoding of the character transduction space: points of the cube to configurations, and back."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables.datasets.charhpo import build as charhpo
from hpo_envs.tables.datasets.charhpo import names
from hpo_envs.tables.datasets.charhpo import space as encoding


def test_actions_map_onto_table_2() -> None:
    u = np.random.default_rng(0).uniform(size=(500, 16))
    u[0], u[1] = 0.0, 1.0
    for arch, architecture in enumerate(names.ARCHITECTURES):
        space = charhpo.space(architecture)
        got = encoding.configurations(np.full(500, arch), u)
        expected = np.column_stack([encoding.natural(h, u[:, j]) for j, h in enumerate(space)])
        assert np.allclose(got, charhpo.deactivate(space, expected), rtol=1e-12, atol=0)
        for j, h in enumerate(space):
            active = got[:, j] if h.condition is None else got[got[:, j] != 0, j]
            assert active.min() >= h.low
            assert active.max() <= h.high


@pytest.mark.parametrize("architecture", names.ARCHITECTURES)
def test_actions_of_configurations_are_inverse(architecture: str) -> None:
    space, arch = charhpo.space(architecture), [*names.ARCHITECTURES].index(architecture)
    raw = encoding.configurations(np.full(100, arch), np.random.default_rng(1).uniform(size=(100, 16)))
    for row in raw:
        config = {h.name: h.natural(v) for h, v in zip(space, row, strict=True)}
        action = encoding.action_of(space, config)
        assert ((action >= -1) & (action <= 1)).all()
        back = encoding.configurations(np.array([arch]), (action[None].astype(np.float64) + 1) / 2)[0]
        assert back == pytest.approx(row, rel=2e-6, abs=1e-7)


def test_what_is_missing_or_inactive_is_zero() -> None:
    space = charhpo.space("lstm")
    assert not encoding.action_of(space, {}).any()
    action = encoding.action_of(space, {"scheduler": "none", "factor": 7.0, "batch_size": 16})
    assert [h.name for h, a in zip(space, action, strict=True) if a] == ["batch_size", "scheduler"]
