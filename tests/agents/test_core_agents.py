"""The updates of the agents against closed forms on a handful of candidates, and every word of their errors.

`tests/robustness/mutation.py` shows that these tests notice nearly every change of an operator, a number, a name or
a text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scipy import stats

from hpo_envs.agents.bandits import base as bandits
from hpo_envs.agents.bandits import best_arm as beliefs
from hpo_envs.agents.bandits.base import ArmsAgent, ConfidentAgent, Logit, budget_of
from hpo_envs.agents.bandits.best_arm import Belief
from hpo_envs.agents.bandits.glr import likelihood_ratio, transport
from hpo_envs.agents.bandits.quadrature import RULES, Posterior, Quadrature
from hpo_envs.agents.base import Problem
from hpo_envs.agents.models import kernels
from hpo_envs.agents.models.acquisition import expected_improvement, upper_confidence_bound
from hpo_envs.agents.models.finite_gp import FiniteGP, cholesky
from hpo_envs.agents.models.kernel_fit import KernelFit, Prior
from hpo_envs.agents.models.similarity_graph import Harmonic, SimilarityGraph, nearest_neighbours
from hpo_envs.agents.search import bo
from hpo_envs.agents.search.bo import BayesianOptimisation

Floats = np.ndarray
NAN = float("nan")


def raises(message: str, error: type[Exception] = ValueError) -> Any:
    """Expects an error with exactly this message."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


# -- Gaussian processes ------------------------------------------------------------------------------------------------


def prior_of(n: int, d: int = 2, seed: int = 3) -> Floats:
    x = np.random.default_rng(seed).random((n, d))
    return 1.7 * kernels.gram("matern52", x, 0.5)


def solved(prior: Floats, rows: list[int], values: Floats, noise: float) -> tuple[Floats, Floats]:
    """Means and variances of equations 1 and 2 by one solve; the first mean is that of the constant 1."""
    targets = np.column_stack([np.ones(len(rows)), values])
    weights = np.linalg.solve(prior[np.ix_(rows, rows)] + noise * np.eye(len(rows)), prior[rows])
    return targets.T @ weights, np.diag(prior) - np.einsum("ij,ij->j", prior[rows], weights)


def test_conditioning_one_by_one_is_one_solve() -> None:
    prior = prior_of(9)
    variance = np.diag(prior).copy()
    bo = FiniteGP(lambda k: prior[k], variance, 0.05, outputs=2)
    assert (bo.count, bo.noise, bo.means.shape) == (0, 0.05, (3, 9))
    assert np.array_equal(bo.means, np.zeros((3, 9)))
    assert np.array_equal(bo.variances, variance)
    rng = np.random.default_rng(0)
    rows: list[int] = []
    values = rng.normal(size=(40, 2))
    for t in range(40):  # past the room for 16 and for 32, every candidate several times
        rows.append(int(rng.integers(9)))
        bo.observe(rows[-1], values[t] if t % 2 else values[t].tolist())
        means, variances = solved(prior, rows, values[: t + 1], 0.05)
        np.testing.assert_allclose(bo.means, means, atol=1e-10)
        np.testing.assert_allclose(bo.variances, variances, atol=1e-10)
        assert bo.count == t + 1
    assert np.array_equal(variance, np.diag(prior)), "the caller's array stays as it was"
    assert FiniteGP(lambda k: prior[k], variance, 1).means.shape == (2, 9)
    assert FiniteGP(lambda k: prior[k], np.ones(2, int), 1).variances.dtype == np.float64


def test_certain_candidates_stay_certain() -> None:
    """With hardly any noise round-off must not make a variance negative, nor a pivot NaN."""
    bo = FiniteGP(lambda k: np.ones(2), np.ones(2), 1e-18)
    for _ in range(5):
        bo.observe(0, [2.0])
        assert (bo.variances >= 0.0).all()
    assert bo.means[1] == pytest.approx([2.0, 2.0])
    bo.variances[:] = -1e-9
    bo.observe(1, [2.0])
    assert np.isfinite(bo.means).all()


@pytest.mark.parametrize("t", [3, 20])
def test_loading_at_once_is_conditioning_one_by_one(t: int) -> None:
    prior, noise = prior_of(30), 0.01
    rng = np.random.default_rng(1)
    rows = rng.permutation(30)[:t]
    values = rng.normal(size=(t, 1))
    bo = FiniteGP(lambda k: prior[k], np.diag(prior), noise)
    bo.load(rows, prior[rows], cholesky(prior[np.ix_(rows, rows)] + noise * np.eye(t)), values)
    said, known = rows.tolist(), values[:, 0].tolist()
    for k in range(25):  # more come in one by one, past the room that was made
        means, variances = solved(prior, said, np.array(known)[:, None], noise)
        np.testing.assert_allclose(bo.means, means, atol=1e-9)
        np.testing.assert_allclose(bo.variances, variances, atol=1e-9)
        assert bo.count == t + k
        said.append(k)
        known.append(float(k % 5))
        bo.observe(k, [known[-1]])


def test_certain_candidates_stay_certain_when_loaded() -> None:
    bo = FiniteGP(lambda k: np.ones(2), np.full(2, 1.0 - 1e-12), 1e-18)
    bo.load(np.array([0]), np.ones((1, 2)), np.ones((1, 1)), np.ones((1, 1)))
    assert bo.variances.tolist() == [0.0, 0.0]


def test_a_draw_follows_matherons_rule() -> None:
    prior, noise = prior_of(8), 0.3
    bo = FiniteGP(lambda k: prior[k], np.diag(prior), noise)
    draw = np.random.default_rng(5).normal(size=8)
    assert np.array_equal(bo.sample(draw, [], np.empty(0), np.random.default_rng(0)), draw)
    rows, values = [4, 1, 4, 6], np.array([1.0, -2.0, 0.5, 3.0])
    for k, value in zip(rows, values, strict=True):
        bo.observe(k, [value])
    eps = np.random.default_rng(7).standard_normal(4)
    residual = values - draw[rows] - math.sqrt(noise) * eps
    expected = draw + prior[:, rows] @ np.linalg.solve(prior[np.ix_(rows, rows)] + noise * np.eye(4), residual)
    np.testing.assert_allclose(bo.sample(draw, rows, values, np.random.default_rng(7)), expected, atol=1e-10)
    factor = bo._factor(np.array(rows))
    np.testing.assert_allclose(factor, np.linalg.cholesky(prior[np.ix_(rows, rows)] + noise * np.eye(4)), atol=1e-10)


def test_factors() -> None:
    assert cholesky(np.array([[4, 2], [2, 2]])).tolist() == [[2.0, 0.0], [1.0, 1.0]]
    assert cholesky(np.eye(2, dtype=np.float32)).dtype == np.float64
    with pytest.raises(np.linalg.LinAlgError):
        cholesky(-np.eye(2))


