"""pi compared with Monte Carlo, adaptive integration and recorded numbers; its laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hpo_envs.agents.bandits import best_arm as beliefs
from hpo_envs.agents.bandits.best_arm import Belief
from hpo_envs.agents.bandits.glr import likelihood_ratio, transport
from hpo_envs.agents.bandits.quadrature import RULES, ArmPosteriors, Quadrature, QuadratureRule
from tests.agents.bandits.helpers import moments
from tests.helpers import raises


def random_posterior(rng: np.random.Generator, arms: int) -> ArmPosteriors:
    """A posterior of 3 to 500 evaluations per arm, with means and deviations like those of model scores."""
    counts = rng.integers(3, 501, arms) if rng.random() < 0.5 else rng.choice([3, 4, 500], arms)
    deviations = 0.01 * np.exp(rng.normal(0.0, 1.0, arms))
    means = rng.normal(0.6, 0.02 * rng.random(), arms)
    return beliefs.posterior(counts, means, counts * deviations**2)


# A rule far finer than `exact` stands for the truth.
TRUTH = QuadratureRule(0.125, 12, 1e-12)


@pytest.mark.parametrize(("rule", "error"), [("exact", 1e-6), ("fast", 1e-4)])
def test_quadrature_rules_keep_their_error_bound(rule: str, error: float) -> None:
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(40):
        p = random_posterior(rng, int(rng.integers(2, 51)))
        truth = Quadrature(p, TRUTH)
        assert truth.error < 1e-10
        worst = max(worst, float(np.abs(Quadrature(p, RULES[rule]).pi - truth.pi).max()))
    assert 0.0 < worst < error


@pytest.mark.parametrize(("arms", "draws"), [(2, 10**6), (8, 10**6), (50, 10**5)])
def test_pi_equals_a_monte_carlo_estimate_within_its_error(arms: int, draws: int) -> None:
    rng = np.random.default_rng(arms)
    p = random_posterior(rng, arms)
    pi, wins = beliefs.best_probability(p), np.zeros(arms)
    for _ in range(10):
        drawn = rng.standard_t(p.df, (draws // 10, arms)) * p.scale + p.mean
        wins += np.bincount(drawn.argmax(axis=1), minlength=arms)
    sampled = wins / draws
    error = np.sqrt(np.maximum(pi * (1 - pi), 1.0 / draws) / draws)
    assert (np.abs(pi - sampled) < 5.0 * error).all()
    assert sampled.sum() == pytest.approx(1.0)


def test_pi_of_two_arms_has_a_closed_form() -> None:
    # With one degree of freedom each, the difference of two means is Cauchy with the scales added.
    p = ArmPosteriors(np.array([0.0, 1.0]), np.array([0.5, 1.5]), np.array([1.0, 1.0]))
    expected = 0.5 + np.arctan(1.0 / 2.0) / np.pi
    assert beliefs.best_probability(p)[1] == pytest.approx(expected, abs=1e-8)
    assert Quadrature(p, RULES["fast"]).pi[1] == pytest.approx(expected, abs=1e-4)


scores = st.floats(0.0, 1.0, allow_nan=False).map(lambda v: round(v, 3))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(scores, min_size=3, max_size=8), min_size=2, max_size=6))
def test_pi_is_a_distribution_whatever_the_scores_are(arms: list[list[float]]) -> None:
    p = beliefs.posterior(*moments(arms))
    for rule in RULES:
        pi = Quadrature(p, RULES[rule]).pi
        assert np.isfinite(pi).all()
        assert (pi >= 0.0).all()
        assert pi.sum() == pytest.approx(1.0)
    assert np.abs(Quadrature(p, RULES["fast"]).pi - Quadrature(p, TRUTH).pi).max() < 1e-4


@settings(max_examples=40, deadline=None)
@given(st.lists(scores, min_size=3, max_size=6), st.integers(2, 5), st.floats(1e-3, 1e3), st.floats(-5.0, 5.0))
def test_pi_is_symmetric_and_invariant_to_units(arm: list[float], copies: int, scale: float, shift: float) -> None:
    other = [0.1, 0.5, 0.45]
    arms = [other, *[arm] * copies]
    pi = beliefs.best_probability(beliefs.posterior(*moments(arms)))
    assert np.ptp(pi[1:]) < 1e-9
    if len(set(arm)) > 1:  # the stand-in scale of equal scores is relative to the problem, up to rounding
        moved = [[shift + scale * x for x in a] for a in arms]
        assert beliefs.best_probability(beliefs.posterior(*moments(moved))) == pytest.approx(pi, abs=1e-6)
    order = np.random.default_rng(copies).permutation(len(arms))
    shuffled = beliefs.best_probability(beliefs.posterior(*moments([arms[i] for i in order])))
    assert shuffled == pytest.approx(pi[order], abs=1e-9)


NAN = float("nan")


def test_posteriors_by_hand() -> None:
    p = beliefs.posterior([3, 6], [0.5, 0.75], [0.12, 0.54])
    assert (p.df.tolist(), p.mean.tolist()) == ([1.0, 4.0], [0.5, 0.75])
    assert p.scale == pytest.approx([0.2, 0.15], rel=1e-14)
    # Arms without a deviation get a billionth of the widest distance of the problem: gap, scale or size.
    assert beliefs.posterior([3, 3], [1.0, 5.0], [0, 0]).scale == pytest.approx([4e-9, 4e-9])
    assert beliefs.posterior([3, 3], [1.0, 1.0], [0, 12.0]).scale == pytest.approx([2e-9, 2.0])
    assert beliefs.posterior([3, 3], [-7.0, -7.0], [0, 0]).scale == pytest.approx([7e-15, 7e-15])
    assert beliefs.posterior([3, 3], [7.0, 7.0], [0, 0]).scale == pytest.approx([7e-15, 7e-15])
    assert beliefs.posterior([3, 3], [0.0, 0.0], [0, 0]).scale == pytest.approx([1e-9, 1e-9])


def test_errors_of_beliefs_name_argument_and_rule() -> None:
    say = "counts, means and squares must be (n,) with n >= 2 models, got "
    for t, m, s, shapes in (
        ([3], [1], [1], "(1,), (1,), (1,)"),
        ([3, 3], [1], [1, 1], "(2,), (1,), (2,)"),
        ([3, 3], [1, 1], [1], "(2,), (2,), (1,)"),
        ([[3, 3]] * 2, [[1, 1]] * 2, [[1, 1]] * 2, "(2, 2), (2, 2), (2, 2)"),
    ):
        with raises(say + shapes):
            beliefs.posterior(t, m, s)
    for count in (2.9, NAN, math.inf):
        with raises(f"each model must have at least 3 evaluations, got [3.0, {count}]"):
            beliefs.posterior([3, count], [1, 1], [1, 1])
    for m, s in (([1.0, NAN], [1.0, 1.0]), ([1.0, 1.0], [NAN, 1.0]), ([1.0, 1.0], [-1.0, 1.0])):
        with raises(f"means and squares must be finite and squares >= 0, got {m}, {s}"):
            beliefs.posterior([3, 3], m, s)
    for arms in (1, True, 2.5, 0):
        with raises(f"arms must be an int >= 2, got {arms!r}"):
            Belief(arms)
    for score in (NAN, math.inf, -1e200):
        with raises(f"score must be in [-1e150, 1e150], got {score!r} for model 1"):
            Belief(2).add(1, score)
    with raises("each model must have at least 3 evaluations, got [0.0, 0.0]"):
        Belief(2).pi  # noqa: B018
    with raises("each model must have at least 3 evaluations, got [0.0, 0.0]"):
        Belief(2).posterior()


def test_a_belief_keeps_moments_and_renews_pi() -> None:
    rng = np.random.default_rng(6)
    b = Belief(5)
    log: list[list[float]] = [[] for _ in range(5)]
    assert b.counts.tolist() == b.means.tolist() == b.squares.tolist() == [0.0] * 5
    for i in range(60):
        arm = i % 5 if i < 15 else int(rng.integers(5))
        log[arm].append(float(rng.normal(0.1 * arm, 0.3)))
        b.add(arm, log[arm][-1])
        assert b.ready == all(len(x) >= 3 for x in log)
        if not b.ready:
            continue
        counts, means, squares = moments(log)
        assert (b.counts.tolist(), b.means) == (counts.tolist(), pytest.approx(means, rel=1e-12))
        assert b.squares == pytest.approx(squares, rel=1e-10)
        fresh = beliefs.best_probability(beliefs.posterior(counts, means, squares))
        if i % 3:  # several scores may come between two looks
            assert b.pi == pytest.approx(fresh, abs=1e-4)
            assert b.pi is b.pi
            assert b.pi.sum() == pytest.approx(1.0, abs=1e-12)
    assert b.posterior().mean == pytest.approx(means)


def test_an_update_computes_rows_and_keeps_the_nodes() -> None:
    """A new score recomputes one row at the same nodes; nodes are replaced if most rows have changed."""
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


KNOWN = ((3, 0.50, 0.010), (8, 0.52, 0.030), (500, 0.51, 0.020), (5, 0.40, 0.200))  # counts, means, deviations


def known() -> ArmPosteriors:
    counts, means, deviations = np.array(KNOWN).T
    return beliefs.posterior(counts, means, counts * deviations**2)


def test_pi_equals_an_integral_with_adaptive_steps() -> None:
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
        assert Quadrature(p, RULES["fast"]).pi[i] == pytest.approx(value, abs=1e-5)


def test_the_error_of_pi_is_the_probability_that_nodes_miss() -> None:
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
    assert (q.error, q.pi) == (pytest.approx(error, rel=1e-6), pytest.approx(raw / raw.sum(), abs=1e-12))
    # Nodes are good for ten times the probability that they were laid to leave out.
    low, high = 0.0, 1.0
    for _ in range(60):
        shift = (low + high) / 2
        moved = ArmPosteriors(p.mean + np.array([0, 0, 0, shift]), p.scale, p.df)
        good = q.update(moved, [3])
        assert good == (q.error <= 1e-5)
        low, high = (shift, high) if q.error < 1.05e-5 else (low, shift)
    assert q.error == pytest.approx(1.05e-5, rel=1e-3)
    q.update(p, [3])
    # An arm that leaves at the top, or all that leave at the bottom, are noticed.
    up = ArmPosteriors(p.mean + np.array([0, 0, 0, 1e3]), p.scale, p.df)
    assert not Quadrature(p, RULES["fast"]).update(up, [3])
    down = ArmPosteriors(p.mean - 1e3, p.scale, p.df)
    assert not q.update(down, [0, 1, 2, 3])
    assert q.update(p, [0, 1, 2, 3])


def believed(log: list[list[float]]) -> Belief:
    b = Belief(len(log))
    for arm, values in enumerate(log):
        for value in values:
            b.add(arm, value)
    return b


def test_transport_cost_equals_a_numerical_minimum() -> None:
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


def test_arms_without_deviation_have_a_large_finite_transport_cost() -> None:
    b = believed([[1.0] * 3, [5.0] * 3, [5.0] * 3])
    cost = transport(b, 1)
    assert (cost[1], cost[2]) == (np.inf, 0.0)
    # Both variances are (1e-9 of the range of means)^2: T log(1 + 1/4 * 1e18) at the half, less at the ends.
    assert cost[0] == pytest.approx(1.5 * math.log1p(1e18), rel=1e-3)
    # Where the scores are large, a millionth of them stands in for their range.
    cost = transport(believed([[1e6] * 3, [1e6 + 0.1] * 3]), 1)
    assert cost[0] == pytest.approx(1.5 * math.log1p(1e16), rel=1e-3)
    same = transport(believed([[2.0] * 3, [2.0] * 3]), 0)
    assert (same.tolist(), transport(believed([[0.0] * 3, [0.0] * 3]), 0).tolist()) == ([np.inf, 0.0], [np.inf, 0.0])
