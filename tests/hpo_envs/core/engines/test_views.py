"""An episode's own order and share of the rows: both forms agree, and what is answered is the table row's answer."""

from typing import Any

import numpy as np
import pytest

from hpo_envs.core.engines.bandit.batched import BanditVectorEnv
from hpo_envs.core.engines.bandit.params import BanditParams
from hpo_envs.core.engines.bandit.scalar import BanditEnv
from hpo_envs.core.engines.curves.batched import CurvesVectorEnv
from hpo_envs.core.engines.curves.params import CurveParams
from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.core.engines.lookup.batched import LookupVectorEnv
from hpo_envs.core.engines.lookup.params import LookupParams
from hpo_envs.core.engines.lookup.scalar import LookupEnv
from hpo_envs.wrappers import ContinuousAction
from tests.helpers import raises

VIEWS = ({"shuffle": True}, {"subsample": 0.5}, {"shuffle": True, "subsample": 0.5})


def lookup(**view: Any) -> Any:
    return LookupParams.of(("nmthpo/zhen",), budget=12, **view), LookupEnv, LookupVectorEnv


def repeats(**view: Any) -> Any:
    names = ("nasbenchnlp/ptb-final",)
    p = LookupParams.of(names, objective="test_loss", budget=12, **view)
    return p, LookupEnv, LookupVectorEnv


def curves(workers: int = 1, **view: Any) -> Any:
    p = CurveParams.of("nmtlc/ft-zhen", objective="log_perplexity", levels=4, workers=workers, **view)
    return p, CurvesEnv, CurvesVectorEnv


def bandit(**kwargs: Any) -> Any:
    return BanditParams.of("tdsa8", budget=30, **kwargs), BanditEnv, BanditVectorEnv


MAKERS = {
    "rows": lookup,
    "repeats": repeats,
    "curves": curves,
    "curves, workers": lambda **view: curves(3, **view),
    "arms": bandit,
    "batches": lambda **view: bandit(batch_size=3, **view),
    "arms, workers": lambda **view: bandit(workers=3, **view),
}


@pytest.mark.parametrize("view", VIEWS, ids=str)
@pytest.mark.parametrize("maker", MAKERS)
def test_both_forms_show_same_rows(maker: str, view: dict[str, Any]) -> None:
    params, scalar, batched = MAKERS[maker](**view)
    ones, many = [scalar(params) for _ in range(3)], batched(3, params)
    for i, one in enumerate(ones):
        one.reset(seed=5 + i)
    many.reset(seed=5)
    many.action_space.seed(1)
    assert many.rows.tolist() == [one.rows.tolist() for one in ones]
    ended = np.zeros(3, bool)
    for _ in range(11):
        actions = many.action_space.sample()
        observations, rewards, terminated, _, infos = many.step(actions)
        for i in np.flatnonzero(~ended):
            observation, reward, over, _, info = ones[i].step(actions[i])
            assert observations[i].tolist() == observation.tolist()
            assert (rewards[i], terminated[i]) == (reward, over)
            assert infos["cost"][i] == info["cost"]
            if info.get("finished", True):
                row, action = info["row"], np.ravel(info.get("action", actions[i]))
                assert np.ravel(infos["row"][i]).tolist() == np.ravel(row).tolist()
                indices = action if maker == "batches" else action[:1]
                assert np.ravel(row).tolist() == ones[i].rows[indices].tolist()
            ended[i] = over
        if maker != "batches" and not ended.any():
            assert many.action_masks().tolist() == [one.action_masks().tolist() for one in ones]
        if ended.all():
            break


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_row_is_answered_as_it_is_without_view(view: dict[str, Any]) -> None:
    plain, shown = LookupEnv(lookup()[0]), LookupEnv(lookup(**view)[0])
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
    with raises("shuffle and subsample must be left alone for this wrapper, got View(shuffle=True, subsample=1.0)"):
        ContinuousAction(LookupEnv(lookup(shuffle=True)[0]))
