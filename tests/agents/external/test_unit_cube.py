"""Optuna's distributions as a unit cube and back."""

from __future__ import annotations

import numpy as np
import pytest

optuna = pytest.importorskip("optuna", reason="extra optuna is not installed")
from hpo_envs.agents.external.unit_cube import Cube  # noqa: E402


def test_steps_ranges_and_choices_survive_the_cube() -> None:
    d = optuna.distributions
    space = [
        d.FloatDistribution(-2.0, 3.0),
        d.FloatDistribution(1e-5, 1.0, log=True),
        d.FloatDistribution(-1.0, 1.0, step=0.2),
        d.IntDistribution(0, 100, step=5),
        d.IntDistribution(1, 1000, log=True),
        d.IntDistribution(-5, 5),
        d.CategoricalDistribution((None, True, 1, "a", float("nan"))),
    ]
    cube, rng = Cube(space), np.random.default_rng(0)
    assert cube.size == 6 + 5
    for _ in range(200):
        point = cube.draw(rng)
        assert all(e._contains(v) for e, v in zip(space, point, strict=True))
        x = cube.encode(point)
        assert ((x >= 0) & (x <= 1)).all()
        assert cube.decode(x) == pytest.approx(point, rel=1e-12, abs=1e-12)
        assert all(e._contains(v) for e, v in zip(space, cube.decode(rng.random(cube.size)), strict=True))
    ends = cube.decode(np.zeros(11)), cube.decode(np.ones(11))
    assert ends[0][:6] == pytest.approx((-2.0, 1e-5, -1.0, 0, 1, -5))
    assert ends[1][:6] == pytest.approx((3.0, 1.0, 1.0, 100, 1000, 5))
