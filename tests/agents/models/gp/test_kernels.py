"""Kernels, and Gaussian processes on a finite set: sequentially, in batch, and by dense algebra."""

import itertools
import math
from collections.abc import Sequence

import gymnasium as gym
import numpy as np
import pytest
import scipy
from scipy import stats
from scipy.optimize import minimize

from hpo_envs.agents.candidates import Candidates
from hpo_envs.agents.models import lbfgsb
from hpo_envs.agents.models.gp import kernels
from hpo_envs.agents.models.gp.conditioning import FiniteGP
from hpo_envs.agents.models.gp.kernels import TOGETHER, KernelFit, KernelPrior, Posteriors, is_due
from hpo_envs.agents.problem import Problem
from tests.agents.helpers import RNG, solved


def test_kernels_equal_values_by_hand() -> None:
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


def test_candidates_of_a_subsample_gather_the_kernel_of_their_base() -> None:
    base = np.random.default_rng(0).random((40, 3))
    index = np.random.default_rng(1).permutation(40)[:17]
    share = Candidates(Problem(gym.spaces.Discrete(17), base=base, index=index))
    kernels._gram.cache_clear()
    for kernel in kernels.KERNELS:
        expected = kernels.gram(kernel, base[index], 0.7)
        assert np.array_equal([share.gram_rows(kernel, 0.7)(k) for k in range(17)], expected), "bit for bit"
    kernels._gram.cache_clear()
    for seed in range(20):
        index = np.random.default_rng(seed).permutation(40)[:17]
        Candidates(Problem(gym.spaces.Discrete(17), base=base, index=index)).base_gram("rbf", 1.0)
    assert kernels._gram.cache_info().misses == 1, "computed once for all seeds"


Floats = np.ndarray


def test_estimate_is_most_probable_kernel() -> None:
    """No nearby kernel has a higher density, as computed with SciPy."""
    rng = np.random.default_rng(4)
    x = rng.random((15, 2))
    y = np.sin(5 * x[:, 0]) + 0.1 * rng.normal(size=15)
    y = (y - y.mean()) / y.std()
    prior = KernelPrior(1.0, 1.0, 1e-2, 2.0, 1.0)

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
        assert (again.lengths, fit.kernel) == (pytest.approx(fit.lengths, rel=1e-2), kernel)


@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_batched_estimates_equal_single_ones(kernel: str) -> None:
    rng = RNG(7)
    sizes = [3, 20, 20, 1, 3, 40] * 2  # several sizes, and more of one than are computed together
    assert 8 * 40**2 < TOGETHER < 8 * 50**2
    sizes += [50] * 8
    given = []
    for t in sizes:
        x = rng.integers(0, 4, (t, 5)) / 3.0
        start = KernelFit(kernel, np.exp(rng.normal(size=5)), 1.2, 0.05) if t % 3 else None
        given.append((x, rng.normal(size=t), start))
    together = KernelFit.estimate_each(kernel, given, KernelPrior())
    for fit, (x, y, start) in zip(together, given, strict=True):
        alone = KernelFit.estimate(kernel, x, y, KernelPrior(), start)
        assert fit.lengths.tobytes() == alone.lengths.tobytes()
        assert (fit.amplitude, fit.noise) == (alone.amplitude, alone.noise)


@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_slope_of_a_kernel_is_the_derivative_of_its_value(kernel: str) -> None:
    r2 = np.linspace(0.1, 4.0, 7)
    value, slope = kernels.with_slope(kernel, r2)
    assert value.tobytes() == kernels.of_square_distances(kernel, r2).tobytes()
    before, after = (kernels.of_square_distances(kernel, r2 + h) for h in (-1e-6, 1e-6))
    np.testing.assert_allclose(slope, (before - after) / 1e-6, rtol=1e-7)


def test_kernel_is_estimated_again_once_observations_have_grown() -> None:
    assert is_due(1, 0, 0.1)
    assert [next(t for t in range(40) if is_due(t, at, 0.1)) for at in (1, 9, 19, 20, 29)] == [2, 10, 20, 22, 31]


LOW, HIGH = np.array([-2.0, -1.0, -0.5]), np.array([2.0, 3.0, 1.0])


