"""Curves as parameters."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables.datasets.nmtlc import model as curve_model


def test_curve_parameters_round_trip() -> None:
    loss = np.concatenate([np.linspace(5.0, 2.0, 21), np.linspace(2.1, 3.0, 16)])
    p = curve_model.describe(loss[:, None])
    (curve,), ended = curve_model.expand(p[None], np.zeros((1, 2)), 100, 16, "test")
    assert ended.tolist() == [True]
    assert len(curve) == len(loss)
    assert np.argmin(curve[:, 0]) == 20
    assert np.abs(curve[:, 0] - loss).max() < 0.35
    assert np.allclose(np.exp(curve[:, 0]), curve[:, 1])
    rough = curve_model.expand(p[None], np.array([[0.3, 0.5]]), 100, 16, "test")[0][0]
    again = curve_model.expand(p[None], np.array([[0.3, 0.5]]), 100, 16, "test")[0][0]
    assert np.array_equal(rough, again)
    assert not np.allclose(rough, curve)
    assert rough[:, 0].min() == rough[20, 0] == curve[20, 0]


def test_draws_are_these_numbers() -> None:
    """The shipped curves depend on them."""
    drawn = [x.hex() for x in curve_model._normals("test", 3)]
    assert drawn == ["0x1.b76f3a329f1fdp+0", "-0x1.5b41145489ca7p+0", "0x1.3341cf24362e7p+0"]
