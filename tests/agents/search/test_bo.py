"""Gaussian-process search: closed forms against brute force, and numerical safety."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.models import kernels
from hpo_envs.agents.models.acquisition import expected_improvement
from hpo_envs.agents.models.finite_gp import FiniteGP
from hpo_envs.agents.models.kernel_fit import KernelFit, Prior, _Posterior

RNG = np.random.default_rng


def problem(features: np.ndarray, objectives: int = 1) -> Problem:
    return Problem(gym.spaces.Discrete(len(features)), features=features, objectives=objectives)


def grid(*shape: int) -> np.ndarray:
    return np.indices(shape).reshape(len(shape), -1).T / np.maximum(np.array(shape) - 1.0, 1.0)


@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_incremental_posterior_is_the_batch_posterior(kernel: str) -> None:
    rng = RNG(0)
    x = rng.random((60, 4))
    gram = kernels.gram(kernel, x, 0.7)
    gp = FiniteGP(gram.__getitem__, np.ones(60), 1e-4, 2)
    rows = [*rng.permutation(60)[:40].tolist(), 3, 3]
    values = rng.normal(size=(len(rows), 2))
    for t, k in enumerate(rows):
        gp.observe(k, values[t])
        seen = rows[: t + 1]
        inverse = np.linalg.inv(gram[np.ix_(seen, seen)] + 1e-4 * np.eye(t + 1))
        cross = gram[seen]
        mean = np.column_stack([np.ones(t + 1), values[: t + 1]]).T @ inverse @ cross
        np.testing.assert_allclose(gp.means, mean, atol=1e-8)
        np.testing.assert_allclose(gp.variances, 1.0 - np.einsum("ij,ij->j", cross, inverse @ cross), atol=1e-8)


def test_posterior_computed_at_once_goes_on_as_the_incremental_one() -> None:
    rng = RNG(1)
    gram = kernels.gram("matern52", rng.random((30, 3)), 1.0)
    rows, values = rng.permutation(30)[:20], rng.normal(size=(20, 1))
    one, two = (FiniteGP(gram.__getitem__, np.ones(30), 1e-3) for _ in range(2))
    for k, y in zip(rows, values, strict=True):
        one.observe(int(k), y)
    first = rows[:15]
    two.load(first, gram[first], np.linalg.cholesky(gram[np.ix_(first, first)] + 1e-3 * np.eye(15)), values[:15])
    for k, y in zip(rows[15:], values[15:], strict=True):
        two.observe(int(k), y)
    np.testing.assert_allclose(one.means, two.means, atol=1e-10)
    np.testing.assert_allclose(one.variances, two.variances, atol=1e-10)


def test_posterior_draws_have_the_posterior_moments() -> None:
    rng = RNG(2)
    gram = kernels.gram("matern52", rng.random((12, 2)), 0.5)
    gp = FiniteGP(gram.__getitem__, np.ones(12), 1e-2)
    rows, values = [1, 5, 7, 5], rng.normal(size=4)
    for k, y in zip(rows, values, strict=True):
        gp.observe(k, [y])
    root = np.linalg.cholesky(gram + 1e-10 * np.eye(12))
    draws = np.array([gp.sample(root @ rng.standard_normal(12), rows, values, rng) for _ in range(20_000)])
    # Standard error of a mean is at most 1/sqrt(20000) = .007; five of them.
    np.testing.assert_allclose(draws.mean(axis=0), gp.means[1], atol=0.035)
    np.testing.assert_allclose(draws.var(axis=0), gp.variances, atol=0.05)


def test_expected_improvement_is_the_integral() -> None:
    rng = RNG(3)
    mean, deviation = rng.normal(size=8), rng.uniform(0.1, 2.0, size=8)
    grid_points = np.linspace(-12.0, 12.0, 200_001)
    for m, s, score in zip(mean, deviation, expected_improvement(mean, deviation, 0.3), strict=True):
        density = np.exp(-0.5 * ((grid_points - m) / s) ** 2) / (s * np.sqrt(2 * np.pi))
        assert score == pytest.approx(np.trapezoid(np.maximum(grid_points - 0.3, 0.0) * density, grid_points), abs=1e-7)
    certain = expected_improvement(np.array([1.0, -1.0]), np.zeros(2), 0.25)
    assert certain.tolist() == [0.75, 0.0]


@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_gradient_of_the_kernel_estimate(kernel: str) -> None:
    rng = RNG(4)
    x, y = rng.random((25, 3)), rng.normal(size=25)
    squares = np.stack([kernels.square_distances(x[:, [i]], x[:, [i]]).ravel() for i in range(3)])
    prior = Prior()
    f = _Posterior(kernel, squares, y, prior, np.log([1.0, 1.0, 1.0, 0.01]))
    at = np.log([0.4, 1.3, 0.8, 0.05])
    numeric = [(f(at + 1e-5 * e)[0] - f(at - 1e-5 * e)[0]) / 2e-5 for e in np.eye(4)]
    np.testing.assert_allclose(f(at)[1], numeric, rtol=1e-5, atol=1e-6)


def test_estimate_finds_the_feature_that_matters() -> None:
    rng = RNG(5)
    x = rng.random((60, 2))
    y = np.sin(6.0 * x[:, 0])
    fit = KernelFit.estimate("matern52", x, (y - y.mean()) / y.std(), Prior(), None)
    assert fit.lengths[0] < 1.0 < fit.lengths[1]
    assert fit.noise < 1e-3


MINE = [
    name
    for name, e in agents.AGENTS.items()
    if e.target.startswith(("hpo_envs.agents.search.bo:", "hpo_envs.agents.search.graph_search:"))
    and e.alias_of is None
]
ONE = [name for name in MINE if "rows" in agents.AGENTS[name].supports]
TWO = [name for name in MINE if "objectives" in agents.AGENTS[name].supports]
SETS = {
    "duplicates": np.repeat(grid(3, 2), 4, axis=0),
    "all-equal": np.zeros((9, 2)),
    "nearly-equal": 1e-9 * RNG(0).random((12, 3)),
    "far-clusters": np.concatenate([1e-3 * RNG(1).random((6, 2)), 1.0 - 1e-3 * RNG(2).random((6, 2))]),
    "one": np.zeros((1, 2)),
    "two": grid(2),
    "grid": grid(3, 3),
}


def play(agent: agents.Agent, value: object, steps: int) -> list[int]:
    asked = []
    with np.errstate(all="raise", under="ignore"):
        for _ in range(steps):
            row = agent.ask()
            asked.append(row)
            agent.tell(row, value(row), {"cost": 1.0})  # type: ignore[operator]
    return asked


@pytest.mark.parametrize("features", SETS.values(), ids=SETS.keys())
@pytest.mark.parametrize("name", ONE)
def test_every_candidate_is_tried_once_then_again(name: str, features: np.ndarray) -> None:
    n = len(features)
    for value in (lambda row: 1.0, lambda row: float(np.sin(3 * row)), lambda row: 1e6 + row):
        agent = agents.make(name, problem(features), 0)
        asked = play(agent, value, n + 2)
        assert sorted(asked[:n]) == list(range(n))
        assert agent.recommend() in range(n)
        assert np.isfinite(agent.predict()).all()  # type: ignore[attr-defined]


@pytest.mark.parametrize("features", SETS.values(), ids=SETS.keys())
@pytest.mark.parametrize("name", TWO)
def test_two_objectives_every_candidate_is_tried_once(name: str, features: np.ndarray) -> None:
    n = len(features)
    for value in (lambda row: np.zeros(2), lambda row: np.array([np.sin(row), -1e4 * np.cos(row)])):
        agent = agents.make(name, problem(features, 2), 1)
        asked = play(agent, value, n + 1)
        assert sorted(asked[:n]) == list(range(n))


@pytest.mark.parametrize("name", [n for n in ONE if n != "bo-spread"])
def test_starts_where_random_search_starts(name: str) -> None:
    features = grid(5, 4)
    one, other = agents.make(name, problem(features), 11), agents.make("random", problem(features), 11)
    assert play(one, float, 3) == play(other, float, 3)


@pytest.mark.parametrize("name", ONE)
def test_finds_the_top_of_a_smooth_hill(name: str) -> None:
    """On a hill over 100 candidates a model needs far fewer than the 50.5 evaluations of random search."""
    features = grid(10, 10)
    height = -np.square(features - [0.7, 0.3]).sum(axis=1)
    found = []
    for seed in range(8):
        agent = agents.make(name, problem(features), seed)
        found.append(play(agent, lambda row: 10.0 * float(height[row]), 60).index(int(height.argmax())) + 1)
    assert np.mean(found) < 35


@pytest.mark.parametrize(
    ("name", "hyperparameters", "message"),
    [
        ("bo", {"kernel": "cubic"}, "kernel must be one of matern52, rbf, got 'cubic'"),
        ("bo", {"noise": 0.0}, "noise must be a finite number > 0, got 0.0"),
        ("bo", {"initial": 0}, "initial must be an int >= 1, got 0"),
        ("bo", {"acquisition": "pi"}, "acquisition must be one of .*, got 'pi'"),
        ("bo", {"acquisition": "ehvi"}, "objectives must be 2 for acquisition ehvi, got 1"),
        ("graph-ei-rbf", {"neighbours": 0}, "neighbours must be an int >= 1, 'auto' or None, got 0"),
        ("graph-eif-rbf", {"variant": "best"}, "variant must be one of .*, got 'best'"),
    ],
)
def test_settings_are_checked(name: str, hyperparameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agents.make(name, problem(grid(3, 3)), 0, **hyperparameters)


def test_spread_starts_in_the_middle_and_moves_away() -> None:
    features = grid(5, 5)
    agent = agents.make("bo-spread", problem(features), 0)
    first, second = play(agent, lambda row: 0.0, 2)
    assert features[first].tolist() == [0.5, 0.5]
    assert np.abs(features[second] - features[first]).max() >= 0.25


def test_large_sets_need_no_matrix() -> None:
    features = RNG(0).random((4500, 3))
    agent = agents.make("bo-ei-matern52", problem(features), 0)
    play(agent, lambda row: float(features[row, 0]), 8)
    expected = kernels.of_square_distances("matern52", kernels.square_distances(features[[7]], features))[0]
    np.testing.assert_allclose(kernels.gram_row("matern52", features, 1.0, 7), expected, atol=1e-12)
    play(agents.make("bo-spread", problem(features), 0), lambda row: float(features[row, 0]), 3)
    with pytest.raises(ValueError, match="a graph must have at most 5000 candidates, got 5001"):
        agents.make("graph-ei-rbf", problem(RNG(0).random((5001, 1))), 0)


def test_candidates_need_features() -> None:
    with pytest.raises(ValueError, match="problem must have features"):
        agents.make("bo", Problem(gym.spaces.Discrete(4)), 0)


def test_rewards_must_be_finite() -> None:
    agent = agents.make("bo", problem(grid(3, 3)), 0)
    with pytest.raises(ValueError, match=r"reward must be 1 finite number\(s\), got nan"):
        agent.tell(0, float("nan"), {"cost": 1.0})


def test_pairs_are_trained_to_the_last_level() -> None:
    p = Problem(gym.spaces.MultiDiscrete([9, 4]), features=grid(3, 3), levels=np.arange(1.0, 5.0))
    agent = agents.make("bo", p, 0)
    for _ in range(5):
        action = agent.ask()
        assert action.tolist()[1] == 3
        agent.tell(action, float(action[0]), {"cost": 1.0})
