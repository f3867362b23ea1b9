"""Transfer agents compared with the formulas of their papers."""

import dataclasses
import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from hpo_envs.agents import AGENTS, Problem, Source, make
from hpo_envs.agents.models.gp import sources, stacked
from hpo_envs.agents.models.gp.sources import normal_scores
from hpo_envs.agents.models.pareto import pareto_front
from hpo_envs.agents.transfer.base import TREES, predictions, shared, standardised
from hpo_envs.agents.transfer.quantile import copula
from hpo_envs.agents.transfer.rgpe import misranked, weights
from hpo_envs.agents.transfer.stacked import LENGTHS
from hpo_envs.agents.transfer.task_tpe import crowding, density, ranked, split
from tests.agents.helpers import play

X = np.stack(np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 1, 6)), axis=-1).reshape(-1, 2)
TRUTH = -np.square(X - 0.4).sum(axis=1).round(6)
ALIKE, OTHER = (Source(n, X, s * TRUTH[:, None] * 3.0 + 7.0, np.ones(36)) for n, s in (("alike", 1), ("other", -1)))


def problem(*sources: Source, objectives: int = 1) -> Problem:
    return Problem(gym.spaces.Discrete(36), X, ("a", "b"), objectives=objectives, budget=12, sources=sources)


def regret(agent: Any, steps: int) -> float:
    """Difference between the best candidate and the best of the first ones."""
    return float(TRUTH.max() - TRUTH[play(agent, TRUTH.item, steps)].max())


def test_a_source_returns_what_it_measured_and_predicts_the_rest() -> None:
    half = dataclasses.replace(ALIKE, features=ALIKE.features[::2], rewards=ALIKE.rewards[::2], costs=ALIKE.costs[::2])
    known, part = predictions(shared(problem(ALIKE, half), X))
    assert known.shape == (TREES, 36)
    assert np.allclose(known, normal_scores(TRUTH))
    assert np.allclose(part[:, ::2], normal_scores(TRUTH[::2]))
    assert np.corrcoef(part.mean(axis=0)[1::2], TRUTH[1::2])[0, 1] > 0.7


def test_columns_are_matched_by_name() -> None:
    swapped = dataclasses.replace(ALIKE, features=X[:, ::-1], feature_names=("b", "a"))
    assert np.allclose(*predictions(shared(problem(swapped, ALIKE), X)))
    far = dataclasses.replace(ALIKE, feature_names=("c", "d"))
    assert [s for s, _, _ in shared(problem(far, ALIKE), X)] == [ALIKE]
    with pytest.raises(
        ValueError, match="sources must be tables that share a feature with the problem .*, got 1 that share none"
    ):
        shared(problem(far), X)


@pytest.mark.parametrize("name", [n for n, e in AGENTS.items() if e.sources])
def test_agents_without_sources_is_reported(name: str) -> None:
    with pytest.raises(ValueError, match=f"sources must be given to {name}, .*, got none"):
        make(name, problem(), 0)


@pytest.mark.parametrize("name", [n for n, e in AGENTS.items() if e.sources and "objectives" not in e.supports])
def test_one_objective_only(name: str) -> None:
    wanted = "problem must have one objective" if name == "ridge" else "objectives must be at most 1"
    with pytest.raises(ValueError, match=f"{wanted} for this agent, got 2"):
        make(name, problem(ALIKE, objectives=2), 0)


def test_leave_one_out_predictions_equal_those_of_the_other_observations() -> None:
    rows, y = np.array([0, 7, 20, 35]), standardised(TRUTH[[0, 7, 20, 35]])
    agent: Any = make("rgpe", problem(ALIKE), 0)
    for row in rows.tolist():
        agent.tell(row, float(TRUTH[row]), {})
    whole, fit = agent.posterior(), agent._fit
    assert fit is not None
    k = fit.covariance(X[rows], X[rows])
    for i in range(4):
        others = np.delete(np.arange(4), i)
        inverse = np.linalg.inv(k[np.ix_(others, others)] + fit.noise * np.eye(3))
        assert whole.left_out[i] == pytest.approx(k[i, others] @ inverse @ y[others])
        variance = fit.amplitude + fit.noise - k[i, others] @ inverse @ k[others, i]
        assert whole.left_out_deviation[i] == pytest.approx(np.sqrt(variance))
    assert np.allclose(whole.mean[rows], y, atol=0.2)


