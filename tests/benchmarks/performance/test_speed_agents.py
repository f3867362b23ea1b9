"""Suggestions of every optimiser can be timed."""

from __future__ import annotations

import pytest

from hpo_envs.benchmarks.performance import speed_agents
from hpo_envs.tables import store

TABLE = store.load("nmthpo/swen", "surrogate")


@pytest.mark.parametrize("name", ["BO_EI_M", "GB_EI_M"])
def test_agents_of_ours(name: str) -> None:
    assert speed_agents.own(TABLE, name, [5, 9, 17]) >= 0


def test_samplers_of_optuna() -> None:
    pytest.importorskip("optuna", reason="extra optuna is not installed")
    assert speed_agents.optuna_sampler(TABLE, "tpe", [5, 9, 17]) >= 0
