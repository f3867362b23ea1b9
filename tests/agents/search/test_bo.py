"""Bayesian optimisation with fixed and estimated kernels, compared with dense algebra."""

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents import Problem
from hpo_envs.agents import candidates as pool
from hpo_envs.agents.models.gp import kernels
from hpo_envs.agents.models.gp.kernels import KernelPrior
from hpo_envs.agents.search import bo
from hpo_envs.agents.search.bo import BayesianOptimisation
from tests.agents.helpers import solved
from tests.helpers import raises

Floats = np.ndarray


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
def test_optimisation_with_fixed_kernel_equals_the_textbook(standardise: bool, amplitude: Any, objectives: int) -> None:
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


def test_equal_rewards_do_not_break_standardisation() -> None:
    agent = told(BayesianOptimisation(problem_of(), 0, standardise=True), [0, 1, 2], np.full((3, 1), 0.1 + 0.2))
    shift, scale = agent._units()
    assert (shift.tolist(), scale.tolist()) == ([pytest.approx(0.3)], [1.0])
    spread = told(BayesianOptimisation(problem_of(), 0, standardise=True), [0, 1], np.array([[1.0], [1.0 + 1e-10]]))
    assert spread._units()[1][0] == pytest.approx(0.5e-10, rel=1e-3)
    large = told(BayesianOptimisation(problem_of(), 0, standardise=True), [0, 1], np.array([[1e3], [1e3 + 2e-10]]))
    assert large._units()[1].tolist() == [1.0], "round-off of a thousand"
    zeros = told(BayesianOptimisation(problem_of(), 0, standardise=True), [0, 1], np.zeros((2, 1)))
    assert zeros._units()[1].tolist() == [1.0]


def by_matheron(prior: Floats, noise: float, rows: list[int], y: Floats, rng: np.random.Generator) -> Floats:
    """A draw of the prior, moved by what is observed, with dense algebra."""
    draw = np.linalg.cholesky(prior + 1e-8 * prior[0, 0] * np.eye(len(prior))) @ rng.standard_normal(len(prior))
    residual = y - draw[rows] - math.sqrt(noise) * rng.standard_normal(len(rows))
    return draw + prior[:, rows] @ np.linalg.solve(prior[np.ix_(rows, rows)] + noise * np.eye(len(rows)), residual)


@pytest.mark.parametrize("settings", [{"amplitude": 2.0, "noise": 0.1, "standardise": True}, {"fit": True}])
def test_a_draw_of_the_posterior_follows_matherons_rule(settings: dict[str, Any]) -> None:
    problem, rows, y = problem_of(), [3, 8, 1], np.array([1.0, 2.0, 4.0])
    agent = told(BayesianOptimisation(problem, 0, acquisition="thompson", **settings), rows, y[:, None])
    agent._posterior()
    rng = np.random.default_rng(0)
    rng.bit_generator.state = agent.rng.bit_generator.state
    drawn, fit = agent._draw(), agent._fits[0] if agent.fit else None
    prior = (
        fit.covariance(problem.features, problem.features)
        if fit
        else 2.0 * kernels.gram("matern52", problem.features, 1.0)
    )
    expected = by_matheron(prior, fit.noise if fit else 0.1, rows, (y - y.mean()) / y.std(), rng)
    np.testing.assert_allclose(drawn, expected, atol=1e-6)
    assert agent._draw().tolist() != drawn.tolist()
    first = agent._roots[0]
    told(agent, [5], np.array([[0.0]]))._draw()
    assert (agent._roots[0] is not first) == bool(fit), "a new estimate has a new root"


def test_estimated_kernel_is_used_and_estimated_again_as_data_grow() -> None:
    problem = problem_of(objectives=2)
    agent = BayesianOptimisation(problem, 0, fit=True, refit=0.5, length_scale=0.4, spread=0.3)
    assert (agent.standardise, agent.fit, agent.refit, agent._prior) == (True, True, 0.5, KernelPrior(0.4, 0.3))
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
    prior = 2.0 * kernels.gram("matern52", problem.features[some], 1.0)
    expected = by_matheron(prior, 1e-4, np.searchsorted(some, rows).tolist(), y[:, 0], rng)
    np.testing.assert_allclose(drawn[some], expected, atol=1e-6)
    assert agent.ask() not in rows


def test_errors_of_kernel_settings_name_argument_and_rule() -> None:
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