def test_quantiles_are_cut_off_at_the_delta_of_the_paper() -> None:
    y = np.array([3.0, -1.0, 40.0, 5.0])
    delta = 1.0 / (4.0 * 4**0.25 * np.sqrt(np.pi * np.log(4)))
    shares = np.array([0.5, 0.25, 1.0 - delta, 0.75])
    assert (copula(y), copula(np.exp(y))) == (pytest.approx(norm.ppf(shares)), pytest.approx(copula(y)))
    assert np.isfinite(copula(np.ones(1))).all()


def test_transfer_starts_where_sources_are_best_and_leaves_misleading_ones() -> None:
    assert regret(make("quantile-copula", problem(ALIKE), 0), 1) == 0.0
    assert regret(make("quantile-copula", problem(OTHER), 0), 12) < 0.1


def test_a_smooth_table_is_predicted_in_normal_scores_whatever_its_unit() -> None:
    rng = np.random.default_rng(0)
    x, at = rng.random((80, 2)), rng.random((30, 2))
    y = -np.square(x - 0.4).sum(axis=1)
    one, other = (sources.SourceGP(x, v) for v in (y, np.exp(20.0 * y)))
    np.testing.assert_allclose(one.predict(at), other.predict(at))
    assert np.corrcoef(one.predict(at), -np.square(at - 0.4).sum(axis=1))[0, 1] > 0.9
    assert one.lengths.shape == (2,)


def test_models_of_the_same_table_are_shared() -> None:
    x, y = np.random.default_rng(0).random((20, 3)), np.arange(20.0)
    assert sources.source_gp(x, y) is sources.source_gp(x.copy(), y)


def test_normal_scores_are_symmetric_and_ties_equal() -> None:
    scores = sources.normal_scores(np.array([1.0, 5.0, 5.0, 9.0]))
    np.testing.assert_allclose(scores, -scores[::-1])
    assert scores[1] == scores[2]


def asked(name: str, *sources: object, steps: int = 36) -> list[int]:
    return play(make(name, problem(*sources), 0), float, steps)  # type: ignore[arg-type]  # what is told changes nothing


def test_zero_shot_tries_rows_in_the_order_of_their_mean_score() -> None:
    rows = asked("zero-shot", ALIKE)
    assert sorted(rows) == list(range(36))
    assert (np.diff(TRUTH[rows]) <= 1e-12).all()
    assert regret(make("zero-shot", problem(ALIKE), 0), 1) == 0.0


def test_a_portfolio_serves_many_tables_first_and_few_later() -> None:
    """By hand: the best row of two tables gains most, then that of the third, for which the first is the worst."""
    first, second = asked("portfolio", ALIKE, ALIKE, OTHER, steps=2)
    assert (first, TRUTH[second]) == (int(np.argmax(TRUTH)), TRUTH.min())


def test_misranked_pairs_are_counted() -> None:
    rng = np.random.default_rng(0)
    y, samples = rng.random(5), rng.random((2, 3, 5))
    for (j, s), found in np.ndenumerate(misranked(samples, y)):
        f = samples[j, s]
        assert found == sum((f[a] < f[b]) != (y[a] < y[b]) for a, b in itertools.product(range(5), repeat=2))
    for s, found in enumerate(misranked(samples[0], y, left_out=True)):
        f = samples[0, s]
        assert found == sum((f[a] < y[b]) != (y[a] < y[b]) for a, b in itertools.permutations(range(5), 2))


def test_weights_are_shares_of_the_fewest_misranked_pairs() -> None:
    """Three models, four samples: the first wins one and shares two, the last wins one; the second is diluting."""
    theirs, own = np.array([[0, 1, 2, 5], [9, 9, 9, 9]]), np.array([3, 1, 2, 4])
    assert weights(theirs, own).tolist() == [0.5, 0.0, 0.5]


def test_a_misleading_source_has_no_weight() -> None:
    agent: Any = make("rgpe", problem(OTHER, ALIKE), 0)
    assert regret(agent, 8) < 0.02
    other, alike, own = agent.weights
    assert other < 0.1 < alike
    assert np.isclose(other + alike + own, 1.0)


def test_failures_are_cut_off() -> None:
    assert stacked.standardised(np.array([0.0, 1.0, 2.0, -100.0])) == pytest.approx(
        stacked.standardised(np.array([0.0, 1.0, 2.0, -1.75]))
    )
    assert stacked.standardised(np.ones(3)).tolist() == [0.0] * 3


