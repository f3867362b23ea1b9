"""Studies: files, seeds, resuming, failing agents, interruption."""

import importlib
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from hpo_envs import agents, benchmarks
from hpo_envs.benchmarks.runs import provenance
from hpo_envs.benchmarks.study import store
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import Entrant, from_data, from_file, seeds_of
from hpo_envs.families.registry import SPECS, installed
from tests.benchmarks.study.helpers import MINE, SMALL, UNLUCKY
from tests.helpers import IDS, rejects


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}


def test_study_file(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'seeds = "3-5"\nbudget = 50\n'
        'environments = ["NMTHPO-*-mo-v0", { id = "NMTLC-swen-v0", budget = "all", cost = "evaluations" },\n'
        ' { id = "NMTHPO-zhen-v0", objective = ["bleu", "decoding_seconds"] }]\n'
        'agents = ["random", { name = "wide", algorithm = "bo-ucb", hyperparameters = { beta = 4.0 } }]\n'
    )
    study = from_file(tmp_path / "study.toml")
    assert study.seeds == (3, 4, 5)
    ids = [i for i in SPECS if i.startswith("NMTHPO-") and i.endswith("-mo-v0")]
    assert [e.id for e in study.environments] == [*ids, "NMTLC-swen-v0", "NMTHPO-zhen-v0"]
    assert study.environments[0].kwargs == {"budget": 50}
    assert study.environments[-2].kwargs == {"budget": None, "cost": "evaluations"}
    assert study.environments[-1].kwargs["objective"] == ("bleu", "decoding_seconds")
    (one,) = from_data({"environments": IDS[0], "agents": "random", "objective": ["bleu"]}).environments
    assert one.kwargs == {"objective": "bleu"}
    assert study.agents == (Entrant("random", "random"), Entrant("wide", "bo-ucb", {"beta": 4.0}))


def test_seeds() -> None:
    assert (seeds_of(3), seeds_of([7, "1-3"])) == ((0, 1, 2), (1, 2, 3, 7))
    assert (seeds_of(np.int64(2)), seeds_of(range(4, 6)), seeds_of((1, np.int64(8)))) == ((0, 1), (4, 5), (1, 8))
    assert seeds_of(np.array([3])) == (3,)
    for bad in (0, True, -1, "3", "5-1", [1, 1], [-1], [1.5], [True], None):
        rejects("seeds must be", seeds_of, bad)


def test_all_agents_are_those_that_can_be_had() -> None:
    study = from_data({**SMALL, "agents": "all", "environments": "all"})
    assert {e.id for e in study.environments} == {i for i, spec in SPECS.items() if installed(spec)} > set(IDS)
    assert {"random", "bo", "hyperband"} <= {c.name for c in study.agents}
    assert not {c.name for c in study.agents} & {n for n, e in agents.AGENTS.items() if not e.entrant}


def test_agent_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents.Registration, "installed", False)
    with pytest.raises(ValueError, match=r'smac must have its package .*: pip install "hpo_envs\[optimizers\]"'):
        from_data({**SMALL, "agents": ["smac"]})


