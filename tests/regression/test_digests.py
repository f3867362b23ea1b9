"""Nothing that the suite returns changes unnoticed: a part of `digests.py`, which checks everything at night."""

from typing import Any

import pytest

from hpo_envs.agents import AGENTS
from tests.regression import digests

RECORD = digests.read()
SMALL = digests.small(RECORD)


@pytest.mark.parametrize("env_id", sorted({key.partition("/")[0] for key in SMALL}))
def test_nothing_changed(env_id: str) -> None:
    tasks: Any = [tuple(key.split("/")) for key in SMALL if key.startswith(f"{env_id}/")]
    now = {"/".join(task): value for task, value in map(digests.digest, tasks)}
    assert digests.report({key: RECORD[key] for key in now}, now, digests.here()) == 0


def test_everything_is_recorded_and_nothing_that_is_gone() -> None:
    now = {"/".join(task) for task in digests.tasks()}
    assert sorted(now - RECORD.keys()) == [], digests.NEW
    missing = {name for name, entry in AGENTS.items() if not entry.installed}
    gone = RECORD.keys() - now
    assert sorted(key for key in gone if key.rpartition("/")[2] not in missing) == []


def test_agents_of_this_package_are_compared() -> None:
    external = {name for name, entry in AGENTS.items() if entry.extra is not None} | {*digests.SLOWEST}
    assert {k.rpartition("/")[2] for k in RECORD} - external == {k.rpartition("/")[2] for k in digests.small(RECORD)}
