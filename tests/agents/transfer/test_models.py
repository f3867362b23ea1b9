"""Models of other tables: copulas and Gaussian processes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from hpo_envs.agents import make
from hpo_envs.agents.transfer import source_gp
from hpo_envs.agents.transfer.quantile import copula
from tests.agents.transfer.helpers import ALIKE, OTHER, problem, regret


def test_quantiles_are_cut_off_at_the_papers_delta() -> None:
    y = np.array([3.0, -1.0, 40.0, 5.0])
    delta = 1.0 / (4.0 * 4**0.25 * np.sqrt(np.pi * np.log(4)))
    shares = np.array([0.5, 0.25, 1.0 - delta, 0.75])
    assert copula(y) == pytest.approx(norm.ppf(shares))
    assert copula(np.exp(y)) == pytest.approx(copula(y))
    assert np.isfinite(copula(np.ones(1))).all()


def test_it_begins_where_the_sources_are_best_and_leaves_what_misleads() -> None:
    assert regret(make("quantile-copula", problem(ALIKE), 0), 1) == 0.0
    assert regret(make("quantile-copula", problem(OTHER), 0), 12) < 0.1


def test_a_smooth_table_is_predicted_in_normal_scores_whatever_its_unit() -> None:
    rng = np.random.default_rng(0)
    x, at = rng.random((80, 2)), rng.random((30, 2))
    y = -np.square(x - 0.4).sum(axis=1)
    one, other = (source_gp.SourceGP(x, v) for v in (y, np.exp(20.0 * y)))
    np.testing.assert_allclose(one.predict(at), other.predict(at))
    assert np.corrcoef(one.predict(at), -np.square(at - 0.4).sum(axis=1))[0, 1] > 0.9
    assert one.lengths.shape == (2,)


def test_models_of_the_same_table_are_one() -> None:
    x, y = np.random.default_rng(0).random((20, 3)), np.arange(20.0)
    assert source_gp.source_gp(x.tobytes(), y.tobytes(), 3) is source_gp.source_gp(x.tobytes(), y.tobytes(), 3)


def test_normal_scores_are_symmetric_and_ties_equal() -> None:
    scores = source_gp.normal_scores(np.array([1.0, 5.0, 5.0, 9.0]))
    np.testing.assert_allclose(scores, -scores[::-1])
    assert scores[1] == scores[2]
