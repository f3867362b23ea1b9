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


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(("k", "block"), [(5, history.BLOCK), (16, 2), (300, history.BLOCK), (300, 600)])
def test_every_step_is_kept_through_restarts(
    k: int, block: int, counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "KEPT", 3)
    monkeypatch.setattr(history, "BLOCK", block)
    rng, n = np.random.default_rng(0), 3
    flags, counts, index = History(n, k, 4 if counted else None), np.zeros((n, k), int), np.arange(n)
    kept = []
    for step in range(60):
        if step % 7 == 3:
            some = index if step % 2 else rng.permutation(n)[:2]
            flags.restart(some)
            counts[some] = 0
        columns = rng.integers(0, k, n)
        if counted:
            assert flags.count(columns).tolist() == counts[index, columns].tolist()
        flags.clear(columns)
        counts[index, columns] += 1
        kept.append((flags.then(), counts == 0))
        assert len(flags._log) <= (40 if counted else max(3, k // 8)), "memory does not grow with the steps"
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


def test_a_change_is_made_with_the_entries() -> None:
    made: list[int] = []
    later = Later(lambda: made.append(1) or {"a": 1})
    later.change(lambda entries: entries.update(a=entries["a"] + 1))
    assert not made
    assert later == {"a": 2}
    later.change(lambda entries: entries.update(b=3))
    assert later == {"a": 2, "b": 3}


def test_entries_by_keyword_are_there_as_in_a_dict() -> None:
    made = Later(lambda: {"a": 1, "b": 2})
    assert type(made)(**{k: v + 1 for k, v in made.items()}) == {"a": 2, "b": 3}
    assert Later() == {}
    assert Later(make=3) == {"make": 3}


def test_counts_go_on_where_all_began_again_one_by_one() -> None:
    flags = History(2, 10, 2)
    for _ in range(3):
        flags.clear(np.array([1, 2]))
    flags.restart(np.array([0]))
    flags.restart(np.array([1]))
    for times in range(4):
        assert flags.count(np.array([3, 4])).tolist() == [times, times]
        flags.clear(np.array([3, 4]))
    assert flags.count(np.array([1, 2])).tolist() == [0, 0]
