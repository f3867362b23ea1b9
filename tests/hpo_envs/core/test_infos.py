"""Batched infos: scattered, merged, blanked; histories of masks."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from hpo_envs.core import infos
from hpo_envs.core import subsample as history
from hpo_envs.core.infos import STATUS_COLUMN, column
from hpo_envs.core.subsample import ClearedFlags


def test_batched_infos() -> None:
    index = np.array([0, 2])
    value = {"a": np.array([1.0, 2.0]), "b": {"c": np.array(["x", "y"]), "o": np.array([{}, {}], object)}}
    whole = infos.scatter(value, index, 3)
    assert (whole["a"].tolist(), whole["b"]["c"].tolist()) == ([1.0, 0.0, 2.0], ["x", "", "y"])
    assert whole["b"]["o"].tolist() == [{}, None, {}]
    same = np.array([1, 2])
    assert infos.scatter(same, index, 2) is same
    assert infos.scatter(np.ones((2, 4)), index, 3).shape == (3, 4)
    info: dict[str, Any] = {"a": np.array([9.0, 9.0, 9.0]), "_a": np.array([False, True, False])}
    old_mask = info["_a"]
    infos.merge(info, whole, index, 3)
    assert (info["a"].tolist(), info["_a"].tolist()) == ([1.0, 9.0, 2.0], [True, True, True])
    assert (old_mask.tolist(), info["_b"].tolist()) == ([False, True, False], [True, False, True])
    assert info["_b"].dtype == bool
    infos.merge(info, {"b": {"c": np.array(["p", "q", "r"]), "o": np.array([1, 2, 3], object)}}, np.array([1]), 3)
    assert (info["b"]["c"].tolist(), info["_b"].tolist()) == (["x", "q", "y"], [True, True, True])
    copied = infos.mapped(info["b"], np.copy)
    infos.blank(info["b"], index)
    assert (info["b"]["c"].tolist(), info["b"]["o"].tolist()) == (["", "q", ""], [None, 2, None])
    assert copied["c"].tolist() == ["x", "q", "y"]


def test_what_is_scattered_keeps_its_type() -> None:
    for dtype in (np.int32, np.float32, bool):
        spread = infos.scatter(np.ones(2, dtype), np.array([0, 2]), 3)
        assert (spread.dtype, spread.tolist()) == (dtype, [1, 0, 1])
    words = infos.scatter(np.array(["failed"]), np.array([1]), 2)
    assert (words.dtype, words.tolist()) == (np.dtype("<U6"), ["", "failed"])


READERS: list[Callable[[infos.MaskedInfo], Any]] = [
    lambda info: info["action_mask"], lambda info: info.get("action_mask"), lambda info: dict(info)["action_mask"],
    lambda info: {**info}["action_mask"], lambda info: (info | {"b": 1})["action_mask"],
    lambda info: info.copy()["action_mask"], lambda info: dict(info.items())["action_mask"],
    lambda info: [*info.values()][1], lambda info: copy.copy(info)["action_mask"],
    lambda info: pickle.loads(pickle.dumps(info))["action_mask"], lambda info: info.pop("action_mask"),
]  # fmt: skip


@pytest.mark.parametrize("read", READERS)
def test_masks_are_made_when_they_are_read(read: Callable[[infos.MaskedInfo], Any]) -> None:
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return np.eye(2, dtype=np.int8)

    info = infos.MaskedInfo.of({"cost": np.ones(2)}, make, np.ones(2, bool))
    assert [*info] == ["cost", "action_mask", "_action_mask"]
    assert info["cost"].tolist() == [1, 1]
    assert not made
    assert (read(info).tolist(), made) == ([[1, 0], [0, 1]], [1])
    if "action_mask" in info:
        assert info["action_mask"] is info["action_mask"]
        assert made == [1]


def test_masks_are_changed_before_and_after_they_are_made() -> None:
    for early in (True, False):
        info = infos.MaskedInfo.of({}, lambda: np.eye(2, dtype=np.int8), np.ones(2, bool))
        if early:
            assert info["action_mask"][0, 0] == 1
        infos.change_mask(info, lambda mask: 1 - mask)
        assert info["action_mask"].tolist() == [[0, 1], [1, 0]]
        infos.change_mask(info, None)
        assert not info
    plain = {"action_mask": 1}
    infos.change_mask(plain, lambda mask: mask + 1)
    assert plain == {"action_mask": 2}


def test_numbers_become_numpys() -> None:
    made = infos.numeric({"a": 1, "b": 0.5, "c": True, "d": "text", "e": np.int8(3), "f": None})
    assert [type(v) for v in made.values()] == [np.int64, np.float64, np.bool_, str, np.int8, type(None)]


def test_texts_have_hashes() -> None:
    status = STATUS_COLUMN.take(np.array([0, 2, 0]))
    assert (status.tolist(), (status == "ok").tolist()) == (["ok", "diverged", "ok"], [True, False, True])
    ok, diverged, again = np.from_dlpack(status).tolist()
    assert ok == again != diverged
    status[1] = ""  # nothing reported
    assert np.from_dlpack(status[1:]).tolist() == [0, ok]


def test_arrays_are_stacked() -> None:
    final = column([None, np.array([1.5, 2.0], np.float32)])
    assert (np.from_dlpack(final).tolist(), np.from_dlpack(final).dtype) == ([[0, 0], [1.5, 2]], np.float32)


def test_infos_of_two_batches_are_equal_to_gymnasium() -> None:
    one, other = (gym.make_vec("NMTHPO-zhen-v0", num_envs=2) for _ in range(2))
    assert data_equivalence(one.reset(seed=0), other.reset(seed=0), exact=True)
    assert data_equivalence(one.step(np.array([3, 4])), other.step(np.array([3, 4])), exact=True)


def test_environments_are_pickled_in_middle_of_episode() -> None:
    env: Any = gym.make("CharHPO-v0", disable_env_checker=True).unwrapped
    env.reset(seed=1)
    action = np.zeros(env.action_space.shape, np.float32)
    env.step(action)
    assert data_equivalence(pickle.loads(pickle.dumps(env)).step(action), env.step(action), exact=True)


def test_what_one_environment_said() -> None:
    yes = np.array([True, False])
    info = {"a": np.array([1.0, 2.0]), "_a": yes, "b": {"c": np.array(["x", "y"])}, "_b": ~yes}
    assert infos.of_one(info, 0, ["a", "b", "other"]) == {"a": 1.0}
    assert (infos.of_one(info, 1, ["a", "b", "other"]), infos.of_one(info, 0, [])) == ({"b": {"c": "y"}}, {})


@pytest.mark.parametrize("every", [1, 7, 100])
@pytest.mark.parametrize("k", [5, 16, 300])
def test_every_step_is_kept_through_restarts(k: int, every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If masks are read at every step, occasionally, or only at the end."""
    monkeypatch.setattr(history, "REPLAYED", 3)
    rng, n = np.random.default_rng(0), 3
    flags, expected = ClearedFlags(n, k), np.ones((n, k), bool)
    kept = []
    for step in range(60):
        if step % 7 == 3:
            some = np.arange(n) if step % 2 else rng.permutation(n)[:2]
            flags.restart(some)
            expected[some] = True
        columns = rng.integers(0, k, n)
        flags.clear(columns)
        expected[np.arange(n), columns] = False
        kept.append((flags.snapshot(), expected.copy()))
        if step % every == 0:
            assert np.array_equal(kept[-1][0](), expected)
        assert len(flags._log) < max(3, k // 8), "memory does not grow with the steps"
    for then, expected in kept:
        assert np.array_equal(then(), expected)
        assert then().dtype == bool
        assert then() is not then()


def test_masks_made_late_do_not_change_what_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "REPLAYED", 2)
    flags = ClearedFlags(2, 40)
    for k in range(3):
        flags.clear(np.array([k, k]))
    before = flags.snapshot()
    flags.restart(np.array([0]))
    assert (before().sum(axis=1).tolist(), flags.snapshot()().sum(axis=1).tolist()) == ([37, 37], [40, 37])
