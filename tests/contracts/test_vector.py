"""The batched form equals the scalar one, trajectory for trajectory, on every id."""

from __future__ import annotations

import pytest

from hpo_envs.registry import SPECS
from hpo_envs.testing import check_env
from hpo_envs.testing.batches import BATCH_RULES

COVERS = ("hpo_envs.testing.batches", *sorted({s.vector_entry_point.partition(":")[0] for s in SPECS.values()}))
"""Modules that every test here goes through."""


@pytest.mark.parametrize("rule", BATCH_RULES)
def test_every_id_keeps(rule: str, env_id: str) -> None:
    check_env(env_id, rules=[rule])
