"""Candidates that are scored where there are many: near the best, and at random."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.agents.models import pool

X = np.linspace(0.0, 1.0, 100)[:, None]
FREE = np.ones(100, bool)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two incumbents with four neighbours each, and three random candidates."""
    for name, value in (("INCUMBENTS", 2), ("NEIGHBOURS", 4), ("RANDOM", 3)):
        monkeypatch.setattr(pool, name, value)


def test_neighbours_of_the_best_and_random_ones_are_scored() -> None:
    near = [*range(48, 53), *range(8, 13)]
    for seed in range(5):
        drawn = pool.Pool(X).draw([90, 50, 10, 50], np.array([0.0, 2.0, 1.0, 1.5]), FREE, np.random.default_rng(seed))
        assert sorted(set(drawn)) == drawn.tolist()
        assert set(near) <= set(drawn)
        assert len(near) < len(drawn) <= len(near) + 3


def test_random_ones_are_free_and_as_many_as_there_are() -> None:
    free = FREE.copy()
    free[2:] = False
    drawn = pool.Pool(X).draw([50], np.array([1.0]), free, np.random.default_rng(0))
    assert drawn.tolist() == [0, 1, *range(48, 53)]


def test_neighbours_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    nearest = pool.Pool._nearest
    monkeypatch.setattr(pool.Pool, "_nearest", lambda self, k: looked.append(k) or nearest(self, k))
    candidates = pool.Pool(X)
    rng = np.random.default_rng(0)
    for rows in ([5], [5, 60], [5, 60, 7]):
        candidates.draw(rows, np.arange(len(rows), dtype=float), FREE, rng)
    assert looked == [5, 60, 7]
    assert list(candidates._near) == [7, 60], "what is no incumbent any more is forgotten"
