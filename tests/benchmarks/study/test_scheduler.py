"""Workers that are killed, elsewhere or always dying: the same bytes, or an agent that stops alone."""

import signal
from pathlib import Path

import pytest

from hpo_envs.benchmarks.study import executors, store
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import Study, from_data
from tests.benchmarks.study.helpers import SMALL, Cluster

pytestmark = pytest.mark.hostile


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}


def deadly(mine: str, flag: Path, once: bool) -> Study:
    dies = {"name": "dies", "algorithm": f"{mine}:Dies", "hyperparameters": {"flag": str(flag), "once": once}}
    return from_data({**SMALL, "agents": [*SMALL["agents"], dies]})


@pytest.mark.parametrize("kind", ["processes", "dask"])
def test_two_workers_one_killed_in_middle_same_bytes(tmp_path: Path, mine: str, kind: str) -> None:
    if kind == "dask":
        pytest.importorskip("distributed")
    flag = tmp_path / "died"
    study = deadly(mine, flag, once=True)
    engine = executors.Processes(2) if kind == "processes" else executors.Dask("local", 2)
    with engine:
        assert engine.workers == 2
        outcome = conduct(study, tmp_path / "two", engine)
    assert flag.exists()
    assert (outcome.made, outcome.errors) == (25, {})
    conduct(study, tmp_path / "one")  # it died once already
    two, one = store.read(tmp_path / "two"), store.read(tmp_path / "one")
    assert store.digest(two) == store.digest(one)
    for name, runs in (("packed-one", one), ("packed-two", two)):
        store.write(runs, tmp_path / name)
    assert files_of(tmp_path / "packed-one") == files_of(tmp_path / "packed-two")


def test_scheduler_elsewhere_loses_worker(tmp_path: Path, mine: str) -> None:
    """As on machines that others set up: a scheduler and two workers, each a process of its own; one is killed."""
    pytest.importorskip("distributed")
    flag = tmp_path / "died"
    study = deadly(mine, flag, once=True)
    with Cluster(tmp_path, 2) as cluster, executors.Dask(cluster.address) as engine:
        assert cluster.address.startswith("tcp://127.0.0.1:")
        engine.client.wait_for_workers(2, timeout=120)
        outcome = conduct(study, tmp_path / "far", engine)
        assert engine.workers == 1
        assert [p.poll() for p in cluster.workers].count(-signal.SIGKILL) == 1
        assert cluster.scheduler.poll() is None  # the scheduler is not ours to end
    assert flag.exists()
    assert (outcome.made, outcome.errors) == (25, {})
    conduct(study, tmp_path / "here")
    assert store.digest(store.read(tmp_path / "far")) == store.digest(store.read(tmp_path / "here"))


def test_agent_at_which_workers_always_die_stops_alone(tmp_path: Path, mine: str) -> None:
    study = deadly(mine, tmp_path / "died", once=False)
    with executors.Processes(2) as engine:
        outcome = conduct(study, tmp_path / "runs", engine)
    assert {agent for _, agent in outcome.errors} == {"dies"}
    assert all("the worker died each time" in e for e in outcome.errors.values())
    kept = store.read(tmp_path / "runs")
    assert sorted({r.header["agent"] for r in kept}) == ["graph", "random"]
    assert len(kept) == outcome.made == 3 * 5
