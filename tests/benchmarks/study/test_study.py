"""Studies: what a file may say, going on after any stop, and the same results on every engine."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from hpo_envs import agents, benchmarks
from hpo_envs.benchmarks.study import executors, store
from hpo_envs.benchmarks.study import task as work
from hpo_envs.benchmarks.study.scheduler import conduct, runs_of
from hpo_envs.benchmarks.study.study import Contestant, Environment, Study, from_data, from_file, seeds_of
from hpo_envs.benchmarks.study.task import Task, perform, remainder
from hpo_envs.commands.main import main
from hpo_envs.registry import SPECS

SMALL: dict[str, Any] = {
    "seeds": 5,
    "table": "surrogate",
    "budget": 4,
    "environments": ["NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0"],
    "agents": ["random", {"name": "graph", "algorithm": "graph-ei-rbf"}],
}


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}


# -- what a study file says ----------------------------------------------------------------------------------------


def test_a_study_file(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'seeds = "3-5"\ntable = "surrogate"\nbudget = 50\n'
        'environments = ["NMTHPO-*-mo-v0", { id = "NMTLC-swen-v0", budget = "all", cost = "evaluations" },\n'
        ' { id = "NMTHPO-zhen-v0", objective = ["bleu", "decoding_seconds"] }]\n'
        'agents = ["random", { name = "wide", algorithm = "bo-ucb", hyperparameters = { beta = 4.0 } }]\n'
    )
    study = from_file(tmp_path / "study.toml")
    assert study.seeds == (3, 4, 5)
    ids = [i for i in SPECS if i.startswith("NMTHPO-") and i.endswith("-mo-v0")]
    assert [e.id for e in study.environments] == [*ids, "NMTLC-swen-v0", "NMTHPO-zhen-v0"]
    assert study.environments[0].kwargs == {"table": "surrogate", "budget": 50}
    assert study.environments[-2].kwargs == {"table": "surrogate", "budget": None, "cost": "evaluations"}
    assert study.environments[-1].kwargs["objective"] == ("bleu", "decoding_seconds")
    assert study.agents == (Contestant("random", "random"), Contestant("wide", "bo-ucb", {"beta": 4.0}))


def test_seeds() -> None:
    assert seeds_of(3) == (0, 1, 2)
    assert seeds_of([7, "1-3"]) == (1, 2, 3, 7)
    for bad in (0, True, -1, "3", "5-1", [1, 1], [-1], [1.5], [True], None):
        with pytest.raises(ValueError, match="seeds must be"):
            seeds_of(bad)


def test_all_agents_are_those_that_can_be_had() -> None:
    study = from_data({**SMALL, "agents": "all", "environments": "all"})
    assert {e.id for e in study.environments} == set(SPECS)
    assert {"random", "bo", "hyperband"} <= {c.name for c in study.agents}
    assert not {c.name for c in study.agents} & {n for n, e in agents.AGENTS.items() if e.alias_of}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"seed": 3}, "key of a study must be one of .* got 'seed', did you mean 'seeds'"),
        ({"environments": ["NMTHPO-swenn-v0"]}, "did you mean 'NMTHPO-swen-v0'"),
        ({"environments": ["nothing-*"]}, "environment must be a registered id"),
        ({"environments": []}, "environments must be at least one"),
        (
            {"environments": ["NMTHPO-*-v0", "NMTHPO-zhen-v0"]},
            "environments must be distinct, got 'NMTHPO-zhen-v0' twice",
        ),
        ({"environments": [{"id": "NMTHPO-zhen-v0", "bugdet": 3}]}, "did you mean 'budget'"),
        ({"environments": [3]}, "an environment must be an id or a table with an id, got 3"),
        ({"agents": ["rndom"]}, "did you mean 'random'"),
        ({"agents": ["random", "random"]}, "agents must be distinct, got 'random' twice"),
        ({"agents": [{"hyperparameters": {}}]}, "an agent must be a name or a table with a name"),
        ({"agents": ["nowhere:Agent"]}, "agent must be importable as module:factory, got 'nowhere:Agent'"),
        ({"agents": ["hpo_envs:__version__"]}, "which is no factory"),
    ],
)
def test_what_a_study_cannot_mean(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_data({**SMALL, **change})


def test_a_study_needs_its_parts_and_toml(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a study must have seeds, got environments, agents"):
        from_data({k: SMALL[k] for k in ("environments", "agents")})
    (tmp_path / "bad.toml").write_text("seeds = = 3")
    with pytest.raises(ValueError, match=r"bad.toml must be a TOML file"):
        from_file(tmp_path / "bad.toml")


# -- running it ----------------------------------------------------------------------------------------------------


def test_a_study_is_the_run_loop(tmp_path: Path) -> None:
    study = from_data(SMALL)
    outcome = conduct(study, tmp_path)
    assert (outcome.made, outcome.found, outcome.errors) == (15, 0, {})
    assert outcome.skipped == [("NMTHPO-zhen-mo-v0", "graph")]
    found = runs_of(study, tmp_path, outcome)
    env = {"table": "surrogate", "budget": 4}
    direct = benchmarks.run("random", "NMTHPO-zhen-mo-v0", range(5), env_kwargs=env)
    assert store.digest(found["NMTHPO-zhen-mo-v0"]["random"]) == store.digest(direct)
    named = found["NMTHPO-zhen-v0"]["graph"][0].header
    assert (named["agent"], named["algorithm"]) == ("graph", "graph-ei-rbf")


def test_more_agents_and_seeds_run_only_what_is_missing(tmp_path: Path) -> None:
    once = conduct(from_data({**SMALL, "agents": ["random"], "seeds": 3}), tmp_path)
    assert (once.made, once.found) == (6, 0)
    before = files_of(tmp_path)
    seen: list[tuple[int, int]] = []
    more = conduct(from_data(SMALL), tmp_path, watch=lambda done, total, left: seen.append((done, total)))
    assert (more.made, more.found) == (9, 6)
    assert seen[0] == (6, 15)
    assert seen[-1] == (15, 15)
    assert before.items() <= files_of(tmp_path).items()
    again = conduct(from_data(SMALL), tmp_path)
    assert (again.made, again.found) == (0, 15)
    conduct(from_data(SMALL), tmp_path / "whole")
    assert store.digest(store.read(tmp_path / "whole")) == store.digest(
        r for r in store.read(tmp_path) if r.header["env"] in SMALL["environments"]
    )


@pytest.mark.parametrize(
    "change, message",
    [
        ({"budget": 5}, "budget 4.0, random would add 5.0"),
        ({"agents": [{"name": "graph", "algorithm": "graph-eif-rbf"}]}, "algorithm 'graph-ei-rbf', graph would add"),
        ({"agents": [{"name": "graph", "algorithm": "bo", "hyperparameters": {"fit": False}}]}, "algorithm"),
    ],
)
def test_a_study_refuses_to_mix_before_it_runs(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    conduct(from_data(SMALL), tmp_path)
    before = files_of(tmp_path)
    with pytest.raises(ValueError, match=message):
        conduct(from_data({**SMALL, "seeds": 50, **change}), tmp_path)
    assert files_of(tmp_path) == before


def test_a_changed_table_is_refused(tmp_path: Path) -> None:
    runs = benchmarks.run("random", "NMTHPO-zhen-v0", [0], env_kwargs={"table": "surrogate", "budget": 4})
    store.write([dataclasses.replace(r, header={**r.header, "sha256": "0" * 64}) for r in runs], tmp_path)
    with pytest.raises(ValueError, match="sha256 of table nmthpo/zhen '0000"):
        conduct(from_data(SMALL), tmp_path)


MINE = """
import os, signal
from pathlib import Path
from hpo_envs.agents.random import RandomSearch