def bowls(points: Floats, which: Sequence[int]) -> tuple[Floats, Floats]:
    """Functions of three variables, some with their minimum beyond a bound."""
    shift = np.array(which)[:, None] * np.array([0.3, -0.2, 0.4])
    gap = points - shift
    return np.sum(gap**4 + np.cos(3.0 * points), axis=1), 4.0 * gap**3 - 3.0 * np.sin(3.0 * points)


def one(point: Floats, k: int) -> tuple[float, Floats]:
    value, slope = bowls(point[None], [k])
    return float(value[0]), slope[0]


@pytest.mark.parametrize("steps", [1, 2, 5, 200])
@pytest.mark.parametrize("without", [False, True])
def test_minimisers_are_those_of_scipy(steps: int, without: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results are bit-identical for any number of iterations, and also without SciPy's private routine."""
    assert lbfgsb._routine() is not None, "this SciPy takes other arguments: estimates are made one at a time"
    if without:
        monkeypatch.setattr(lbfgsb, "_routine", lambda: None)
    starts = RNG(3).uniform(-3.0, 3.0, (9, 3))
    found = lbfgsb.minimise_each(bowls, starts, LOW, HIGH, steps)
    bounds, options = list(zip(LOW, HIGH, strict=True)), {"maxiter": steps}
    for k, (start, point) in enumerate(zip(starts, found, strict=True)):
        first = np.clip(start, LOW, HIGH)
        there = minimize(one, first, (k,), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        assert point.tobytes() == there.x.tobytes()


def test_functions_are_evaluated_together_and_no_more_once_their_problem_has_ended() -> None:
    asked: list[list[int]] = []

    def both(points: Floats, which: Sequence[int]) -> tuple[Floats, Floats]:
        asked.append(list(which))
        return bowls(points, which)

    lbfgsb.minimise_each(both, RNG(3).uniform(-3.0, 3.0, (9, 3)), LOW, HIGH, 200)
    assert asked[0] == list(range(9))
    assert all(set(later) <= set(earlier) for earlier, later in itertools.pairwise(asked))


def test_an_unknown_version_of_the_routine_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version with other arguments or another meaning of its codes is detected."""
    from scipy.optimize import _lbfgsb

    old = scipy, "__version__", "1.14.1"
    for where, name, other in ((_lbfgsb, "setulb", lambda: None), (lbfgsb, "_WANTS_BOTH", 7), old):
        with monkeypatch.context() as changed:
            changed.setattr(where, name, other)
            lbfgsb._routine.cache_clear()
            with pytest.warns(RuntimeWarning, match="kernels are estimated one at a time, .*SciPy 1.* cannot be used"):
                assert lbfgsb._routine() is None
    lbfgsb._routine.cache_clear()
    assert lbfgsb._routine() is not None


@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_gradient_of_the_kernel_estimate_equals_differences(kernel: str) -> None:
    rng = RNG(4)
    x, y = rng.random((2, 25, 3)), rng.normal(size=(2, 25))
    f = Posteriors(kernel, x, y, KernelPrior())
    at = np.log([[0.4, 1.3, 0.8, 0.05], [1.1, 0.2, 0.5, 0.3]])
    steps = 1e-5 * np.eye(4)
    numeric = [(f.at(at + e, [0, 1])[0] - f.at(at - e, [0, 1])[0]) / 2e-5 for e in steps]
    np.testing.assert_allclose(f.at(at, [0, 1])[1], np.transpose(numeric), rtol=1e-5, atol=1e-6)
    for k in (0, 1):
        assert [v.tobytes() for v in f.at(at[[k]], [k])] == [v[[k]].tobytes() for v in f.at(at, [0, 1])]


def prior_of(n: int, d: int = 2, seed: int = 3) -> Floats:
    x = np.random.default_rng(seed).random((n, d))
    return 1.7 * kernels.gram("matern52", x, 0.5)


def test_conditioning_one_by_one_equals_one_solve() -> None:
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
    """With almost no noise, round-off must make no variance negative and no pivot NaN."""
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
    bo.observe(7, [3.0])  # replaced
    bo.load(rows, prior[rows], np.linalg.cholesky(prior[np.ix_(rows, rows)] + noise * np.eye(t)), values)
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
