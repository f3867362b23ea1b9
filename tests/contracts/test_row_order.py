"""The index of an action carries no information: every id whose actions are rows may draw their order anew."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from hpo_envs.registry import SPECS
from hpo_envs.testing.families import page_of, section
from tests.helpers import raises


def _made(spec_id: str, **kwargs: Any) -> Any:
    return gym.make(spec_id, table="surrogate", **kwargs).unwrapped


OF_ROWS = [i for i in SPECS if _made(i).params.kind in ("rows", "fidelity", "arms")]
"""Ids whose actions are rows, at one level or at many, or arms."""


def test_ids_of_rows_and_no_others_take_order_and_share_and_their_pages_say_so() -> None:
    for spec_id, spec in SPECS.items():
        arguments = section(page_of(spec), "Arguments")
        assert ('- `order="table"`' in arguments and "- `share=1.0`" in arguments) == (spec_id in OF_ROWS), spec_id
        if spec_id not in OF_ROWS:
            with pytest.raises((TypeError, ValueError), match="order"):
                _made(spec_id, order="episode")


@pytest.mark.parametrize("spec_id", OF_ROWS)
def test_an_episode_has_its_share_of_the_rows_in_its_own_order(spec_id: str) -> None:
    env = _made(spec_id, order="episode", share=0.5)
    rows = len(env.table)
    env.reset(seed=0)
    seen = [env.rows.tolist()]
    for _ in range(9):
        env.reset()
        seen.append(env.rows.tolist())
    space = env.action_space
    size = space.n if isinstance(space, gym.spaces.Discrete) else space.nvec[0]
    assert {len(r) for r in seen} == {len(set(r)) for r in seen} == {size} == {max(1, round(rows / 2))}
    assert len({tuple(r) for r in seen}) > 1
    assert {row for r in seen for row in r} <= set(range(rows))


@pytest.mark.parametrize("spec_id", OF_ROWS)
def test_other_orders_and_shares_are_refused(spec_id: str) -> None:
    with raises("order must be one of table, episode, got 'file'"):
        _made(spec_id, order="file")
    for share in (0.0, 1.5, True, float("nan")):
        with raises(f"share must be a number in (0, 1], got {share!r}"):
            _made(spec_id, share=share)