@pytest.mark.parametrize(
    "change, message",
    [
        ({"seed": 3}, "key of a study must be one of .* got 'seed', did you mean 'seeds'"),
        ({"environments": ["NMTHPO-swenn-v0"]}, "did you mean 'NMTHPO-swen-v0'"),
        ({"environments": ["nothing-*"]}, "environment must be a registered id"),
        ({"environments": []}, "environments must not be empty"),
        (
            {"environments": ["NMTHPO-*-v0", "NMTHPO-zhen-v0"]},
            "environments must be distinct, got 'NMTHPO-zhen-v0' twice",
        ),
        ({"environments": [{"id": "NMTHPO-zhen-v0", "bugdet": 3}]}, "did you mean 'budget'"),
        ({"environments": [3]}, "an environment must be an id or a table with an id, got 3"),
        ({"agents": ["rndom"]}, "did you mean 'random'"),
        ({"agents": ["random", "random"]}, "agents must be distinct, got 'random' twice"),
        ({"agents": [{"hyperparameters": {}}]}, "an agent must be a name or a table with a name"),
        ({"agents": [{"name": "mine", "algorithm": 3}]}, "whose algorithm is a text"),
        ({"agents": [{"name": "bo-ucb", "hyperparameters": {"beta": math.nan}}]}, "must not be NaN, got beta = nan"),
        ({"agents": [{"name": "random", "hyperparameters": [4]}]}, "and hyperparameters a table"),
        ({"agents": ["nowhere:Agent"]}, "agent must be importable as module:factory, got 'nowhere:Agent'"),
        ({"environments": "FunctionHPO-v0"}, "environment must need no function, space .*, got 'FunctionHPO-v0'"),
        ({"agents": [".x:Agent"]}, "agent must be importable as module:factory, got '.x:Agent'"),
        ({"agents": ["hpo_envs:__version__"]}, "which is not callable"),
    ],
)
def test_what_study_cannot_mean(change: dict[str, Any], message: str) -> None:
    rejects(message, from_data, {**SMALL, **change})


def test_study_needs_its_parts_and_toml(tmp_path: Path) -> None:
    rejects("a study must have agents, got environments", from_data, {"environments": SMALL["environments"]})
    (tmp_path / "bad.toml").write_text("seeds = = 3")
    rejects(r"bad.toml must be a TOML file", from_file, tmp_path / "bad.toml")


@pytest.mark.parametrize("isolate", ["true", "false"])
def test_agents_next_to_the_file_are_not_those_of_another_folder(
    isolate: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"hidden_{isolate}.py").write_text("from hpo_envs.agents import Agent as G\n")
        (tmp_path / name / "study.toml").write_text(
            f'environments = "{IDS[0]}"\nagents = ["random", "hidden_{isolate}:G"]\nisolate = {isolate}\n'
        )
    assert [len(from_file(tmp_path / "one" / "study.toml").agents) for _ in range(2)] == [2, 2]
    rejects(r"two.study.toml: agents of .* next to the file, got .*one.hidden", from_file, tmp_path / "two/study.toml")


def test_by_default_each_seed_is_replicate_and_slow_agents_have_fewer(tmp_path: Path) -> None:
    data = {k: v for k, v in SMALL.items() if k != "seeds"}
    study = from_data({**data, "agents": ["random", "bagged-trees"]})
    few, large = (agents.Problem(Discrete(n), np.zeros((n, 1))) for n in (100, 2000))
    counts = [[len(study.seeds_of(c, p)) for p in (few, large)] for c in study.agents]
    assert counts == [[100, 100], [100, 20]]
    asked = from_data({**data, "seeds": 30})
    assert [len(asked.seeds_of(c, large)) for c in study.agents] == [30, 30]
    ids = ["NMTHPO-zhen-v0", {"id": "NMTHPO-ruen-v0", "subsample": 1}, "FIESTA-ner-v0", "NMTHPO-v0", "NMTLC-ft-zhen-v0"]
    short = {"id": ids.pop(), "cost": "evaluations"}
    small = from_data({**data, "environments": [*ids, short], "agents": ["random"], "seeds": 2})
    assert conduct(small, tmp_path).errors == {}
    shares = {r.header["env"]: r.header["subsample"] for r in store.read(tmp_path)}
    # Arms stay: their scores vary by themselves. Values of a grid are no rows.
    assert shares == {
        "NMTHPO-zhen-v0": 0.8, "NMTHPO-ruen-v0": 1, "FIESTA-ner-v0": 1, "NMTHPO-v0": 1, "NMTLC-ft-zhen-v0": 0.8
    }  # fmt: skip


