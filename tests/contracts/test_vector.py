"""The batched form equals the scalar one, trajectory for trajectory."""

import os

import pytest

from hpo_envs.families.registry import SPECS
from hpo_envs.testing import check_env
from hpo_envs.testing.batches import BATCH_RULES
from tests.helpers import IDS, ONE_OF_EACH

COVERS = ("hpo_envs.testing.batches", *sorted({s.vector_entry_point.partition(":")[0] for s in SPECS.values()}))
"""Modules that every test here goes through."""


@pytest.mark.parametrize("rule", BATCH_RULES)
@pytest.mark.parametrize("env_id", IDS if "HPO_ENVS_FUZZ" in os.environ else ONE_OF_EACH)
def test_scalar_and_vectorized_trajectories_agree(rule: str, env_id: str) -> None:
    """Ids of one class differ in their tables, which `tests/regression` steps through in both forms."""
    check_env(env_id, rules=[rule])
