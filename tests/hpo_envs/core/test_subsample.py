"""Configurations of an episode: equal in both forms, a permutation, a subsample."""

from itertools import combinations

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.runs import run
from hpo_envs.core.engines.lookup.batched import LookupVectorEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.core.subsample import WHOLE, View
from hpo_envs.tables import draws
from tests.helpers import first_key, raises, started

PARAMS = LookupParams.of(("nmthpo/zhen",), budget=4)
KEYS = np.array([draws.mix(7, i) for i in range(50)], np.uint64)


def test_by_default_action_k_is_row_k() -> None:
    assert View() == WHOLE
    assert WHOLE.whole
    assert (WHOLE.rows(3, 5).tolist(), WHOLE.rows_many(KEYS, 5).tolist()) == ([0, 1, 2, 3, 4], [[0, 1, 2, 3, 4]] * 50)


@pytest.mark.parametrize("view", [View(True), View(False, 0.3), View(True, 0.3)])
def test_both_forms_draw_same_rows(view: View) -> None:
    many = view.rows_many(KEYS, 20)
    assert not view.whole
    assert many.shape == (50, view.size(20))
    for key, rows in zip(KEYS.tolist(), many.tolist(), strict=True):
        assert (view.rows(key, 20).tolist(), len(set(rows))) == (rows, len(rows))
        assert set(rows) <= set(range(20))
    assert len({tuple(rows) for rows in many.tolist()}) > 40


def test_whole_budget_is_the_most_that_an_episode_can_spend() -> None:
    costs = np.random.default_rng(0).random((2, 7, 3))
    for share in (0.1, 0.5, 1.0):
        some = [costs[t, list(c)].sum() for t in (0, 1) for c in combinations(range(7), View(False, share).size(7))]
        assert View(False, share).most(costs) == pytest.approx(max(some))
    for r in run("random", "NMTHPO-swen-v0", range(2), env_kwargs={"budget": None, "subsample": 0.05}):
        every = regret.after(r)
        assert regret.averaged(r.header, r.costs, every) == pytest.approx(every.mean())
        assert (len(r), r.header["budget"]) == (38, 38.0)
    params = gym.make("NMTLC-swen-v0", budget=None, subsample=0.05, cost="evaluations").unwrapped.params
    assert params.budget == params.steps


def test_what_is_too_large_to_keep_is_drawn_as_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = View(True, 0.5).rows_many(KEYS, 20)
    monkeypatch.setattr("hpo_envs.core.subsample.KEPT", 50 * 20 - 1)
    assert View(True, 0.5).rows_many(KEYS, 20).tolist() == kept.tolist()


def test_subsample_is_same_shuffled_or_not() -> None:
    in_order, drawn = View(False, 0.25).rows_many(KEYS, 16), View(True, 0.25).rows_many(KEYS, 16)
    assert in_order.shape == (50, 4)
    assert (np.diff(in_order, axis=1) > 0).all()
    assert np.sort(drawn, axis=1).tolist() == in_order.tolist()


@pytest.mark.parametrize("shuffle", [False, True])
def test_rows_with_equal_hashes_are_taken_in_their_order(shuffle: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "mix_many", lambda keys, counter: np.broadcast_to(np.uint64(7), (3, 10)))
    assert View(shuffle, 0.4)._drawn(KEYS[:3], 10).tolist() == [[0, 1, 2, 3]] * 3


def test_what_was_drawn_is_not_to_be_written() -> None:
    drawn = View(True).rows_many(KEYS, 20)
    assert not drawn.flags.writeable
    assert View(True).rows_many(KEYS, 20) is drawn


def test_every_row_comes_first_equally_often() -> None:
    keys = np.array([draws.mix(11, i) for i in range(4000)], np.uint64)
    first = View(True).rows_many(keys, 8)[:, 0]
    assert np.abs(np.bincount(first, minlength=8) - 500).max() < 100


def test_at_least_one_row() -> None:
    assert (View(subsample=1e-9).size(10), View(subsample=0.5).size(10), View(subsample=1.0).size(10)) == (1, 5, 10)


def test_first_key_is_that_of_first_episode_of_both_forms() -> None:
    envs = started(LookupVectorEnv(2, PARAMS), seed=7)
    one = started(LookupEnv(PARAMS), seed=8)
    assert (envs.episodes[0].tolist(), one._key) == ([first_key(7), first_key(8)], first_key(8))


def test_errors_of_views_name_argument_and_rule() -> None:
    with raises("subsample must be a number in (0, 1], got 1.5"):
        View(subsample=1.5)
    with raises("shuffle must be True or False, got 'random'"):
        View("random")  # type: ignore[arg-type]