def test_kernels_by_hand() -> None:
    x = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    assert kernels.square_distances(x, x[:2]).tolist() == [[0, 25], [25, 0], [0, 25]]
    z = math.sqrt(5.0) * 2.5
    matern = (1 + z + z * z / 3) * math.exp(-z)
    assert kernels.gram("matern52", x, 2.0)[0].tolist() == pytest.approx([1.0, matern, 1.0], rel=1e-14)
    assert kernels.gram("rbf", x, 2.0)[0].tolist() == pytest.approx([1.0, math.exp(-0.5 * 6.25), 1.0], rel=1e-14)
    for kernel in kernels.KERNELS:
        whole = kernels.gram(kernel, x, 2.0)
        assert whole is kernels.gram(kernel, x.copy(), 2)
        assert not whole.flags.writeable
        for k in range(3):
            assert kernels.gram_row(kernel, x, 2.0, k).tolist() == whole[k].tolist()
        assert kernels.check_kernel(kernel) == kernel
    with raises("kernel must be one of matern52, rbf, got 'linear'"):
        kernels.check_kernel("linear")


def test_acquisitions_by_hand() -> None:
    mean, deviation = np.array([0.0, 1.0, 2.0, -50.0, 1.0]), np.array([1.0, 2.0, 0.0, 1.0, 0.0])
    value = expected_improvement(mean, deviation, 1.5)
    z = np.array([-1.5, -0.25])
    closed = (mean[:2] - 1.5) * stats.norm.cdf(z) + deviation[:2] * stats.norm.pdf(z)
    assert value[:2] == pytest.approx(closed, rel=1e-12)
    assert value[2:].tolist() == [0.5, 0.0, 0.0]
    with np.errstate(all="raise", under="ignore"):  # far out, and with hardly any deviation
        tiny = expected_improvement(np.array([-9.0, 9.0, 0.0]), np.array([1e-250, 1e-250, 0.0]), 0.0)
    assert tiny.tolist() == [0.0, 9.0, 0.0]
    assert upper_confidence_bound(mean, deviation, 9.0).tolist() == [3.0, 7.0, 2.0, -47.0, 1.0]


def problem_of(n: int = 12, objectives: int = 1) -> Problem:
    x = np.random.default_rng(11).random((n, 2))
    return Problem(gym.spaces.Discrete(n), features=x, objectives=objectives)


def told(agent: Any, rows: list[int], rewards: Floats) -> Any:
    for k, y in zip(rows, rewards, strict=True):
        agent.tell(k, y, {})
    return agent


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("amplitude", [1.0, 2.5])
@pytest.mark.parametrize("objectives", [1, 2])
def test_optimisation_with_a_fixed_kernel_is_the_textbooks(
    standardise: bool, amplitude: float, objectives: int
) -> None:
    problem = problem_of(objectives=objectives)
    kwargs: dict[str, Any] = {"kernel": "rbf", "length_scale": 0.7, "amplitude": amplitude, "noise": 0.02}
    agent = BayesianOptimisation(problem, 0, standardise=standardise, **kwargs)
    assert agent.predict().tolist() == np.zeros((objectives, 12)).tolist()
    rows = [3, 8, 1, 3, 6]
    y = 3.0 + np.random.default_rng(2).normal(size=(5, objectives))
    told(agent, rows, y)
    shift, scale = (y.mean(axis=0), y.std(axis=0)) if standardise else (np.zeros(objectives), np.ones(objectives))
    prior = amplitude * kernels.gram("rbf", problem.features, 0.7)
    means, variances = solved(prior, rows, (y - shift) / scale, 0.02)
    got, deviations, observed = agent._posterior()
    np.testing.assert_allclose(got, means[1:], atol=1e-9)
    np.testing.assert_allclose(deviations, np.sqrt(np.tile(variances, (objectives, 1))), atol=1e-9)
    np.testing.assert_allclose(observed, (y - shift) / scale, atol=1e-12)
    np.testing.assert_allclose(agent.predict(), means[1:] * scale[:, None] + shift[:, None], atol=1e-9)


def test_equal_rewards_have_no_scale() -> None:
    agent = told(BayesianOptimisation(problem_of(), 0, standardise=True), [0, 1, 2], np.full((3, 1), 0.1 + 0.2))
    shift, scale = agent._units()
    assert (shift.tolist(), scale.tolist()) == ([pytest.approx(0.3)], [1.0])
    spread = told(BayesianOptimisation(problem_of(), 0, standardise=True), [0, 1], np.array([[1.0], [1.0 + 1e-10]]))
    assert spread._units()[1][0] == pytest.approx(0.5e-10, rel=1e-3)
    large = told(BayesianOptimisation(problem_of(), 0, standardise=True), [0, 1], np.array([[1e3], [1e3 + 2e-10]]))
    assert large._units()[1].tolist() == [1.0], "round-off of a thousand"
    zeros = told(BayesianOptimisation(problem_of(), 0, standardise=True), [0, 1], np.zeros((2, 1)))
    assert zeros._units()[1].tolist() == [1.0]


def test_a_draw_of_the_posterior_is_matherons() -> None:
    problem = problem_of()
    agent = told(
        BayesianOptimisation(problem, 0, acquisition="thompson", amplitude=2.0, noise=0.1, standardise=True),
        [3, 8, 1],
        np.array([[1.0], [2.0], [4.0]]),
    )
    state = agent.rng.bit_generator.state
    drawn = agent._draw()
    rng = np.random.default_rng(0)
    rng.bit_generator.state = state
    prior = 2.0 * kernels.gram("matern52", problem.features, 1.0)
    draw = np.linalg.cholesky(prior + 2e-8 * np.eye(12)) @ rng.standard_normal(12)
    y = np.array([1.0, 2.0, 4.0])
    residual = (y - y.mean()) / y.std() - draw[[3, 8, 1]] - math.sqrt(0.1) * rng.standard_normal(3)
    gain = np.linalg.solve(prior[np.ix_([3, 8, 1], [3, 8, 1])] + 0.1 * np.eye(3), residual)
    np.testing.assert_allclose(drawn, draw + prior[:, [3, 8, 1]] @ gain, atol=1e-7)
    assert agent._draw().tolist() != drawn.tolist()


def test_an_estimated_kernel_is_used_and_estimated_again_as_data_grow() -> None:
    problem = problem_of(objectives=2)
    agent = BayesianOptimisation(problem, 0, fit=True, refit=0.5, length_scale=0.4, spread=0.3)
    assert (agent.standardise, agent.fit, agent.refit) == (True, True, 0.5)
    assert agent._prior == Prior(0.4, 0.3)
    rng = np.random.default_rng(3)
    rows, y = [], []
    fitted = []
    for t in range(7):
        rows.append(int(rng.integers(12)))
        y.append(rng.normal(size=2) * [1.0, 50.0] + [0.0, 7.0])
        agent.tell(rows[-1], y[-1], {})
        means, deviations, observed = agent._posterior()
        if agent._fitted_at == t + 1:
            fitted.append(t + 1)
            at = np.array(y)
        used = np.array(y)
        shift, scale = agent._units()
        for j in range(2):
            fit = agent._fits[j]
            prior = fit.covariance(problem.features, problem.features)
            assert prior[0, 0] == pytest.approx(fit.amplitude)
            expected, variances = solved(prior, rows, (used[:, j : j + 1] - shift[j]) / scale[j], fit.noise)
            np.testing.assert_allclose(means[j], expected[1], atol=1e-7)
            np.testing.assert_allclose(deviations[j], np.sqrt(np.maximum(variances, 0)), atol=1e-6)
        assert len(at) == agent._fitted_at
        np.testing.assert_allclose(observed, (used - shift) / scale)
    # At least one more each time, half as many again later.
    assert fitted == [1, 2, 3, 4, 6]


