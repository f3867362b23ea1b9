"""A history answers as the array that is copied at each step would."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.core import history
from hpo_envs.core.history import History


@pytest.mark.parametrize("every", [1, 7, 100])
@pytest.mark.parametrize("k", [5, 16, 300])
def test_every_step_is_kept_through_restarts(k: int, every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether masks are read at every step, now and then, or at the end."""
    monkeypatch.setattr(history, "KEPT", 3)
    rng, n = np.random.default_rng(0), 3
    flags, expected = History(n, k), np.ones((n, k), bool)
    kept = []
    for step in range(60):
        if step % 7 == 3:
            some = np.arange(n) if step % 2 else rng.permutation(n)[:2]
            flags.restart(some)
            expected[some] = True
        columns = rng.integers(0, k, n)
        flags.clear(columns)
        expected[np.arange(n), columns] = False
        kept.append((flags.then(), expected.copy()))
        if step % every == 0:
            assert np.array_equal(kept[-1][0](), expected)
        assert len(flags._log) < max(3, k // 8), "memory does not grow with the steps"
    for then, expected in kept:
        assert np.array_equal(then(), expected)
        assert then().dtype == bool
        assert then() is not then()


def test_masks_made_late_do_not_change_what_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "KEPT", 2)
    flags = History(2, 40)
    for column in range(3):
        flags.clear(np.array([column, column]))
    before = flags.then()
    flags.restart(np.array([0]))
    assert before().sum(axis=1).tolist() == [37, 37]
    assert flags.then()().sum(axis=1).tolist() == [40, 37]
