"""Regressions say how well they predict rows that they did not see."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables.fitting import out_of_fold as sur
from hpo_envs.tables.fitting import regression


def waves(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 2))
    return x, np.sin(5 * x[:, 0]) + x[:, 1] + 0.05 * rng.normal(size=n)


FITS = {
    "gaussian_process": regression.gaussian_process,
    "extra_trees": lambda x, y: regression.extra_trees(x, y, 50),
    "boosted_trees": regression.boosted_trees,
    "stacked": regression.stacked(regression.gaussian_process, lambda x, y: regression.extra_trees(x, y, 50)),
    "least_squares": regression.least_squares,
}


@pytest.mark.parametrize("name", FITS)
def test_regression_predicts_new_rows_as_well_as_it_says(name):
    """The error of `held_out` must tell the error on new rows, not the (smaller) one on training rows."""
    x, y = waves(80)
    new_x, new_y = waves(300, seed=1)
    fitted = FITS[name](x, y)
    said, true = np.sqrt(((fitted.held_out - y) ** 2).mean()), np.sqrt(((fitted.predict(new_x) - new_y) ** 2).mean())
    assert 0.6 < said / true < 1.7
    if name != "least_squares":  # a straight line cannot
        assert true < 0.6 * new_y.std()


def test_leave_one_out_of_least_squares_is_refitting():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    held_out = regression.least_squares(x, y).held_out
    for i in range(12):
        rest = np.arange(12) != i
        assert held_out[i] == pytest.approx(float(x[i] @ np.linalg.lstsq(x[rest], y[rest])[0]))


def test_leave_one_out_of_gaussian_process_is_conditioning_without_the_row():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    x, y = waves(30)
    held_out = regression.gaussian_process(x, y).held_out
    z = (y - y.mean()) / y.std()
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * Matern(np.ones(2), (0.05, 100.0), nu=2.5) + WhiteKernel(0.1, (1e-4, 2))
    rows = np.argsort(sur.uniforms("gaussian process", [str(i) for i in range(30)]), kind="stable")
    tuned = GaussianProcessRegressor(kernel).fit(x[rows], z[rows]).kernel_
    for i in (0, 7, 29):
        rest = np.arange(30) != i
        alone = GaussianProcessRegressor(tuned, optimizer=None).fit(x[rest], z[rest]).predict(x[[i]])[0]
        assert held_out[i] == pytest.approx(alone * y.std() + y.mean(), abs=1e-8)


def test_stack_prefers_the_better_regression():
    x, y = waves(80)
    useless = lambda x, y: sur.Fitted(lambda new: np.zeros(len(new)), np.zeros(len(y)))  # noqa: E731
    both, alone = regression.stacked(useless, regression.gaussian_process)(x, y), regression.gaussian_process(x, y)
    np.testing.assert_allclose(both.predict(x), alone.predict(x), atol=0.05)