@pytest.mark.parametrize(
    ("objectives", "settings"),
    [(1, {"fit": True}), (1, {"acquisition": "ucb"}), (2, {"fit": True}), (2, {"amplitude": 2.0, "standardise": True})],
)
def test_a_pool_of_all_candidates_suggests_the_same(
    monkeypatch: pytest.MonkeyPatch, objectives: int, settings: dict[str, Any]
) -> None:
    problem = problem_of(40, objectives)
    y = np.stack([np.sin(5 * problem.features[:, 0]), np.cos(3 * problem.features[:, 1])], axis=1)[:, :objectives]

    def actions(**more: Any) -> list[int]:
        agent = BayesianOptimisation(problem, 1, **settings, **more)
        asked = []
        told(agent, [7], y[[7]])
        for _ in range(8):
            both = [agent.ask(), agent.ask()]  # the second beside the first
            told(agent, both, y[both])
            asked += both
        assert (agent.scored is None) == (bo.AFFORDABLE > 40)
        return asked

    before = actions()
    monkeypatch.setattr(bo, "AFFORDABLE", 10)
    assert actions() == before


@pytest.mark.parametrize("acquisition", ["ei", "thompson"])
def test_a_pool_is_scored_where_there_are_too_many_candidates(monkeypatch: Any, acquisition: str) -> None:
    monkeypatch.setattr(bo, "AFFORDABLE", 50)
    monkeypatch.setattr(pool, "NEIGHBOURS", 3)
    monkeypatch.setattr(pool, "RANDOM", 4)
    monkeypatch.setattr(bo, "LEARNED", 5)
    problem = problem_of(200)
    agent = BayesianOptimisation(problem, 0, fit=True, refit=0.5, acquisition=acquisition)
    y = -np.square(problem.features - 0.4).sum(axis=1)
    asked = []
    for t in range(40):
        row = agent.ask()
        told(agent, [row], y[[row]])
        asked.append(row)
        if t % 8 == 7:
            told(agent, [17 * t % 200], y[[17 * t % 200]])  # nobody asked for it
        if agent.scored is not None:
            assert np.isin(agent.rows[: agent._fitted_at], agent.scored).all()
            assert len(agent.scored) <= 5 * 4 + 4 + len(agent.rows) + 1
    assert len(set(asked)) == len(asked)
    means, deviations, observed = agent._posterior()
    fit, x = agent._fits[0], problem.features
    assert fit is not None
    assert agent.scored is not None
    expected, variances = solved(fit.covariance(x, x), agent.rows, observed, fit.noise)
    np.testing.assert_allclose(means[0], expected[1][agent.scored], atol=1e-6)
    np.testing.assert_allclose(deviations[0] ** 2, variances[agent.scored], atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "workers"),
    [
        ({"fit": True, "design": "spread", "kernel": "rbf"}, 2),
        ({"fit": True, "acquisition": "thompson"}, 1),
        ({"fit": True, "objectives": 2}, 1),
        ({"fit": True, "few": 20}, 1),
        ({"few": 20}, 3),
    ],
    ids=str,
)
def test_seeds_that_prepare_together_suggest_the_same_as_alone(
    settings: dict[str, Any], workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if a posterior is refitted only at some observations, and with pending results."""
    arguments = dict(settings)
    monkeypatch.setattr(bo, "AFFORDABLE", arguments.pop("few", bo.AFFORDABLE))
    problem = problem_of(60, arguments.pop("objectives", 1))

    def play(seeds: list[int], together: bool) -> list[list[int]]:
        agents = [BayesianOptimisation(problem, seed, **arguments) for seed in seeds]
        found: list[list[int]] = [[] for _ in seeds]
        for step in range(23):
            if together:
                BayesianOptimisation.prepare(agents)
            for agent, rows in zip(agents, found, strict=True):
                rows.append(agent.ask())
                if step + 1 >= workers:
                    row = rows[step + 1 - workers]
                    agent.tell(row, np.sin(9.0 * problem.features[row])[: problem.objectives] + 0.01 * row, {})
        return found

    assert play([0, 1], together=True) == [play([seed], together=False)[0] for seed in (0, 1)]


def test_what_posterior_was_not_renewed_for_is_observed() -> None:
    """Of 22 observations the first 20 are in the estimate of the kernel; the posterior has all."""
    problem, rng = problem_of(60), np.random.default_rng(0)
    agent = BayesianOptimisation(problem, 0, fit=True)
    for row in rng.permutation(60)[:21]:
        agent.tell(int(row), float(problem.features[row, 0]), {})
        BayesianOptimisation.prepare([agent])
    assert (agent._fitted_at, agent._gps[0].count) == (20, 21)
