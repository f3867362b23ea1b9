"""What the sources predict, and what a Gaussian process says of an observation that it was not told."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hpo_envs.agents import AGENTS, make
from hpo_envs.agents.transfer.base import TREES, TargetGP, predictions, standardised, usable
from hpo_envs.agents.transfer.source_gp import normal_scores
from tests.agents.transfer.helpers import ALIKE, TRUTH, X, problem


def test_a_source_says_what_it_measured_and_predicts_the_rest() -> None:
    half = dataclasses.replace(ALIKE, features=ALIKE.features[::2], rewards=ALIKE.rewards[::2], costs=ALIKE.costs[::2])
    known, part = predictions((ALIKE, half), X, ("a", "b"))
    assert known.shape == (TREES, 36)
    assert np.allclose(known, normal_scores(TRUTH))
    assert np.allclose(part[:, ::2], normal_scores(TRUTH[::2]))
    assert np.corrcoef(part.mean(axis=0)[1::2], TRUTH[1::2])[0, 1] > 0.7


def test_columns_are_matched_by_name() -> None:
    swapped = dataclasses.replace(ALIKE, features=X[:, ::-1], feature_names=("b", "a"))
    assert np.allclose(predictions((swapped,), X, ("a", "b")), predictions((ALIKE,), X, ("a", "b")))
    far = dataclasses.replace(ALIKE, feature_names=("c", "d"))
    assert usable(problem(far, ALIKE)) == (ALIKE,)
    with pytest.raises(
        ValueError, match="sources must be tables that share a feature with the problem .*, got 1 without"
    ):
        usable(problem(far))


@pytest.mark.parametrize("name", [n for n, e in AGENTS.items() if e.sources])
def test_agents_without_sources_say_so(name: str) -> None:
    with pytest.raises(ValueError, match=f"sources must be given to {name}, .*, got none"):
        make(name, problem(), 0)


@pytest.mark.parametrize("name", [n for n, e in AGENTS.items() if e.sources and "objectives" not in e.supports])
def test_one_objective_only(name: str) -> None:
    with pytest.raises(ValueError, match="objectives must be at most 1 for this agent, got 2"):
        make(name, problem(ALIKE, objectives=2), 0)


def test_leaving_one_out_is_what_a_process_of_the_others_says() -> None:
    rows, y = np.array([0, 7, 20, 35]), standardised(TRUTH[[0, 7, 20, 35]])
    gp = TargetGP(X)
    whole = gp.posterior(rows, y)
    fit = gp._fit
    assert fit is not None
    k = fit.covariance(X[rows], X[rows])
    for i in range(4):
        others = np.delete(np.arange(4), i)
        inverse = np.linalg.inv(k[np.ix_(others, others)] + fit.noise * np.eye(3))
        assert whole.left_out[i] == pytest.approx(k[i, others] @ inverse @ y[others])
        variance = fit.amplitude + fit.noise - k[i, others] @ inverse @ k[others, i]
        assert whole.left_out_deviation[i] == pytest.approx(np.sqrt(variance))
    assert np.allclose(whole.mean[rows], y, atol=0.2)
