"""The contract of every family: the class docstring is its page, and what it says is what a step does."""

import pytest

from hpo_envs.families.registry import FAMILIES
from hpo_envs.testing import FAMILY_RULES, check_family


@pytest.mark.parametrize("rule", FAMILY_RULES)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_keeps(family: str, rule: str) -> None:
    check_family(FAMILIES[family], rules=[rule], environments=False)
