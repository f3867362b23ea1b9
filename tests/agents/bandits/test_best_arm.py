"""pi: against Monte Carlo, against itself, against laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.agents.bandits import best_arm as b
from hpo_envs.agents.bandits.quadrature import RULES, Posterior, Quadrature, Rule


def random_posterior(rng: np.random.Generator, arms: int) -> Posterior:
    """3 to 500 evaluations of each arm, means and deviations like those of model scores."""
    counts = rng.integers(3, 501, arms) if rng.random() < 0.5 else rng.choice([3, 4, 500], arms)
    deviations = 0.01 * np.exp(rng.normal(0.0, 1.0, arms))
    means = rng.normal(0.6, 0.02 * rng.random(), arms)
    return b.posterior(counts, means, counts * deviations**2)


# A rule far finer than `exact` stands for the truth.
TRUTH = Rule(0.125, 12, 1e-12)


@pytest.mark.parametrize(("rule", "error"), [("exact", 1e-6), ("fast", 1e-4)])
def test_rules_keep_their_promise(rule: str, error: float) -> None:
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(60):
        p = random_posterior(rng, int(rng.integers(2, 51)))
        truth = Quadrature(p, TRUTH)
        assert truth.error < 1e-10
        worst = max(worst, float(np.abs(b.best_probability(p, rule) - truth.pi).max()))
    assert 0.0 < worst < error


@pytest.mark.parametrize(("arms", "draws"), [(2, 10**7), (8, 10**6), (50, 10**5)])
def test_equals_monte_carlo_within_its_error(arms: int, draws: int) -> None:
    rng = np.random.default_rng(arms)
    p = random_posterior(rng, arms)
    pi, sampled = b.best_probability(p), b.best_probability_sampled(p, draws, rng)
    error = np.sqrt(np.maximum(pi * (1 - pi), 1.0 / draws) / draws)
    assert (np.abs(pi - sampled) < 5.0 * error).all()
    assert sampled.sum() == pytest.approx(1.0)


def test_two_arms_have_a_closed_form() -> None:
    # With one degree of freedom each, the difference of two means is Cauchy with the scales added.
    p = Posterior(np.array([0.0, 1.0]), np.array([0.5, 1.5]), np.array([1.0, 1.0]))
    expected = 0.5 + np.arctan(1.0 / 2.0) / np.pi
    assert b.best_probability(p)[1] == pytest.approx(expected, abs=1e-8)
    assert b.best_probability(p, "fast")[1] == pytest.approx(expected, abs=1e-4)


scores = st.floats(0.0, 1.0, allow_nan=False).map(lambda v: round(v, 3))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(scores, min_size=3, max_size=8), min_size=2, max_size=6))
def test_pi_is_a_distribution_whatever_the_scores(arms: list[list[float]]) -> None:
    p = b.posterior(*b.moments(arms))
    for rule in RULES:
        pi = b.best_probability(p, rule)
        assert np.isfinite(pi).all()
        assert (pi >= 0.0).all()
        assert pi.sum() == pytest.approx(1.0)
    assert np.abs(b.best_probability(p, "fast") - Quadrature(p, TRUTH).pi).max() < 1e-4


@settings(max_examples=40, deadline=None)
@given(st.lists(scores, min_size=3, max_size=6), st.integers(2, 5), st.floats(1e-3, 1e3), st.floats(-5.0, 5.0))
def test_symmetry_and_invariance(arm: list[float], copies: int, scale: float, shift: float) -> None:
    other = [0.1, 0.5, 0.45]
    arms = [other, *[arm] * copies]
    pi = b.best_probability(b.posterior(*b.moments(arms)))
    assert np.ptp(pi[1:]) < 1e-9
    if len(set(arm)) > 1:  # the stand-in scale of equal scores is relative to the problem, up to rounding
        moved = [[shift + scale * x for x in a] for a in arms]
        assert b.best_probability(b.posterior(*b.moments(moved))) == pytest.approx(pi, abs=1e-6)
    order = np.random.default_rng(copies).permutation(len(arms))
    shuffled = b.best_probability(b.posterior(*b.moments([arms[i] for i in order])))
    assert shuffled == pytest.approx(pi[order], abs=1e-9)


def test_equal_scores_share_pi() -> None:
    assert b.best_probability(b.posterior([3, 3, 3], [0.5, 0.5, 0.5], [0, 0, 0])) == pytest.approx([1 / 3] * 3)
    assert b.best_probability(b.posterior([3, 9], [0.5, 0.4], [0, 0])) == pytest.approx([1.0, 0.0], abs=1e-6)
    half = b.best_probability(b.posterior([3, 9], [0.5, 0.5], [0, 0.01]))
    assert half == pytest.approx([0.5, 0.5], abs=1e-6)
    assert b.best_probability(b.posterior([3, 3], [0.0, 0.0], [0, 0])) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("rule", ["fast", "exact"])
def test_updates_equal_a_fresh_belief(rule: str) -> None:
    rng = np.random.default_rng(1)
    means = np.linspace(0.57, 0.65, 8)
    belief = b.Belief(8, rule)
    log: list[list[float]] = [[] for _ in means]
    worst = 0.0
    for i in range(500):
        # Long stretches of one arm move it far from where the nodes were laid.
        arm = i % 8 if i < 24 else (i // 60) % 8 if i < 300 else int(rng.integers(8))
        score = float(rng.normal(means[arm], 0.005 if arm % 2 else 0.05))
        belief.add(arm, score)
        log[arm].append(score)
        if i >= 24:
            fresh = b.best_probability(b.posterior(*b.moments(log)))
            worst = max(worst, float(np.abs(belief.pi - fresh).max()))
    assert worst < (1e-4 if rule == "fast" else 1e-6)


def test_old_nodes_are_refused_when_the_posteriors_left_them() -> None:
    p = b.posterior([5, 5, 5], [0.1, 0.2, 0.3], [1e-4] * 3)
    q = Quadrature(p, RULES["fast"])
    assert q.update(p, [0])
    moved = b.posterior([5, 5, 5], [0.1, 0.2, 0.9], [1e-4] * 3)
    assert not q.update(moved, [2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: b.posterior([3], [0.5], [0.1]), "n >= 2 models"),
        (lambda: b.posterior([3, 2], [0.5, 0.4], [0.1, 0.1]), r"at least 3 evaluations, got \[3, 2\]"),
        (lambda: b.posterior([3, 3], [0.5, np.nan], [0.1, 0.1]), "must be finite"),
        (lambda: b.posterior([3, 3], [0.5, 0.5], [0.1, -0.1]), "squares >= 0"),
        (lambda: b.moments([[0.1, 0.2], [0.1, float("nan")]]), "scores of model 1 must be a non-empty list of finite"),
        (lambda: b.moments([[0.1, 0.2], []]), "scores of model 1"),
        (lambda: b.best_probability(b.posterior([3, 3], [0, 1], [1, 1]), "slow"), "rule must be one of exact, fast"),
        (lambda: b.Belief(1), "arms must be an int >= 2, got 1"),
        (lambda: b.Belief(2, "slow"), "rule must be one of"),
        (lambda: b.Belief(2).add(0, float("nan")), "score must be finite"),
        (lambda: b.Belief(2).pi, "at least 3 evaluations"),
        (
            lambda: b.best_probability_sampled(b.posterior([3, 3], [0, 1], [1, 1]), 0, np.random.default_rng(0)),
            "draws must be an int >= 1, got 0",
        ),
    ],
)
def test_bad_input_names_rule_and_value(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
