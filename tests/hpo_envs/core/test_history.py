"""A history answers as the array that is copied at each step would; a dict that is filled late, as a full one."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hpo_envs.core import history
from hpo_envs.core.history import History, Later, Rewind


@pytest.mark.parametrize("few", [0, history.FEW])
@pytest.mark.parametrize("k", [5, 16, 300])
def test_every_step_is_kept_through_restarts(k: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "KEPT", 3)
    monkeypatch.setattr(history, "FEW", few)
    rng, n = np.random.default_rng(0), 3
    flags, array = History(n, k), np.ones((n, k), bool)
    kept = []
    for step in range(60):
        if step % 7 == 3:
            some = np.arange(n) if step % 2 else rng.permutation(n)[:2]
            flags.restart(some)
            array[some] = True
        rows, columns = rng.permutation(n)[:2], rng.integers(0, k, 2)
        flags.clear(rows, columns)
        array[rows, columns] = False
        kept.append((flags.then(), array.copy()))
        assert len(flags._log) <= 6, "memory does not grow with the steps"
    for then, expected in kept:
        assert np.array_equal(then(), expected)
        assert then().dtype == bool
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


USES: list[Callable[[Any], Any]] = [
    *(lambda d: d["a"], dict, list, len, bool, repr, str, copy.copy, copy.deepcopy, json.dumps),
    *(lambda d: {**d}, lambda d: d | {"c": 3}, lambda d: {"c": 3} | d, lambda d: "a" in d, lambda d: d == {"a": 1}),
    *(lambda d: d != {}, lambda d: d.get("a"), lambda d: list(d.items()), lambda d: list(d.values())),
    *(lambda d: d.copy(), lambda d: list(reversed(d)), lambda d: d.pop("a"), lambda d: pickle.loads(pickle.dumps(d))),
    *(lambda d: d.setdefault("a", 5), lambda d: [d.update(c=3), dict(d)], lambda d: [d.clear(), dict(d)]),
    *(lambda d: [d.__setitem__("a", 4), dict(d)], lambda d: [d.__delitem__("a"), dict(d)], lambda d: dict(d, c=3)),
]


@pytest.mark.parametrize("use", USES)
def test_every_use_finds_what_a_dict_holds(use: Callable[[Any], Any]) -> None:
    made: list[int] = []

    def make() -> dict[str, Any]:
        made.append(1)
        return {"a": 1, "b": 2}

    later = Later(make)
    assert isinstance(later, dict)
    assert not made
    assert use(later) == use({"a": 1, "b": 2})
    assert made == [1]
    use(Later(make)) and len(later)
    assert len(made) == 2


def test_entries_by_keyword_are_there_as_in_a_dict() -> None:
    made = Later(lambda: {"a": 1, "b": 2})
    assert type(made)(**{k: v + 1 for k, v in made.items()}) == {"a": 2, "b": 3}
    assert Later() == {}
    assert Later(make=3) == {"make": 3}