def test_study_is_run_loop(tmp_path: Path) -> None:
    study = from_data(SMALL)
    outcome = conduct(study, tmp_path)
    assert (outcome.made, outcome.found, outcome.errors) == (15, 0, {})
    assert outcome.skipped == [("NMTHPO-zhen-mo-v0", "graph")]
    env = {"budget": 4, "subsample": 0.8}
    direct = benchmarks.run("random", "NMTHPO-zhen-mo-v0", range(5), env_kwargs=env)
    assert store.digest(store.read(tmp_path, "NMTHPO-zhen-mo-v0", "random")) == store.digest(direct)
    named = store.read(tmp_path, "NMTHPO-zhen-v0", "graph")[0].header
    assert (named["agent"], named["algorithm"]) == ("graph", "graph-ei-rbf")


def test_more_agents_and_seeds_run_only_what_is_missing(tmp_path: Path) -> None:
    once = conduct(from_data({**SMALL, "agents": ["random"], "seeds": 3}), tmp_path)
    assert (once.made, once.found) == (6, 0)
    before = files_of(tmp_path)
    seen: list[tuple[int, int]] = []
    more = conduct(from_data(SMALL), tmp_path, watch=lambda done, total: seen.append((done, total)))
    assert (more.made, more.found, seen[0], seen[-1]) == (9, 6, (6, 15), (15, 15))
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
def test_study_rejects_to_mix_before_it_runs(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    conduct(from_data(SMALL), tmp_path)
    before = files_of(tmp_path)
    rejects(message, conduct, from_data({**SMALL, "seeds": 50, **change}), tmp_path)
    assert files_of(tmp_path) == before


@pytest.mark.parametrize(
    ("agent", "rule"),
    [
        ({"name": "bo", "algorithm": "random"}, "must not have the name of another one, got 'bo' for 'random'"),
        ({"name": "x" * 121, "algorithm": "random"}, "name must be 1 to 120 printable characters"),
        ({"name": "", "algorithm": "random"}, "name must be 1 to 120 printable characters"),
        ({"name": "a\n\x1b[31m", "algorithm": "random"}, "name must be 1 to 120 printable characters"),
    ],
)
@pytest.mark.hostile
def test_names_that_mislead_are_rejected(agent: dict[str, str], rule: str) -> None:
    rejects(rule, from_data, {**SMALL, "agents": [agent]})


@pytest.mark.hostile
def test_agent_that_fails_stops_alone(tmp_path: Path, mine: str) -> None:
    study = from_data({**SMALL, "agents": ["random", f"{mine}:Fails"], "environments": ["NMTHPO-zhen-v0"]})
    outcome = conduct(study, tmp_path / "runs")
    ((pair, error),) = outcome.errors.items()
    assert pair == ("NMTHPO-zhen-v0", f"{mine}:Fails")
    assert "seed 2 is unlucky" in error
    kept = store.read(tmp_path / "runs")
    assert [r.seed for r in kept if r.header["agent"] == "random"] == list(range(5))
    assert {r.seed for r in kept if r.header["agent"] != "random"} <= {0, 1}


@pytest.mark.hostile
def test_changed_code_is_rejected(tmp_path: Path, mine: str) -> None:
    study = from_data({**SMALL, "agents": ["random", f"{mine}:Fails"], "environments": ["NMTHPO-zhen-v0"]})
    conduct(study, tmp_path / "runs")
    kept = store.read(tmp_path / "runs", agent=f"{mine}:Fails")
    source = kept[0].header["agent_source"]
    (tmp_path / f"{mine}.py").write_text(MINE.replace(str(UNLUCKY), "[99]"))
    importlib.reload(sys.modules[mine])
    assert source.keys() == {mine}
    rejects(f"agent_source {mine} '{source[mine]}'", conduct, study, tmp_path / "runs")


def test_number_versions_are_not_mixed_and_other_commits_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = provenance._versions()

    def go_on(commit: str, agent: Any = "random", raised: tuple[str, ...] = (), **more: Any) -> set[str]:
        new = {owner: version + (owner[1] in raised) for owner, version in versions.items()}
        monkeypatch.setattr(provenance, "_versions", lambda: new)
        monkeypatch.setattr(provenance, "suite", lambda: {"commit": commit, "uncommitted": [f"agents/{commit}.py"]})
        data = {**SMALL, "environments": ["NMTHPO-zhen-v0"], "agents": [agent], **more}
        return {agent for _, agent in conduct(from_data(data), tmp_path).pairs}

    assert go_on("A", seeds=2) == {"random"}
    assert go_on("B", raised=("bo", "NMTLC")) == {"random"}  # another commit, which raised what these runs do not need
    assert [run.header["suite"]["commit"] for run in store.read(tmp_path)] == ["A", "A", "B", "B", "B"]
    assert go_on("A", {"name": "x", "algorithm": "bo-ucb", "hyperparameters": {"beta": 4.0}}) == {"x"}
    kept = files_of(tmp_path)
    own, other = versions["agent", "random"], versions["family", "NMTHPO"]
    for agent in ("bo-ei-rbf", "random"):
        rejects(f"numbers NMTHPO {other}, {agent} would add {other + 1}", go_on, "A", agent, ("NMTHPO",))
    rejects(f"agent_numbers random {own}, random would add {own + 1}", go_on, "A", raised=("random",))
    for change, rule in (({"budget": 5}, "budget"), ({"shuffle": False}, "shuffle")):
        rejects(f"has runs of NMTHPO-zhen-v0 with {rule}", go_on, "A", **change)
    with pytest.raises(ValueError, match="with hyperparameters beta 4.0, x would add 8.0"):
        go_on("A", {"name": "x", "algorithm": "bo-ucb", "hyperparameters": {"beta": 8.0}})
    assert files_of(tmp_path) == kept


def command(folder: Path, *more: str) -> list[str]:
    text = 'seeds = 3000\nenvironments = ["NMTHPO-swen-v0"]\nagents = ["random", "bo-ei-rbf"]\n'
    plan = folder / "study.toml"
    plan.write_text(text)
    return [sys.executable, "-m", "hpo_envs", "compare", str(plan), "--out", str(folder / "runs"), *more]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_leaves_what_is_finished(tmp_path: Path) -> None:
    pipes: Any = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command(tmp_path, "--jobs", "2"), start_new_session=True, **pipes)
    deadline = time.monotonic() + 300
    while not files_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to parent and workers
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the same command resumes" in said
    assert "Traceback" not in said
    kept = store.read(tmp_path / "runs")
    assert 0 < len(kept) < 6000


def test_budget_of_more_evaluations_than_table_has_is_capped(tmp_path: Path) -> None:
    data = {"seeds": 1, "environments": ["NMTHPO-swen-v0"], "agents": ["random"]}
    outcome = conduct(from_data({**data, "budget": 1e12}), tmp_path)
    (one,) = store.read(tmp_path)
    assert outcome.capped == {"NMTHPO-swen-v0": len(one)}
    assert one.header["budget"] == one.header["env_kwargs"]["budget"] == len(one) < 1000
    again = conduct(from_data({**data, "budget": 1e8}), tmp_path)
    assert (again.found, again.made) == (1, 0)


def test_agents_may_have_interpreter_of_their_own() -> None:
    asked = ["random", {"name": "dehb", "isolate": "/its/python"}]
    made = from_data({"environments": "NMTHPO-zhen-v0", "agents": asked, "isolate": True})
    assert [a.isolated for a in made.agents] == [True, "/its/python"]
    assert made.agents[1].describe({})["isolated"] is True
    for bad in (3, ""):
        with pytest.raises(ValueError, match=f"isolate must be true, false or an interpreter, got {bad!r}"):
            from_data({"environments": "NMTHPO-zhen-v0", "agents": "random", "isolate": bad})
