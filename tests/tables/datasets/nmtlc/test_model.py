"""Curves as parameters."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables.datasets.nmtlc import model as curve_model


def test_curve_parameters_round_trip() -> None:
    loss = np.concatenate([np.linspace(5.0, 2.0, 21), np.linspace(2.1, 3.0, 16)])
    p = curve_model.describe(loss[:, None])
    (curve,), ended = curve_model.expand(p[None], np.zeros((1, 9)), 100, 16, "test")
    assert ended.tolist() == [True]
    assert len(curve) == len(loss)
    assert np.argmin(curve[:, 0]) == 20
    assert np.abs(curve[:, 0] - loss).max() < 0.35
    assert np.allclose(np.exp(curve[:, 0]), curve[:, 1])
    noise = np.array([[0.5, *[0.3] * 8]])
    rough = curve_model.expand(p[None], noise, 100, 16, "test")[0][0]
    again = curve_model.expand(p[None], noise, 100, 16, "test")[0][0]
    assert np.array_equal(rough, again)
    knots = [0, 2, 5, 10, 15, 20, 24, 28, 36]
    np.testing.assert_allclose(rough[knots, 0], curve[knots, 0], atol=1e-5, err_msg="the parameters say what is there")
    assert not np.allclose(rough, curve)
    assert rough[:, 0].min() == rough[20, 0] == curve[20, 0]


def test_roughness_is_restored_where_it_was() -> None:
    rng = np.random.default_rng(0)
    time = np.arange(60)
    curves = []
    for _ in range(40):
        log_height = 1.0 - 0.08 * time[:41] + np.where(time[:41] < 20, 0.4, 0.05) * rng.normal(size=41)
        down = 2.0 + np.exp(log_height)
        curves.append(np.concatenate([down[:-1], [2.0], np.linspace(2.1, 2.5, 19)])[:, None])
    rough = curve_model.roughness(curves)
    assert rough.shape == (1, 9)
    parameters = np.array([curve_model.describe(c) for c in curves])
    again = curve_model.roughness(curve_model.expand(parameters, rough, 60, 19, "test")[0])
    assert rough[0, 3] > 3 * rough[0, 4]
    np.testing.assert_allclose(again[0, 1:5], rough[0, 1:5], rtol=0.3)


def test_draws_are_these_numbers() -> None:
    """The shipped curves depend on them."""
    drawn = [x.hex() for x in curve_model._normals("test", 3)]
    assert drawn == ["0x1.b76f3a329f1fdp+0", "-0x1.5b41145489ca7p+0", "0x1.3341cf24362e7p+0"]
