"""The Gaussian process of learning curves: conditioning, and a prior from other tables' curves."""

from typing import Any

import numpy as np
import pytest

from hpo_envs.agents.models.gp import curves as model
from hpo_envs.agents.models.gp.curves import CurveProcess, alike, curve_prior, power_law
from hpo_envs.agents.models.gp.kernels import gram
from hpo_envs.agents.models.source import Source

RNG = np.random.default_rng(0)
X = RNG.random((6, 2))
RESOURCES = np.array([1.0, 3.0, 9.0, 27.0])


def source(name: str = "a", shift: float = 0.0, names: tuple[str, ...] = (), rows: int = 30) -> Source:
    """Curves that rise to minus the first feature, at a rate given by the second."""
    x = RNG.random((rows, 2))
    levels = np.arange(1.0, 28.0)
    curves = -x[:, :1] - np.exp(-(0.1 + x[:, 1:]) * levels / 5) + shift
    return Source(name, x, curves[:, -1:], np.full(rows, 27.0), names, levels, curves[..., None])


SOURCES = (source("a"), source("b", 0.5))


@pytest.mark.parametrize("sources", [(), SOURCES])
def test_posterior_of_curves_equals_one_solve_of_all_cells(sources: tuple[Source, ...], monkeypatch: Any) -> None:
    monkeypatch.setattr(model, "CLIP", 1e9)
    prior, learned = curve_prior(RESOURCES, X, ("p", "q"), 0.5, sources)
    assert learned == bool(sources)
    kernel = gram("matern52", X, 0.5)
    process = CurveProcess(prior, kernel)
    seen = [(0, 0, -2.0), (0, 2, -1.2), (3, 1, -0.4), (5, 3, -0.1)]
    for i, k, y in seen:
        process.observe(i, k, y)

    c = model
    between = c.COMMON + c.SMOOTH * kernel + c.SINGLE * np.eye(6)
    effects = (prior.effects @ prior.basis.T).reshape(len(prior.effects), -1)
    full = np.kron(between, prior.basis @ prior.basis.T) + effects.T @ effects
    at = [4 * i + k for i, k, _ in seen]
    observed = full[np.ix_(at, at)] + np.diag([prior.noise[k] for _, k, _ in seen])
    residual = np.array([y for _, _, y in seen]) - prior.mean.ravel()[at]
    mean = prior.mean.ravel() + full[:, at] @ np.linalg.solve(observed, residual)
    variance = full.diagonal() - np.einsum("it,ti->i", full[:, at], np.linalg.solve(observed, full[at]))
    scale = (residual @ np.linalg.solve(observed, residual) + c.STRENGTH) / (4 + c.STRENGTH)
    np.testing.assert_allclose(process.mean.ravel(), mean, atol=1e-9)
    np.testing.assert_allclose(process.deviation.ravel(), np.sqrt(scale * np.maximum(variance, 0.0)), atol=1e-6)


def test_supposed_results_are_undone() -> None:
    process = CurveProcess(curve_prior(RESOURCES, X, ("p", "q"), 0.5, ())[0], gram("matern52", X, 0.5))
    process.observe(1, 1, 0.3)
    mean, deviation, mark = process.mean.copy(), process.deviation, process.mark()
    process.observe(2, 0, -4.0)
    process.undo(mark)
    np.testing.assert_array_equal(process.mean, mean)
    np.testing.assert_array_equal(process.deviation, deviation)


def test_sources_predict_good_candidates_and_the_rise_of_curves() -> None:
    prior, _ = curve_prior(RESOURCES, X, ("p", "q"), 0.5, SOURCES)
    truth = -X[:, 0] - np.exp(-(0.1 + X[:, 1]) * 27 / 5)
    assert np.corrcoef(prior.mean[:, -1], truth)[0, 1] > 0.9
    assert (np.diff(prior.mean, axis=1) > 0).all()


def test_only_sources_with_curves_and_near_configurations_count() -> None:
    far = source("far")
    far = Source("far", far.features + 30.0, far.rewards, far.costs, (), far.levels, far.curves)
    flat = Source("flat", X, X[:, :1], X[:, 0])
    half = source("half", names=("q", "other"))
    chosen = alike(X, ("p", "q"), 0.5, (far, flat, half, *SOURCES))
    assert [(s.name, mine, theirs) for s, mine, theirs in chosen] == [
        ("half", [0], [1]),
        ("a", [0, 1], [0, 1]),
        ("b", [0, 1], [0, 1]),
    ]
    assert curve_prior(RESOURCES, X, ("p", "q"), 0.5, (far, flat))[1] is False


def test_without_sources_curves_rise_and_saturate() -> None:
    mean, covariance = power_law(RESOURCES)
    rises = np.diff(mean)
    assert (rises > 0).all()
    assert (np.diff(rises) < 0).all()
    assert np.linalg.eigvalsh(covariance).min() > 0
