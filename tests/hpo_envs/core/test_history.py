"""A history answers as the array that is copied at each step would."""

from __future__ import annotations

import numpy as np

from hpo_envs.core.history import History, Rewind


def test_every_step_is_kept_through_restarts() -> None:
    rng, n, k = np.random.default_rng(0), 3, 5
    history, array = History(n, k, -1), np.full((n, k), -1)
    kept = []
    for step in range(60):
        if step % 7 == 3:
            some = np.arange(n) if step % 2 else rng.permutation(n)[:2]
            history.restart(some)
            array[some] = -1
        rows, columns, values = rng.permutation(n)[:2], rng.integers(0, k, 2), rng.integers(0, 9, 2)
        history.write(rows, columns, values)
        array[rows, columns] = values
        kept.append((history.then(), array.copy()))
        if step % 11 == 0:
            assert np.array_equal(history.now(), array)
    for then, expected in kept:
        assert np.array_equal(then(), expected)
        assert then() is not then()


def test_a_rewound_array_is_as_it_was() -> None:
    rng, array = np.random.default_rng(1), np.zeros((3, 4), int)
    rewind = Rewind(array)
    kept = []
    for step in range(30):
        where = (rng.permutation(3)[:2], rng.integers(0, 4, 2)) if step % 5 else rng.permutation(3)[:1]
        rewind.write(where, array[where])
        array[where] = step
        kept.append((rewind.then(), array.copy()))
    for then, expected in kept:
        assert np.array_equal(then(), expected)
