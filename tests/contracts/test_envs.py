"""The contract of every id: Gymnasium's checkers, bounds, seeds, errors, pickles, and equal forms."""

from typing import Any

import gymnasium as gym
import pytest

from hpo_envs.core.engines import episodes
from hpo_envs.core.engines.function import scalar
from hpo_envs.families.function import SPACE, example, page
from hpo_envs.families.registry import FAMILIES, SPECS
from hpo_envs.testing import ENV_RULES, check_env
from tests.helpers import IDS, ONE_OF_EACH, WIDE, rejects

COVERS = (
    "hpo_envs.testing.batches",
    *sorted({p.partition(":")[0] for s in SPECS.values() for p in (s.entry_point, s.vector_entry_point)}),
    *(module.__name__ for module in (scalar, episodes, page, example)),
)
"""Modules that the rules exercise."""


@pytest.mark.parametrize("env_id", IDS if WIDE else ONE_OF_EACH)
def test_every_kind_of_id_keeps_the_contract(env_id: str) -> None:
    """Ids of one class differ only in their tables; `tests/regression` steps through all of them in both forms."""
    check_env(env_id)


def test_observations_rewards_and_infos_of_every_id_are_in_their_bounds() -> None:
    for env_id in IDS:
        check_env(env_id, rules=["bounds"])


def test_an_id_may_have_a_module_prefix() -> None:
    assert gym.make("hpo_envs:NMTHPO-swen-v0").spec.id == "NMTHPO-swen-v0"
    assert gym.make("NMTHPO-swen-v0").action_space.n == 767


def test_unknown_names_suggest_nearest() -> None:
    rejects("NMTHPO-swen", gym.make, "NMTHPO-swenn-v0", error=gym.error.NameNotFound)
    rejects("pair must be one of .*, got 'sven', did you mean 'swen'", gym.make, "NMTHPO-swen-v0", pair="sven")


LIVE = {family.name: family for family in FAMILIES.values() if family.example}
FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    *((name, dict(family.example)) for name, family in LIVE.items()),
    ("FunctionHPO", {**LIVE["FunctionHPO"].example, "actions": "box"}),
    ("FunctionHPO", {**LIVE["FunctionHPO"].example, "objective": ("score", "parameters"), "goal": ("max", "min")}),
)


@pytest.mark.parametrize("name, arguments", FORMS, ids=["final", "epochs", "box", "objectives"])
def test_every_form_keeps_the_contract(name: str, arguments: dict[str, Any]) -> None:
    check_env(LIVE[name].ids[0].id, rules=ENV_RULES, **arguments)


def test_example_has_one_best_configuration() -> None:
    best = example.train({"lr": 1e-3, "optimizer": "adam", "layers": 4})
    assert best["score"] == 0.95
    assert example.train({"lr": 1e-2, "optimizer": "sgd", "momentum": 0.9, "layers": 4})["score"] < 0.95
    *_, last = example.train_epochs({"lr": 1e-3, "optimizer": "adam", "layers": 4})
    assert last["score"] == pytest.approx(0.95 - 0.3 / 9)
    assert page.FunctionHPOEnv("hpo_envs.families.function.example:train", SPACE).params.live
