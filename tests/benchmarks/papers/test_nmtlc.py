"""Successive halving on tables of curves: its rules, and the parts of the reproduction."""

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.nmtlc import analysis, reproduce

LEVELS = np.array([1.0, 2.0, 4.0, 8.0])


def test_halving_keeps_the_best_and_pays_what_is_new() -> None:
    curves = np.arange(8.0)[:, None] + np.zeros(4)
    survivors, spent = analysis.halve(curves, LEVELS, np.arange(8), eta=2.0, minimum=1 / 8)
    assert (survivors.tolist(), spent) == ([7], pytest.approx(8 * 1 / 8 + 4 * 1 / 8 + 2 * 2 / 8 + 1 * 4 / 8))
    everyone, spent = analysis.halve(curves, LEVELS, np.arange(8), eta=2.0, minimum=1.0)
    assert (everyone.tolist(), spent) == ([7, 6, 5, 4, 3, 2, 1, 0], 8.0)


def test_best_value_survives_a_fall_that_last_value_does_not() -> None:
    curves = np.array([[5.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]])
    rows = np.arange(2)
    assert analysis.halve(curves, LEVELS, rows, 2.0, 1 / 4)[0].tolist() == [1]
    assert analysis.halve(curves, LEVELS, rows, 2.0, 1 / 4, best=True)[0].tolist() == [0]


def test_rank_of_winner() -> None:
    curves = np.array([[0.0, 4.0], [1.0, 3.0], [2.0, 2.0], [-1.0, 1.0]])
    assert analysis.rank_of_winner(curves, curves[:, -1], 0) == 0.5
    assert analysis.rank_of_winner(curves, curves[:, -1], 1) == 0.0


def test_perplexity_is_no_order_of_bleu_for_fine_tuned_models(tmp_path: Path) -> None:
    """The winner by BLEU leads after a quarter of training, but many have a better perplexity at the end."""
    rows = {(row["corpus"], row["ordered by"]): row for row in reproduce.survivors(Reproduction(tmp_path))}
    for corpus in ("ft-fren", "ft-zhen"):
        assert float(rows[corpus, "bleu"]["at 1/4"]) == 0.0
        assert float(rows[corpus, "perplexity"]["at 1/1"]) > 0.3
    assert all(float(rows[c, "perplexity"]["at 1/4"]) == 0.0 for c in ("zhen", "ruen", "jaen", "enja", "swen", "soen"))


def test_agents_are_compared_at_half_and_all_of_the_budget() -> None:
    half, final = reproduce._regret("NMTLC-ft-fren-v0", "curve-ranker", {}, [0, 1])
    assert 0.0 <= final <= half <= 1.0
