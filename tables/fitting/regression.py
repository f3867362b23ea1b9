"""Regressions for embedded tables; each also says how well it predicts rows that it did not see.

scikit-learn and scipy are imported where they are used.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.fitting.out_of_fold import Fit, Fitted, Floats, folds, uniforms


def gaussian_process(x: Floats, y: Floats, hyper_rows: int = 300) -> Fitted:
    """A Gaussian process with a Matern-5/2 kernel, one length scale per input, and noise.

    Hyperparameters maximise the marginal likelihood of at most `hyper_rows` rows (evenly spaced in hash order), then
    all rows are conditioned on. `held_out` are the closed-form leave-one-out means (Rasmussen and Williams 2006,
    eq. 5.12).
    """
    from scipy.linalg import cho_solve
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    mean, std = y.mean(), y.std() or 1.0
    z = (y - mean) / std
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * Matern(np.ones(x.shape[1]), (0.05, 100.0), nu=2.5)
    kernel = kernel + WhiteKernel(0.1, (1e-4, 2.0))
    rows = np.argsort(uniforms("gaussian process", [str(i) for i in range(len(y))]), kind="stable")[:hyper_rows]
    with _quiet():
        tuned = GaussianProcessRegressor(kernel).fit(x[rows], z[rows])
        model = GaussianProcessRegressor(tuned.kernel_, optimizer=None).fit(x, z)
    inverse = cho_solve((model.L_, True), np.eye(len(y)))
    loo = z - model.alpha_ / np.diag(inverse)
    return Fitted(lambda new: model.predict(new) * std + mean, loo * std + mean)


def extra_trees(x: Floats, y: Floats, trees: int = 300) -> Fitted:
    """Extremely randomised trees on bootstrap samples; `held_out` are the out-of-bag means."""
    from sklearn.ensemble import ExtraTreesRegressor

    with _quiet():
        model = ExtraTreesRegressor(trees, bootstrap=True, oob_score=True, random_state=0).fit(x, y)
    return Fitted(model.predict, np.asarray(model.oob_prediction_))


def boosted_trees(x: Floats, y: Floats, inner_folds: int = 5) -> Fitted:
    """Gradient-boosted trees; `held_out` come from an inner cross-validation."""
    from sklearn.ensemble import GradientBoostingRegressor

    def train(rows: npt.NDArray[np.bool_]) -> GradientBoostingRegressor:
        model = GradientBoostingRegressor(
            n_estimators=300, max_depth=4, learning_rate=0.05, subsample=0.7, random_state=0
        )
        return model.fit(x[rows], y[rows])

    inner = folds([str(i) for i in range(len(y))], inner_folds, "boosted trees")
    held_out = np.empty(len(y))
    for f in range(inner_folds):
        held_out[inner == f] = train(inner != f).predict(x[inner == f])
    return Fitted(train(np.ones(len(y), bool)).predict, held_out)


def least_squares(x: Floats, y: Floats) -> Fitted:
    """Ordinary least squares without an intercept; `held_out` are the closed-form leave-one-out values."""
    scale = np.maximum(np.abs(x).max(axis=0), 1e-300)
    u, s, vt = np.linalg.svd(x / scale, full_matrices=False)
    keep = s > s[0] * 1e-10
    weights = vt[keep].T @ ((u[:, keep].T @ y) / s[keep]) / scale
    leverage = (u[:, keep] ** 2).sum(axis=1)
    fitted = x @ weights
    held_out = y - (y - fitted) / np.maximum(1.0 - leverage, 1e-9)
    return Fitted(lambda new: new @ weights, held_out)


def stacked(*fits: Fit) -> Fit:
    """A convex combination of regressions, with the weights that fit their `held_out` predictions best.

    The weights (Breiman 1996, "Stacked regressions": non-negative least squares, here normalised to sum 1) are
    learnt from the training rows alone, so an outer held-out error stays honest.
    """

    def fit(x: Floats, y: Floats) -> Fitted:
        from scipy.optimize import nnls

        members = [f(x, y) for f in fits]
        held_out = np.column_stack([m.held_out for m in members])
        weights = nnls(held_out - y.mean(), y - y.mean())[0]
        weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(members), 1.0 / len(members))
        return Fitted(
            lambda new: sum(w * m.predict(new) for w, m in zip(weights, members, strict=True) if w > 0),
            held_out @ weights,
        )

    return fit


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hides the optimiser's warnings about bounds: a length scale at its bound is an answer (no effect)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