def test_an_estimate_is_the_most_probable_kernel() -> None:
    """No kernel nearby is more probable, by SciPy's densities."""
    rng = np.random.default_rng(4)
    x = rng.random((15, 2))
    y = np.sin(5 * x[:, 0]) + 0.1 * rng.normal(size=15)
    y = (y - y.mean()) / y.std()
    prior = Prior(1.0, 1.0, 1e-2, 2.0, 1.0)

    def log_density(log_parameters: Floats, log_amplitude: float, kernel: str) -> float:
        lengths, noise = np.exp(log_parameters[:-1]), math.exp(log_parameters[-1])
        amplitude = math.exp(log_amplitude)
        covariance = amplitude * (
            kernels.of_square_distances(kernel, kernels.square_distances(x / lengths, x / lengths)) + noise * np.eye(15)
        )
        # The shape and scale of an inverse gamma in amplitude alone; -c log a - c / a.
        extra = -prior.strength * (log_amplitude + 1.0 / amplitude)
        center = np.log([prior.length, prior.length, prior.noise])
        widths = np.array([prior.spread, prior.spread, prior.noise_spread])
        return float(
            stats.multivariate_normal(np.zeros(15), covariance).logpdf(y)
            + stats.norm(center, widths).logpdf(log_parameters).sum()
            + extra
        )

    for kernel in kernels.KERNELS:
        fit = KernelFit.estimate(kernel, x, y, prior, None)
        best = np.log(np.append(fit.lengths, fit.noise / fit.amplitude))
        top = log_density(best, math.log(fit.amplitude), kernel)
        for step in np.concatenate([0.03 * np.eye(4), -0.03 * np.eye(4)]):
            assert log_density(best + step[:3], math.log(fit.amplitude) + step[3], kernel) < top
        again = KernelFit.estimate(kernel, x, y, prior, fit)
        assert again.lengths == pytest.approx(fit.lengths, rel=1e-2)
        assert fit.kernel == kernel


def test_a_draw_with_an_estimated_kernel_uses_the_estimate() -> None:
    problem = problem_of()
    agent = told(
        BayesianOptimisation(problem, 0, fit=True, acquisition="thompson"), [3, 8, 1], np.array([[1.0], [2.0], [4.0]])
    )
    agent._posterior()
    state = agent.rng.bit_generator.state
    drawn = agent._draw()
    rng = np.random.default_rng(0)
    rng.bit_generator.state = state
    fit = agent._fits[0]
    prior = fit.covariance(problem.features, problem.features)
    draw = np.linalg.cholesky(prior + 1e-8 * fit.amplitude * np.eye(12)) @ rng.standard_normal(12)
    y = np.array([1.0, 2.0, 4.0])
    residual = (y - y.mean()) / y.std() - draw[[3, 8, 1]] - math.sqrt(fit.noise) * rng.standard_normal(3)
    gain = np.linalg.solve(prior[np.ix_([3, 8, 1], [3, 8, 1])] + fit.noise * np.eye(3), residual)
    np.testing.assert_allclose(drawn, draw + prior[:, [3, 8, 1]] @ gain, atol=1e-6)
    first = agent._roots[0]
    told(agent, [5], np.array([[0.0]]))._draw()
    assert agent._roots[0] is not first, "a new estimate has a new root"


