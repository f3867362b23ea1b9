"""Shuffled and subsampled episodes: results are those of the table row."""

from typing import Any

import pytest

from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.wrappers import ContinuousAction
from tests.helpers import raises

VIEWS = ({"shuffle": True}, {"subsample": 0.5}, {"shuffle": True, "subsample": 0.5})


def lookup(**view: Any) -> LookupEnv:
    return LookupEnv(LookupParams.of(("nmthpo/zhen",), budget=12, **view))


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_row_is_answered_as_it_is_without_view(view: dict[str, Any]) -> None:
    plain, shown = lookup(), lookup(**view)
    plain.reset(seed=0)
    shown.reset(seed=0)
    assert shown.action_space.n == round(view.get("subsample", 1.0) * 118)
    for action in (0, 7, 31):
        _, reward, _, _, info = shown.step(action)
        _, expected, _, _, said = plain.step(int(shown.rows[action]))
        assert (reward, info["metrics"], info["config"]) == (expected, said["metrics"], said["config"])
        assert info["action_mask"][action] == 0
        assert "row" not in said
    assert int(info["action_mask"].sum()) == len(shown.rows) - 3


def test_wrappers_that_take_action_k_for_row_k_reject_view() -> None:
    with raises("shuffle and subsample must be left out for this wrapper, got View(shuffle=True, subsample=1.0)"):
        ContinuousAction(lookup(shuffle=True))
