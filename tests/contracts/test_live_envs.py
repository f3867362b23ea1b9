"""The contract of environments that call a function: that of every environment, with the example of their family."""

from typing import Any

import pytest

from hpo_envs.core.engines import episodes
from hpo_envs.core.engines.function import scalar
from hpo_envs.families.function import SPACE, example, page
from hpo_envs.families.registry import FAMILIES
from hpo_envs.testing import ENV_RULES, check_env

COVERS = tuple(module.__name__ for module in (scalar, episodes, page, example))
"""Modules that every test here goes through."""

LIVE = {family.name: family for family in FAMILIES.values() if family.example}
FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    *((name, dict(family.example)) for name, family in LIVE.items()),
    ("FunctionHPO", {**LIVE["FunctionHPO"].example, "actions": "box"}),
    ("FunctionHPO", {**LIVE["FunctionHPO"].example, "objective": ("score", "parameters"), "goal": ("max", "min")}),
)


@pytest.mark.parametrize("name, arguments", FORMS, ids=["final", "epochs", "box", "objectives"])
def test_every_form_keeps(name: str, arguments: dict[str, Any]) -> None:
    check_env(LIVE[name].ids[0].id, rules=ENV_RULES, **arguments)


def test_example_has_one_best_configuration() -> None:
    best = example.train({"lr": 1e-3, "optimizer": "adam", "layers": 4})
    assert best["score"] == 0.95
    assert example.train({"lr": 1e-2, "optimizer": "sgd", "momentum": 0.9, "layers": 4})["score"] < 0.95
    *_, last = example.train_epochs({"lr": 1e-3, "optimizer": "adam", "layers": 4})
    assert last["score"] == pytest.approx(0.95 - 0.3 / 9)
    assert page.FunctionHPOEnv("hpo_envs.families.function.example:train", SPACE).params.live
