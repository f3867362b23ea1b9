"""Workers that are killed or always die: the same bytes, or only that agent is stopped."""

from pathlib import Path
from typing import Any

import pytest

from hpo_envs.benchmarks.study import store
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import Study, from_data
from tests.benchmarks.study.helpers import SMALL
from tests.robustness.executors import loky, own, spawned

pytestmark = pytest.mark.hostile


def deadly(mine: str, flag: Path, once: bool) -> Study:
    dies = {"name": "dies", "algorithm": f"{mine}:Dies", "hyperparameters": {"flag": str(flag), "once": once}}
    return from_data({**SMALL, "agents": [*SMALL["agents"], dies]})


@pytest.mark.parametrize("executor", [own, spawned, loky])
def test_two_workers_one_killed_in_middle_same_digest(executor: Any, tmp_path: Path, mine: str) -> None:
    flag = tmp_path / "died"
    study = deadly(mine, flag, once=True)
    outcome = conduct(study, tmp_path / "two", executor)
    assert flag.exists()
    assert (outcome.made, outcome.errors) == (25, {})
    conduct(study, tmp_path / "one")  # it died once already
    assert store.digest(store.read(tmp_path / "two")) == store.digest(store.read(tmp_path / "one"))


@pytest.mark.parametrize("executor", [own, spawned])
def test_agent_at_which_workers_always_die_stops_alone(executor: Any, tmp_path: Path, mine: str) -> None:
    outcome = conduct(deadly(mine, tmp_path / "died", once=False), tmp_path / "runs", executor)
    assert {agent for _, agent in outcome.errors} == {"dies"}
    assert all("the worker died each time" in e for e in outcome.errors.values())
    kept = store.read(tmp_path / "runs")
    assert sorted({r.header["agent"] for r in kept}) == ["graph", "random"]
    assert len(kept) == outcome.made == 3 * 5