class Fails(RandomSearch):
    def __init__(self, problem, seed):
        super().__init__(problem, seed)
        if seed == 2:
            raise RuntimeError("seed 2 is unlucky")

class Dies(RandomSearch):
    '''Takes its process with it: always, or once.'''
    def __init__(self, problem, seed, flag, once=True):
        super().__init__(problem, seed)
        if seed == 3 and not (once and Path(flag).exists()):
            Path(flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of a user's own agents, under a name of its own, that worker processes find, too."""
    name = f"mine_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    return name


def test_an_agent_that_fails_stops_alone(tmp_path: Path, mine: str) -> None:
    study = from_data({**SMALL, "agents": ["random", f"{mine}:Fails"], "environments": ["NMTHPO-zhen-v0"]})
    outcome = conduct(study, tmp_path / "runs")
    ((pair, error),) = outcome.errors.items()
    assert pair == ("NMTHPO-zhen-v0", f"{mine}:Fails")
    assert "seed 2 is unlucky" in error
    kept = store.read(tmp_path / "runs")
    assert [r.seed for r in kept if r.header["agent"] == "random"] == list(range(5))
    assert {r.seed for r in kept if r.header["agent"] != "random"} <= {0, 1}
    source = next(r.header["agent_source"] for r in kept if r.header["agent"] != "random")
    (tmp_path / f"{mine}.py").write_text(MINE.replace("== 2", "== 99"))
    assert source.keys() == {mine, *(m for m in source if m.startswith("hpo_envs."))}
    with pytest.raises(ValueError, match=f"agent_source {mine} '{source[mine]}'.*--accept-changed"):
        conduct(study, tmp_path / "runs")
    outcome = conduct(study, tmp_path / "runs", accept_changed=True)
    names = {r.header["agent"] for r in store.read(tmp_path / "runs")}
    (apart,) = names - {"random", f"{mine}:Fails"}
    assert apart.startswith(f"{mine}:Fails@")
    assert outcome.pairs == [("NMTHPO-zhen-v0", "random"), ("NMTHPO-zhen-v0", apart)]
    again = conduct(study, tmp_path / "runs", accept_changed=True)
    assert (again.pairs, again.errors.keys()) == (outcome.pairs, outcome.errors.keys())


def deadly(mine: str, flag: Path, once: bool) -> Study:
    dies = {"name": "dies", "algorithm": f"{mine}:Dies", "hyperparameters": {"flag": str(flag), "once": once}}
    return from_data({**SMALL, "agents": [*SMALL["agents"], dies]})


@pytest.mark.parametrize("kind", ["processes", "dask"])
def test_two_workers_one_killed_in_the_middle_same_bytes(tmp_path: Path, mine: str, kind: str) -> None:
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


def test_a_scheduler_elsewhere_loses_a_worker(tmp_path: Path, mine: str) -> None:
    """As on machines that others set up: a scheduler and two workers, each a process of its own; one is killed."""
    pytest.importorskip("distributed")
    address = tmp_path / "scheduler.json"
    where = ["--scheduler-file", str(address)]
    scheduler = ["dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *where]
    worker = ["dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path)]
    crew = []
    try:
        for words in (scheduler, [*worker, *where], [*worker, *where]):
            with open(tmp_path / "log", "ab") as log:
                crew.append(
                    subprocess.Popen([sys.executable, "-m", f"distributed.cli.{words[0]}", *words[1:]], stderr=log)
                )
        deadline = time.monotonic() + 120
        while not (address.exists() and address.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.05)
        tcp = json.loads(address.read_text())["address"]
        assert tcp.startswith("tcp://127.0.0.1:")
        flag = tmp_path / "died"
        study = deadly(mine, flag, once=True)
        with executors.Dask(tcp) as engine:
            engine.client.wait_for_workers(2, timeout=120)
            outcome = conduct(study, tmp_path / "far", engine)
            assert engine.workers == 1
        assert flag.exists()
        assert (outcome.made, outcome.errors) == (25, {})
        assert [p.poll() for p in crew].count(-signal.SIGKILL) == 1
        assert crew[0].poll() is None  # the scheduler is not ours to end
        conduct(study, tmp_path / "here")
        assert store.digest(store.read(tmp_path / "far")) == store.digest(store.read(tmp_path / "here"))
    finally:
        for process in crew:
            process.kill()
            process.wait()


def test_an_agent_at_which_workers_always_die_stops_alone(tmp_path: Path, mine: str) -> None:
    study = deadly(mine, tmp_path / "died", once=False)
    with executors.Processes(2) as engine:
        outcome = conduct(study, tmp_path / "runs", engine)
    assert {agent for _, agent in outcome.errors} == {"dies"}
    assert all("the worker died each time" in e for e in outcome.errors.values())
    kept = store.read(tmp_path / "runs")
    assert sorted({r.header["agent"] for r in kept}) == ["graph", "random"]
    assert len(kept) == outcome.made == 3 * 5


def test_tasks_take_about_their_time_and_lose_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    clock = types.SimpleNamespace(perf_counter=lambda: next(ticks) / 10)  # each look at it is a tenth of a second later
    monkeypatch.setattr(work, "time", clock)
    environment = Environment("NMTHPO-zhen-v0", {"table": "surrogate"})
    task = Task(environment, Contestant("random", "random"), tuple(range(50)), seconds=0.35)
    done = perform(task)  # batches of 1, 2, 2 and 1 begin before the time is over
    rest = remainder(done)
    assert [r.seed for r in done.runs] == list(range(6))
    assert [len(t.seeds) for t in rest] == [4] * 11  # six runs took half a second
    assert [s for t in rest for s in t.seeds] == list(range(6, 50))


# -- crashes -------------------------------------------------------------------------------------------------------


def command(folder: Path, *more: str) -> list[str]:
    text = 'seeds = 3000\ntable = "surrogate"\nenvironments = ["NMTHPO-swen-v0"]\nagents = ["random", "bo-ei-rbf"]\n'
    (folder / "study.toml").write_text(text)
    return [
        sys.executable,
        "-m",
        "hpo_envs",
        "compare",
        str(folder / "study.toml"),
        "--out",
        str(folder / "runs"),
        *more,
    ]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_leaves_what_is_finished(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command(tmp_path, "--jobs", "2"),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 300
    while not files_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to parent and workers
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    kept = store.read(tmp_path / "runs")
    assert 0 < len(kept) < 6000


def test_the_command_line_says_what_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["compare", "--env", "NMTHPO-zhen-v0", "--budget", "4", "--table", "surrogate", "--out", str(tmp_path)]
    assert main([*given, "--agents", "random", "--seeds", "3"]) == 0
    assert main([*given, "--agents", "random,graph-ei-rbf", "--seeds", "4"]) == 0
    said = capsys.readouterr().out
    assert "5 runs made" in said
    assert "3 found" in said
    assert (tmp_path / "NMTHPO-zhen-v0" / "summary.csv").read_text().startswith("agent,score,n,")
    everything = store.digest(store.read(tmp_path))
    assert f"sha256 of all results: {everything}" in said
    assert main([*given, "--agents", "random", "--budget", "5"]) == 2
    assert "Choose another folder" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main([*given, "--scheduler", "local"]) == 2
    assert 'pip install "hpo_envs[dask]"' in capsys.readouterr().err
    (tmp_path / "s.toml").write_text("seeds = 3")
    assert main(["compare", str(tmp_path / "s.toml"), "--seeds", "3"]) == 2
    assert "--seeds must be written into" in capsys.readouterr().err


# -- what all of this rests on -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec_id", ["NMTHPO-v0", "FIESTA-tdsa8-v0", "CushLEPOR-ted-ende-v0", "CharHPO-v0", "NASBenchNLP-cell-v0"]
)
def test_a_run_has_the_same_bits_alone_and_among_others(spec_id: str) -> None:
    env = {"table": "surrogate", "budget": 3}
    together = benchmarks.run("random", spec_id, range(6), env_kwargs=env)
    alone = [benchmarks.run("random", spec_id, [s], env_kwargs=env)[0] for s in range(6)]
    assert store.digest(together) == store.digest(alone)


def test_fits() -> None:
    for name, spec_id, expected in [
        ("random", "NMTHPO-zhen-mo-v0", True),
        ("bo", "NMTHPO-zhen-v0", True),
        ("ttts", "NMTHPO-zhen-v0", False),
        ("ttts", "FIESTA-tdsa8-v0", True),
        ("bo", "FIESTA-tdsa8-v0", False),
        ("hyperband", "NMTLC-zhen-v0", True),
        ("hyperband", "NMTHPO-zhen-v0", False),
        ("box-bo", "CushLEPOR-ted-ende-v0", True),
        ("bo-ehvi-rbf", "NMTHPO-zhen-mo-v0", True),
        ("bo-ehvi-rbf", "NMTHPO-zhen-v0", False),
    ]:
        problem = benchmarks.problem_of(gym.make(spec_id, table="surrogate"))
        assert agents.fits(name, problem) is expected, (name, spec_id)