def test_large_candidate_sets_compute_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of()
    rows, y = [3, 8, 1], np.array([[1.0], [2.0], [4.0]])
    small = told(BayesianOptimisation(problem, 0, amplitude=2.0), rows, y)._posterior()
    monkeypatch.setattr(kernels, "LARGEST_SHARED", 11)
    agent = told(BayesianOptimisation(problem, 0, amplitude=2.0, acquisition="thompson"), rows, y)
    for a, b in zip(small, agent._posterior(), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    monkeypatch.setattr(bo, "DRAWN", 4)
    rng = agent.rng
    state = rng.bit_generator.state
    drawn = agent._draw()
    rng.bit_generator.state = state
    some = np.union1d(rows, rng.choice(np.flatnonzero(agent.free), 4, replace=False))
    assert np.flatnonzero(np.isfinite(drawn)).tolist() == some.tolist()
    prior = 2.0 * kernels.gram("matern52", problem.features, 1.0)
    draw = np.full(12, -np.inf)
    draw[some] = np.linalg.cholesky(prior[np.ix_(some, some)] + 2e-8 * np.eye(7)) @ rng.standard_normal(7)
    residual = y[:, 0] - draw[rows] - math.sqrt(1e-4) * rng.standard_normal(3)
    gain = np.linalg.solve(prior[np.ix_(rows, rows)] + 1e-4 * np.eye(3), residual)
    np.testing.assert_allclose(drawn[some], (draw + prior[:, rows] @ gain)[some], atol=1e-6)
    assert agent.ask() not in rows


def test_words_about_kernels_settings() -> None:
    defaults = BayesianOptimisation(problem_of(), 0)
    assert (defaults.kernel, defaults.length_scale, defaults.amplitude, defaults.noise) == ("matern52", 1.0, 1.0, 1e-4)
    assert (defaults.standardise, defaults.fit, defaults.refit, defaults.initial) == (False, False, 0.1, 3)
    assert BayesianOptimisation(problem_of(), 0, initial=2, fit=True, standardise=False).initial == 2
    assert not BayesianOptimisation(problem_of(), 0, fit=True, standardise=False).standardise
    for name in ("length_scale", "amplitude", "noise", "refit", "spread"):
        with raises(f"{name} must be a finite number > 0, got 0.0"):
            BayesianOptimisation(problem_of(), 0, **{name: 0.0})
    with raises("kernel must be one of matern52, rbf, got 'linear'"):
        BayesianOptimisation(problem_of(), 0, kernel="linear")


# -- the belief --------------------------------------------------------------------------------------------------------


def test_posteriors_by_hand() -> None:
    p = beliefs.posterior([3, 6], [0.5, 0.75], [0.12, 0.54])
    assert p.df.tolist() == [1.0, 4.0]
    assert p.mean.tolist() == [0.5, 0.75]
    assert p.scale == pytest.approx([0.2, 0.15], rel=1e-14)
    # Arms without a deviation get a billionth of the widest distance of the problem: gap, scale or size.
    assert beliefs.posterior([3, 3], [1.0, 5.0], [0, 0]).scale == pytest.approx([4e-9, 4e-9])
    assert beliefs.posterior([3, 3], [1.0, 1.0], [0, 12.0]).scale == pytest.approx([2e-9, 2.0])
    assert beliefs.posterior([3, 3], [-7.0, -7.0], [0, 0]).scale == pytest.approx([7e-15, 7e-15])
    assert beliefs.posterior([3, 3], [7.0, 7.0], [0, 0]).scale == pytest.approx([7e-15, 7e-15])
    assert beliefs.posterior([3, 3], [0.0, 0.0], [0, 0]).scale == pytest.approx([1e-9, 1e-9])
    counts, means, squares = beliefs.moments([[1, 2, 6], [0.1] * 7])
    assert counts.tolist() == [3.0, 7.0]
    assert means.tolist() == [3.0, 0.1]
    assert squares.tolist() == [14.0, 0.0]
    assert len(beliefs.moments([[1], [2], [3]])) == 3
    assert np.array(beliefs.moments([["1", "3"], ["7"]])).tolist() == [[2, 1], [2, 7], [2, 0]]


def test_words_about_beliefs() -> None:
    say = "counts, means and squares must be (n,) with n >= 2 models, got "
    for t, m, s, shapes in (
        ([3], [1], [1], "(1,), (1,), (1,)"),
        ([3, 3], [1], [1, 1], "(2,), (1,), (2,)"),
        ([3, 3], [1, 1], [1], "(2,), (2,), (1,)"),
        ([[3, 3]] * 2, [[1, 1]] * 2, [[1, 1]] * 2, "(2, 2), (2, 2), (2, 2)"),
    ):
        with raises(say + shapes):
            beliefs.posterior(t, m, s)
    with raises("each model must have at least 3 evaluations, got [3, 2]"):
        beliefs.posterior([3, 2.9], [1, 1], [1, 1])
    for m, s in (([1.0, NAN], [1.0, 1.0]), ([1.0, 1.0], [NAN, 1.0]), ([1.0, 1.0], [-1.0, 1.0])):
        with raises(f"means and squares must be finite and squares >= 0, got {m}, {s}"):
            beliefs.posterior([3, 3], m, s)
    for bad in ([], [1.0, NAN], [[1.0]], [math.inf]):
        with raises(f"scores of model 1 must be a non-empty list of finite numbers, got {bad!r}"):
            beliefs.moments([[1.0], bad])
    for rule in ("slow", None):
        with raises(f"rule must be one of exact, fast, got {rule!r}"):
            beliefs.best_probability(beliefs.posterior([3, 3], [0, 1], [1, 1]), rule)
        with raises(f"rule must be one of exact, fast, got {rule!r}"):
            Belief(2, rule)
    for arms in (1, True, 2.5, 0):
        with raises(f"arms must be an int >= 2, got {arms!r}"):
            Belief(arms)
    for score in (NAN, math.inf):
        with raises(f"score must be finite, got {score!r} for model 1"):
            Belief(2).add(1, score)
    p = beliefs.posterior([3, 3], [0, 1], [1, 1])
    for draws in (0, True, 1.5, -1):
        with raises(f"draws must be an int >= 1, got {draws!r}"):
            beliefs.best_probability_sampled(p, draws, np.random.default_rng(0))
    one = beliefs.best_probability_sampled(p, 1, np.random.default_rng(0))
    assert sorted(one.tolist()) == [0.0, 1.0]
    with raises("each model must have at least 3 evaluations, got [0, 0]"):
        Belief(2).pi  # noqa: B018
    with raises("each model must have at least 3 evaluations, got [0, 0]"):
        Belief(2).posterior()


def test_sampling_counts_wins() -> None:
    p = beliefs.posterior([4, 5, 9], [0.5, 0.52, 0.49], [0.01, 0.02, 0.05])
    for draws in (7, 100_000, 230_000):
        rng = np.random.default_rng(1)
        wins, left = np.zeros(3), draws
        while left:
            chunk = min(left, 100_000)
            best = (rng.standard_t(p.df, (chunk, 3)) * p.scale + p.mean).argmax(axis=1)
            wins += [(best == i).sum() for i in range(3)]
            left -= chunk
        assert beliefs.best_probability_sampled(p, draws, np.random.default_rng(1)) == pytest.approx(wins / draws)
    never = Posterior(np.array([0.0, 9.0]), np.array([1e-9, 1e-9]), np.array([50.0, 50.0]))
    assert beliefs.best_probability_sampled(never, 10, np.random.default_rng(0)).tolist() == [0.0, 1.0]


def test_a_belief_keeps_the_moments_and_renews_pi() -> None:
    rng = np.random.default_rng(6)
    b = Belief(5, "exact")
    log: list[list[float]] = [[] for _ in range(5)]
    assert b.counts.tolist() == b.means.tolist() == b.squares.tolist() == [0.0] * 5
    for i in range(60):
        arm = i % 5 if i < 15 else int(rng.integers(5))
        log[arm].append(float(rng.normal(0.1 * arm, 0.3)))
        b.add(arm, log[arm][-1])
        assert b.ready == all(len(x) >= 3 for x in log)
        if not b.ready:
            continue
        counts, means, squares = beliefs.moments(log)
        assert b.counts.tolist() == counts.tolist()
        assert b.means == pytest.approx(means, rel=1e-12)
        assert b.squares == pytest.approx(squares, rel=1e-10)
        fresh = beliefs.best_probability(beliefs.posterior(counts, means, squares))
        if i % 3:  # several scores may come between two looks
            assert b.pi == pytest.approx(fresh, abs=2e-6)
            assert b.pi is b.pi
            assert b.pi.sum() == pytest.approx(1.0, abs=1e-12)
    assert b.posterior().mean == pytest.approx(means)


def test_an_update_costs_rows_not_nodes() -> None:
    """One new score refills one row of the same nodes; nodes are laid anew when most rows changed or left them."""
    b = Belief(4)
    for arm in range(4):
        for score in (0.1, 0.2, 0.3):
            b.add(arm, score + 0.01 * arm)
    b.pi  # noqa: B018
    first = b._quadrature
    b.add(2, 0.21)
    b.add(1, 0.21)
    b.pi  # noqa: B018
    assert b._quadrature is first
    for arm in (0, 1, 3):
        b.add(arm, 0.2)
    b.pi  # noqa: B018
    assert b._quadrature is not first
    second = b._quadrature
    b.add(0, 50.0)
    assert b.pi == pytest.approx(beliefs.best_probability(b.posterior()), abs=1e-4)
    assert b._quadrature is not second


KNOWN = (
    (3, 0.50, 0.010),
    (8, 0.52, 0.030),
    (500, 0.51, 0.020),
    (5, 0.40, 0.200),
)  # counts, means, deviations
PI = {
    "exact": [0.1380143960238309, 0.5522252061601841, 0.13319892400431574, 0.17656147381166917],
    "fast": [0.13801440592883502, 0.5522252459698087, 0.13319886110748788, 0.17656148699386837],
}


def known() -> Posterior:
    counts, means, deviations = np.array(KNOWN).T
    return beliefs.posterior(counts, means, counts * deviations**2)


def test_pi_against_an_integral_by_adaptive_steps() -> None:
    from scipy import integrate
    from scipy.special import beta, stdtr

    p = known()

    def density(i: int, x: float) -> float:
        z = (x - p.mean[i]) / p.scale[i]
        height = 1.0 / (math.sqrt(p.df[i]) * beta(0.5, p.df[i] / 2))
        return height * (1 + z * z / p.df[i]) ** (-(p.df[i] + 1) / 2) / p.scale[i]

    def best(x: float, i: int) -> float:
        return density(i, x) * math.prod(stdtr(p.df[j], (x - p.mean[j]) / p.scale[j]) for j in range(4) if j != i)

    ends = [-5.0, 0.3, 0.45, 0.5, 0.515, 0.55, 0.7, 60.0]
    for i in range(4):
        parts = [integrate.quad(best, *ends[k : k + 2], args=(i,), epsabs=1e-11)[0] for k in range(7)]
        value = sum(parts) + 1.0 - stdtr(p.df[i], (60.0 - p.mean[i]) / p.scale[i])
        assert beliefs.best_probability(p)[i] == pytest.approx(value, abs=1e-8)
        assert beliefs.best_probability(p, "fast")[i] == pytest.approx(value, abs=1e-5)


def test_pi_is_these_numbers() -> None:
    """Saved runs depend on them: an agent draws by them."""
    for rule, numbers in PI.items():
        assert beliefs.best_probability(known(), rule) == pytest.approx(numbers, abs=1e-13)


def test_the_error_is_what_the_nodes_miss() -> None:
    p = known()
    q = Quadrature(p, RULES["fast"])
    assert q.rule is RULES["fast"]
    assert q.error < 1e-5
    assert q.density.shape == q.cumulative.shape == (4, len(q.x))
    assert (q.w[0], q.w[-1]) == (0.0, 0.0)
    assert (np.diff(q.x) > 0).all()
    for i in range(4):
        law = stats.t(p.df[i], p.mean[i], p.scale[i])
        assert q.cumulative[i] == pytest.approx(law.cdf(q.x), abs=1e-12)
        assert q.density[i] == pytest.approx(law.pdf(q.x), rel=1e-9)
    # The widest arm's tail probability lies beyond either end, nobody else's more.
    assert max(stats.t(p.df, p.mean, p.scale).sf(q.x[-1])) < 1.001e-6
    everyone = q.cumulative.prod(axis=0)
    above = 1.0 - q.cumulative[:, -1]
    raw = (q.density * everyone / q.cumulative) @ q.w + above
    error = max(abs(raw.sum() - 1.0), everyone[0], above.sum() ** 2)
    assert q.error == pytest.approx(error, rel=1e-6)
    assert q.pi == pytest.approx(raw / raw.sum(), abs=1e-12)
    # Nodes are good for ten times the probability that they were laid to leave out.
    low, high = 0.0, 1.0
    for _ in range(60):
        shift = (low + high) / 2
        moved = Posterior(p.mean + np.array([0, 0, 0, shift]), p.scale, p.df)
        good = q.update(moved, [3])
        assert good == (q.error <= 1e-5)
        low, high = (shift, high) if q.error < 1.05e-5 else (low, shift)
    assert q.error == pytest.approx(1.05e-5, rel=1e-3)
    q.update(p, [3])
    # An arm that leaves at the top, or all that leave at the bottom, are noticed.
    up = Posterior(p.mean + np.array([0, 0, 0, 1e3]), p.scale, p.df)
    assert not Quadrature(p, RULES["fast"]).update(up, [3])
    down = Posterior(p.mean - 1e3, p.scale, p.df)
    assert not q.update(down, [0, 1, 2, 3])
    assert q.update(p, [0, 1, 2, 3])


# -- the likelihood ratio ----------------------------------------------------------------------------------------------


def believed(log: list[list[float]]) -> Belief:
    b = Belief(len(log))
    for arm, values in enumerate(log):
        for value in values:
            b.add(arm, value)
    return b


def test_transport_against_a_minimiser() -> None:
    from scipy.optimize import minimize_scalar

    rng = np.random.default_rng(8)
    b = believed([rng.normal(m, s, n).tolist() for m, s, n in ((0, 1, 4), (1, 3, 9), (2, 0.5, 20), (1.9, 2, 5))])
    for leader in range(4):
        cost = transport(b, leader)
        for j in range(4):
            if j == leader:
                assert cost[j] == np.inf
                continue
            if b.means[j] >= b.means[leader]:
                assert cost[j] == 0.0
                continue
            pair, variances = [j, leader], b.squares / b.counts
            best = min(
                minimize_scalar(
                    lambda u, pair=pair, variances=variances: sum(
                        b.counts[k] / 2 * math.log1p((b.means[k] - u) ** 2 / variances[k]) for k in pair
                    ),
                    bounds=bounds, method="bounded", options={"xatol": 1e-12},
                ).fun
                for bounds in np.lib.stride_tricks.sliding_window_view(np.linspace(*sorted(b.means[pair]), 20), 2)
            )  # fmt: skip
            assert best <= cost[j] <= best * 1.0005
    assert likelihood_ratio(b) == transport(b, int(b.means.argmax())).min()
    assert type(likelihood_ratio(b)) is float


def test_transport_is_these_numbers() -> None:
    """Stopping times depend on them."""
    b = believed([[0.0, 1.0, 2.0], [2.0, 3.0, 5.5, 4.0], [3.0, 3.5, 3.25]])
    assert transport(b, 1).tolist() == pytest.approx([3.07290682432145, np.inf, 0.1568807747617765], rel=1e-12)
    b = believed([[0.1, 0.7, 0.2], [2.0, 3.1, 5.5, 4.0], [3.0, 3.7, 3.25], [-9.0, 4.4, 2.0, 1.0], [3.6, 3.5, 3.4]])
    assert transport(b, 1).tolist() == pytest.approx(
        [4.069012831640255, np.inf, 0.12324463382326462, 0.9432420876626971, 0.027068689892983402], rel=1e-12
    )


def test_arms_without_deviation_cost_much_but_not_nan() -> None:
    b = believed([[1.0] * 3, [5.0] * 3, [5.0] * 3])
    cost = transport(b, 1)
    assert cost[1] == np.inf
    assert cost[2] == 0.0
    # Both variances are (1e-9 of the range of means)^2: T log(1 + 1/4 * 1e18) at the half, less at the ends.
    assert cost[0] == pytest.approx(1.5 * math.log1p(1e18), rel=1e-3)
    # Where the scores are large, a millionth of them stands in for their range.
    cost = transport(believed([[1e6] * 3, [1e6 + 0.1] * 3]), 1)
    assert cost[0] == pytest.approx(1.5 * math.log1p(1e16), rel=1e-3)
    same = transport(believed([[2.0] * 3, [2.0] * 3]), 0)
    assert same.tolist() == [np.inf, 0.0]
    assert transport(believed([[0.0] * 3, [0.0] * 3]), 0).tolist() == [np.inf, 0.0]


# -- bandits -----------------------------------------------------------------------------------------------------------


class Scripted(ArmsAgent):
    """Asks for arms in turn and counts how often it was told."""

    times = turn = 0

    def choose(self) -> int:
        self.turn += 1
        return (self.turn - 1) % self.arms

    def told(self) -> None:
        self.times += 1


class Sure(ConfidentAgent):
    def sample(self) -> int:
        return 2


def arms_problem(arms: int = 3, batch: int | None = None, bounds: Any = None, **kwargs: Any) -> Problem:
    space = gym.spaces.Discrete(arms) if batch is None else gym.spaces.MultiDiscrete([arms] * batch)
    return Problem(space, reward_bounds=bounds, **kwargs)


def test_single_pulls_are_added_to_their_arm() -> None:
    agent = Scripted(arms_problem(), 0)
    assert (agent.arms, agent.batch, agent.asked, agent.belief.rule) == (3, 1, 0, "fast")
    assert [agent.ask() for _ in range(4)] == [0, 1, 2, 0]
    assert agent.asked == 4
    agent.tell(0, 0.5, {})
    agent.tell(0, 0.7, {"finished": True})
    agent.tell(0, 9.0, {"finished": False})
    agent.tell(0, 0.8, {"action": 2})  # whose result came back
    assert agent.belief.counts.tolist() == [2, 0, 1]
    assert agent.belief.means.tolist() == [pytest.approx(0.6), 0.0, 0.8]
    assert agent.times == 3
    assert agent.recommend() == 2
    assert type(agent.recommend()) is int
    assert agent.problem.action_space == gym.spaces.Discrete(3)
    agent.tell(1, -5.0, {})
    assert agent.best_mean() == 2
    below = Scripted(arms_problem(), 0)
    below.tell(1, -5.0, {})
    assert below.best_mean() == 1, "an arm never pulled is not recommended for its mean of 0"


def test_batches_are_added_pull_by_pull() -> None:
    agent = Scripted(arms_problem(batch=4), 0, rule="exact")
    assert (agent.arms, agent.batch, agent.belief.rule) == (3, 4, "exact")
    asked = agent.ask()
    assert asked.tolist() == [0, 1, 2, 0]
    assert asked.dtype == np.int64
    assert agent.asked == 4
    agent.tell(asked, 0.0, {"scores": np.array([0.1, 0.9, 0.2, 0.3])})
    assert agent.belief.counts.tolist() == [2, 1, 1]
    assert agent.belief.means.tolist() == [0.2, 0.9, 0.2]
    assert agent.times == 1
    best = agent.recommend()
    assert best.tolist() == [1, 1, 1, 1]
    assert best.dtype == np.int64
    with pytest.raises(ValueError, match="zip"):
        agent.tell(asked, 0.0, {"scores": np.array([0.1])})


def test_a_draw_is_by_weight() -> None:
    agent = Scripted(arms_problem(4), 3)
    weights = np.array([0.0, 3.0, 0.0, 1.0])
    rng = np.random.default_rng(3)
    for _ in range(200):
        assert agent.draw(weights) == (1 if rng.random() * 4.0 < 3.0 else 3)

    class Edge:
        def random(self) -> float:
            return 1.0

    agent.rng = Edge()  # type: ignore[assignment]
    assert agent.draw(np.array([1.0, 1.0, 1.0, 1.0])) == 3
    agent.rng.random = lambda: 0.25  # type: ignore[method-assign]
    assert agent.draw(np.array([1.0, 1.0, 1.0, 1.0])) == 1


def test_log_odds() -> None:
    assert Logit()(0.8) == pytest.approx(math.log(4.0))
    assert Logit(10, 20)(12.0) == pytest.approx(math.log(2 / 8))
    agent = Scripted(arms_problem(bounds=np.array([[-1.0, 3.0]])), 0, transform="logit")
    agent.tell(0, 2.0, {})
    assert agent.belief.means[0] == pytest.approx(math.log(3.0))
    free = Scripted(arms_problem(), 0, transform="logit")
    free.tell(0, 0.75, {})
    assert free.belief.means[0] == pytest.approx(math.log(3.0))
    for score in (10.0, 20.0, 25, NAN):
        with raises(
            "score must lie strictly between the metric's bounds 10 and 20 for the logit transform, got " + repr(score)
        ):
            Logit(10, 20)(score)


def test_words_about_bandits() -> None:
    with raises("transform must be one of none, logit, got 'log'"):
        Scripted(arms_problem(), 0, transform="log")
    for confidence in (0.0, 1.0, 2):
        with raises(f"confidence must be None or lie strictly between 0 and 1, got {confidence!r}"):
            Sure(arms_problem(), 0, confidence=confidence)
    with raises("stopping must be one of pi, glr, got 'never'"):
        Sure(arms_problem(), 0, stopping="never")
    for initial in (2, True, 3.5):
        with raises(f"initial must be an int >= 3, got {initial!r}"):
            Sure(arms_problem(), 0, initial=initial)
    for draws in (0, True, 1.5):
        with raises(f"draws must be None or an int >= 1, got {draws!r}"):
            Sure(arms_problem(), 0, draws=draws)
    agent = Sure(arms_problem(), 0)
    assert (agent.confidence, agent.stopping, agent.initial, agent.draws, agent.done) == (0.95, "pi", 3, None, False)
    assert (Sure(arms_problem(), 0, draws=1).draws, Sure(arms_problem(), 0, initial=4).initial) == (1, 4)
    for space in (
        gym.spaces.Box(-1, 1, (2,)),
        gym.spaces.Discrete(3, start=1),
        gym.spaces.MultiDiscrete([2, 3]),
        gym.spaces.MultiDiscrete([[2, 2], [2, 2]]),
    ):
        with raises(f"action_space must be Discrete(n) or MultiDiscrete([n] * batch) for this agent, got {space}"):
            Scripted(Problem(space), 0)
    for space in (gym.spaces.Discrete(1), gym.spaces.MultiDiscrete([1, 1])):
        with raises(f"action_space must have at least 2 arms for this agent, got {space}"):
            Scripted(Problem(space), 0)
    assert Scripted(arms_problem(2), 0).arms == 2


def test_budgets_of_bandits() -> None:
    assert budget_of(arms_problem(budget=12.0), 12) == 12
    assert type(budget_of(arms_problem(budget=12.0), 2)) is int
    for kwargs, got in (({"budget": None}, "None evaluations"), ({"budget": 5.0, "unit": "s"}, "5.0 s")):
        with raises(f"budget must be a number of evaluations for this agent, got {got}"):
            budget_of(arms_problem(**kwargs), 2)
    with raises("budget must be >= 6 evaluations for this agent and problem, got 5.5"):
        budget_of(arms_problem(budget=5.5), 6)


def feed(agent: Any, scores: Mapping[int, list[float]]) -> None:
    for arm, values in scores.items():
        for value in values:
            agent.tell(arm, value, {})


def test_every_arm_is_evaluated_first() -> None:
    agent = Sure(arms_problem(), 0, initial=4)
    agent.tell(1, 0.5, {})
    first = [agent.ask() for _ in range(9)]
    assert first == [0, 0, 0, 0, 1, 1, 1, 1, 2], "an arm's known score spares no question while one is missing"
    known = Sure(arms_problem(), 0)
    feed(known, {1: [0.1, 0.2, 0.3]})
    assert [known.ask() for _ in range(6)] == [0, 0, 0, 2, 2, 2]
    # The results are still out: any arm will do.
    rng = np.random.default_rng(0)
    assert [known.ask() for _ in range(5)] == [int(rng.integers(3)) for _ in range(5)]
    known._queue.extend([1, 0])
    feed(known, {0: [0.1, 0.2, 0.3], 2: [0.1, 0.2, 0.3]})
    assert [known.ask() for _ in range(3)] == [1, 0, 2]


def test_pi_of_an_agent() -> None:
    scores = {0: [0.1, 0.2, 0.3], 1: [0.3, 0.4, 0.5], 2: [0.2, 0.3, 0.2]}
    agent = Sure(arms_problem(), 0, confidence=None)
    assert agent.pi.tolist() == [1 / 3] * 3
    feed(agent, scores)
    assert np.array_equal(agent.pi, agent.belief.pi)
    assert agent.recommend() == int(agent.belief.pi.argmax()) == 1
    assert not agent.done
    sampled = Sure(arms_problem(), 0, confidence=None, draws=1000)
    feed(sampled, scores)
    first = sampled.pi
    expected = beliefs.best_probability_sampled(sampled.belief.posterior(), 1000, np.random.default_rng(0))
    assert first.tolist() == expected.tolist()
    assert sampled.pi is first
    sampled.tell(0, 0.2, {})
    assert sampled.pi is not first


def test_pi_and_mean_may_recommend_different_arms() -> None:
    """Two arms share what is probable of the best means; an uncertain one is more probably the best than either."""
    scores = {0: [0.5, 0.501, 0.502], 1: [0.0, 0.5, 0.97], 2: [0.4995, 0.5005, 0.5015]}
    by_pi, by_mean = Sure(arms_problem(), 0, confidence=None), Sure(arms_problem(), 0, stopping="glr")
    feed(by_pi, scores)
    feed(by_mean, scores)
    assert by_pi.best_mean() == by_mean.recommend() == 0
    assert by_pi.recommend() == int(by_pi.pi.argmax())
    assert by_pi.pi[1] > by_pi.pi[0]


def test_stops_when_pi_exceeds_the_confidence() -> None:
    scores = {0: [0.10, 0.20, 0.30], 1: [0.5, 0.6, 0.7], 2: [0.10, 0.20, 0.25]}
    probe = Sure(arms_problem(), 0, confidence=None)
    feed(probe, scores)
    top = float(probe.pi.max())
    for confidence, done in ((top - 1e-6, True), (top, False), (top + 1e-6, False)):
        agent = Sure(arms_problem(), 0, confidence=confidence)
        feed(agent, scores)
        assert agent.done is done
    queued = Sure(arms_problem(), 0, confidence=0.5)
    queued._queue.append(0)
    feed(queued, scores)
    assert not queued.done, "a round is finished before the rule is looked at"
    early = Sure(arms_problem(), 0, confidence=0.5, initial=4)
    feed(early, scores)
    assert not early.done, "every arm has its initial evaluations before the rule is looked at"


def test_stops_when_the_likelihood_ratio_exceeds_its_threshold() -> None:
    scores = {0: [0.10, 0.20, 0.30], 1: [0.5, 0.6, 0.7], 2: [0.10, 0.20, 0.25]}
    probe = Sure(arms_problem(), 0, confidence=None, stopping="glr")
    feed(probe, scores)
    ratio = likelihood_ratio(probe.belief)
    edge = 1.0 - (1.0 + math.log(9.0)) / math.exp(ratio)  # log((1 + log t) / (1 - confidence)) = ratio
    assert 0.0 < edge < 1.0
    for confidence, done in ((edge - 1e-6, True), (edge + 1e-6, False)):
        agent = Sure(arms_problem(), 0, confidence=confidence, stopping="glr")
        feed(agent, scores)
        assert agent.done is done
    assert not probe.done


# -- similarity graphs -------------------------------------------------------------------------------------------------


def ring(n: int = 6, weight: float = 2.0) -> Floats:
    w = np.zeros((n, n))
    for i in range(n):
        w[i, (i + 1) % n] = w[(i + 1) % n, i] = weight * (1 + i)
    return w


def test_graphs_by_hand() -> None:
    w = np.zeros((9, 9))
    w[:6, :6] = ring()
    w[6, 7] = w[7, 6] = 4.0
    w[0, 8] = w[8, 0] = 23e-10 * 0.4  # lighter than a ten-billionth of the heaviest edge, 12
    np.fill_diagonal(w, 5.0)
    given = w.copy()
    graph = SimilarityGraph.of_weights(w)
    assert np.array_equal(w, given)
    assert graph.component.tolist() == [0] * 6 + [1, 1, 2]
    assert graph.component.dtype == np.intp
    assert graph.weights[0, 8] == 0.0
    assert np.diag(graph.weights).tolist() == [0.0] * 9
    laplacian = graph.laplacian
    assert laplacian.sum(axis=1) == pytest.approx(np.zeros(9), abs=1e-12)
    assert np.diag(laplacian).tolist() == graph.weights.sum(axis=1).tolist()
    assert laplacian[6, 7] == -4.0
    for c in range(3):
        inside = graph.component == c
        block = np.ix_(inside, inside)
        size = inside.sum()
        assert graph.green[block] == pytest.approx(np.linalg.inv(laplacian[block] + np.ones((size, size)) / size))
        assert (graph.green[np.ix_(inside, ~inside)] == 0.0).all()
    assert np.array_equal(graph.green, graph.green.T)
    for array in (graph.weights, graph.component, graph.green):
        assert not array.flags.writeable
    # An edge just heavy enough stays.
    w[0, 8] = w[8, 0] = 12e-10
    assert SimilarityGraph.of_weights(w).component.tolist() == [0] * 6 + [1, 1, 0]
    assert SimilarityGraph.of_weights(np.eye(2)).component.tolist() == [0, 1]


def test_neighbours_by_hand() -> None:
    line_ = np.exp(-np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))))

    def joined(near: Floats) -> set[tuple[int, int]]:
        assert near.dtype == bool
        assert np.array_equal(near, near.T)
        return {(i, j) for i, j in zip(*np.nonzero(near), strict=True) if i < j}

    # Each takes one: 0-1, 1-0 (first of two equally near), 2-1, 3-2, 4-3.
    assert joined(nearest_neighbours(line_, 1)) == {(0, 1), (1, 2), (2, 3), (3, 4)}
    assert joined(nearest_neighbours(line_, 1, (4, 3, 2, 1, 0))) == {(0, 1), (1, 2), (2, 3), (3, 4)}
    square = np.ones((4, 4))
    assert joined(nearest_neighbours(square, 1)) == {(0, 1), (0, 2), (0, 3)}
    assert joined(nearest_neighbours(square, 1, (2, 1, 0, 3))) == {(0, 2), (1, 2), (2, 3)}
    assert joined(nearest_neighbours(square, 2, (3, 2, 1, 0))) == {(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    # Equal but for round-off is equal: the first row wins.
    nearly = square.copy()
    nearly[1, 2] += 1e-14
    assert joined(nearest_neighbours(nearly, 1)) == {(0, 1), (0, 2), (0, 3)}
    clearly = square.copy()
    clearly[1, 2] += 1e-9
    assert joined(nearest_neighbours(clearly, 1)) == {(0, 1), (0, 2), (0, 3), (1, 2)}
    assert not np.diag(nearest_neighbours(square, 2)).any()
    for order, entries in (((0, 1, 2), 3), ((0, 1, 2, 2), 4)):
        with raises(f"tie_order must name each of the 4 candidates once, got {entries} entries"):
            nearest_neighbours(square, 1, order)


def test_graphs_of_features(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(2).random((12, 2))
    whole = kernels.gram("rbf", x, 0.5) - np.eye(12)
    full = SimilarityGraph.of_features(x, "rbf", 0.5, None)
    assert np.array_equal(full.weights, whole)
    assert full is SimilarityGraph.of_features(x.copy(), "rbf", 0.5, None)
    assert np.array_equal(SimilarityGraph.of_features(x, "rbf", 0.5, 11).weights, whole)
    assert np.array_equal(SimilarityGraph.of_features(x, "rbf", 0.5, 12).weights, whole)
    few = SimilarityGraph.of_features(x, "rbf", 0.5, 10)
    assert not np.array_equal(few.weights, whole)
    near = nearest_neighbours(kernels.gram("rbf", x, 0.5), 3)
    assert np.array_equal(SimilarityGraph.of_features(x, "rbf", 0.5, 3).weights, np.where(near, whole, 0.0))
    back = tuple(range(12))[::-1]
    square = np.ones((12, 2))
    near = nearest_neighbours(kernels.gram("rbf", square, 0.5), 3, back)
    assert np.array_equal(SimilarityGraph.of_features(square, "rbf", 0.5, 3, back).weights, near * 1.0)
    with raises("a graph must have at most 5000 candidates, got 5001"):
        SimilarityGraph.of_features(np.zeros((5001, 1)), "rbf", 0.5, None)
    monkeypatch.setattr("hpo_envs.agents.models.similarity_graph.LARGEST", 12)
    SimilarityGraph.of_features(x, "rbf", 0.25, None)


def spread_labels(weights: Floats, nodes: list[int], labels: Floats) -> Floats:
    """Equation 7 by averaging over the neighbours until nothing moves; nodes out of reach keep the mean label."""
    n = len(weights)
    f = np.full(n, labels.mean())
    f[nodes] = labels
    reach = np.isin(np.arange(n), nodes)
    for _ in range(n):
        reach |= (weights[:, reach] > 0).any(axis=1)
    inner = [i for i in range(n) if reach[i] and i not in nodes]
    if inner:
        degrees = np.diag(weights.sum(axis=1))[np.ix_(inner, inner)]
        f[inner] = np.linalg.solve(degrees - weights[np.ix_(inner, inner)], weights[np.ix_(inner, nodes)] @ labels)
    return f


@pytest.mark.parametrize("parts", [(24,), (20, 3, 1)])
def test_labels_spread_as_their_definition_says(parts: tuple[int, ...]) -> None:
    n = sum(parts)
    rng = np.random.default_rng(len(parts))
    weights = np.zeros((n, n))
    start = 0
    for size in parts:
        block = np.triu(rng.random((size, size)) * (rng.random((size, size)) < 0.7), 1)
        weights[start : start + size, start : start + size] = block + block.T + 0.01 * (1 - np.eye(size))
        start += size
    graph = SimilarityGraph.of_weights(weights)
    harmonic = Harmonic(graph)
    assert np.isinf(harmonic.diagonal).all()
    nodes: list[int] = []
    for t, k in enumerate(rng.permutation(n).tolist()):
        before = harmonic.predict(np.arange(t, dtype=float)) if t else None
        gain = harmonic.leverage()
        harmonic.label(k)
        if t % 4 == 0:
            harmonic.label(k)  # a second time changes nothing
        nodes.append(k)
        assert harmonic.nodes == nodes
        labels = rng.normal(size=t + 1)
        np.testing.assert_allclose(harmonic.predict(labels), spread_labels(graph.weights, nodes, labels), atol=1e-9)
        if before is not None and np.isin(graph.component[k], graph.component[nodes[:-1]]):
            # All predictions move by the leverage when the new label is 1 off what was predicted.
            moved = harmonic.predict(np.append(np.arange(t, dtype=float), before[k] + 1.0))
            inside = graph.component == graph.component[k]
            assert (moved - before)[inside].sum() == pytest.approx(gain[k], abs=1e-8)
        else:
            assert gain[k] == (graph.component == graph.component[k]).sum()
        unlabelled = [i for i in range(n) if i not in nodes]
        anchored = [i for i in unlabelled if graph.component[i] in graph.component[nodes]]
        inverse = np.linalg.inv(graph.laplacian[np.ix_(anchored, anchored)])
        assert harmonic.diagonal[anchored] == pytest.approx(np.diag(inverse), abs=1e-9)
        assert harmonic.sums[anchored] == pytest.approx(inverse.sum(axis=0), abs=1e-8)
        assert (harmonic.diagonal[nodes] == 0.0).all()
        assert harmonic.sums[nodes] == pytest.approx(np.zeros(t + 1), abs=1e-12)
        assert (harmonic.leverage()[nodes] == 0.0).all()
        for i, j in zip(anchored[:3], range(3), strict=False):
            assert harmonic.column(i)[anchored] == pytest.approx(inverse[:, j], abs=1e-9)
        others = [i for i in unlabelled if i not in anchored]
        assert np.isinf(harmonic.diagonal[others]).all()
        assert harmonic.leverage()[others].tolist() == [(graph.component == graph.component[i]).sum() for i in others]
        assert (harmonic.diagonal >= 0.0).all()
    assert bandits.STOPPING == ("pi", "glr")