def test_the_next_candidate_follows_the_formula() -> None:
    agent: Any = make("stacked-gp", problem(ALIKE, OTHER), 0)
    rows = [3, 17, 30]
    for row in rows:
        agent.tell(row, float(TRUTH[row]), {"cost": 1.0, "status": "ok"})
    s = agent.means[0]
    e, y = s.mean(axis=0), stacked.standardised(TRUTH[rows])
    distances = np.sqrt(np.square(X[:, None] - X).sum(axis=-1))
    gains, evidence = [], []
    for length in LENGTHS:
        z = np.sqrt(5.0) * distances / length
        k = 0.5 * (1 + z + z**2 / 3) * np.exp(-z) + 1 + 0.25 * np.outer(e, e) + 0.5 / 2 * (s - e).T @ (s - e)
        seen = k[np.ix_(rows, rows)] + 0.02 * np.eye(3)
        solve = np.linalg.solve(seen, k[rows])
        mean = 0.7 * e + (y - 0.7 * e[rows]) @ solve
        deviation = np.sqrt(np.diag(k) - (k[rows] * solve).sum(axis=0))
        u = (mean - y.max()) / deviation
        gains.append((mean - y.max()) * norm.cdf(u) + deviation * norm.pdf(u))
        evidence.append(multivariate_normal.pdf(y, 0.7 * e[rows], seen))
    scores = np.array(evidence) @ np.array(gains)
    scores[rows] = -np.inf
    assert agent.ask() == int(np.argmax(scores))


def test_the_residual_process_corrects_a_misleading_source() -> None:
    assert regret(make("stacked-gp", problem(ALIKE, OTHER), 1), 10) < 0.02


def test_two_objectives_are_both_learned_from_source() -> None:
    """If one source has measured the problem itself, suggestions lie on its front."""
    two = np.column_stack([TRUTH, -np.square(X - 0.6).sum(axis=1).round(6)])
    agent = make("stacked-gp", problem(Source("x", X, two, np.ones(36)), objectives=2), 0)
    assert pareto_front(two)[play(agent, two.__getitem__, 4)].all()


def test_densities_are_sums_of_kernels() -> None:
    x, at = np.array([[0.2, 0.9], [0.6, 0.1]]), np.array([[0.5, 0.5], [0.0, 1.0]])
    widths = np.maximum(x.std(axis=0) * 2 ** (-1 / 6), 0.1)
    kernels = [[np.prod(norm.pdf(a, o, widths)) * 2 * np.pi for o in x] for a in at]
    wide = [np.prod(norm.pdf(a, 0.5, 1.0)) * 2 * np.pi for a in at]
    assert density(x, at) == pytest.approx((np.array(wide) + np.sum(kernels, axis=1)) / 3)
    assert density(x[:0], at) == pytest.approx(wide)


def test_good_observations_of_two_objectives_are_first_fronts() -> None:
    rewards = np.array([[0.0, 3.0], [1.0, 2.0], [1.1, 1.9], [3.0, 0.0], [0.5, 0.5], [-1.0, -1.0]])
    assert crowding(rewards[:4]).tolist() == pytest.approx([np.inf, (1.1 + 1.1) / 3, (2.0 + 2.0) / 3, np.inf])
    assert ranked(rewards).tolist() == [0, 3, 2, 1, 4, 5]
    good, rest = split(rewards, 0.1)
    assert (set(good), rest.tolist()) == ({0, 1, 2, 3}, [4, 5])
    assert [part.tolist() for part in split(np.array([[1.0], [5.0], [3.0]]), 0.1)] == [[1], [2, 0]]


def test_a_task_like_the_problem_is_more_similar() -> None:
    agent: Any = make("tst-tpe", problem(ALIKE, OTHER), 0)
    assert regret(agent, 12) < 0.02
    alike, other = agent.similarities
    assert 0.0 <= other < alike <= 1.0


def test_two_objectives() -> None:
    two = np.column_stack([TRUTH, -np.square(X - 0.6).sum(axis=1)])
    agent = make("tst-tpe", problem(Source("x", X, two, np.ones(36)), objectives=2), 0)
    rows = play(agent, two.__getitem__, 12)
    assert len(set(rows)) == 12
    good, _ = split(two, 0.1)
    assert len(set(rows) & set(good.tolist())) >= 3
