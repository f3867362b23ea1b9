"""Quantiles of few observations, and a prior that observations correct."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from hpo_envs.agents import make
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
