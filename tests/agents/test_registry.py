"""Problems that agents support."""

import dataclasses
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents, benchmarks
from hpo_envs.agents.models import similarity_graph
from hpo_envs.agents.registry import load
from hpo_envs.commands.docstrings import doc_of
from tests.helpers import rejects


@pytest.mark.parametrize(
    ("name", "spec_id", "expected"),
    [
        ("bo", "NMTHPO-swen-mo-v0", True), ("bo", "NMTHPO-zhen-mo-v0", False), ("bo-spread", "NMTHPO-swen-v0", False),
        ("graph-ei-rbf", "NASBenchNLP-ptb-final-v0", True), ("graph-ei-rbf", "NMTHPO-swen-v0", False),
        ("bo-ucb", "NASBenchNLP-ptb-final-v0", False), ("tpe", "CharHPO-v0", True), ("tpe", "NMTHPO-v0", False),
        ("random", "NASBenchNLP-cell-v0", True), ("freeze-thaw", "NMTLC-ft-zhen-v0", False),
        ("freeze-thaw", "NMTLC-ft-zhen-v0 family", True), ("tst-tpe", "NMTHPO-swen-mo-v0 family", True),
        ("tst-tpe", "NMTHPO-swen-v0 family", False),
    ],
)  # fmt: skip
def test_where_agents_are_slow(name: str, spec_id: str, expected: bool) -> None:
    spec_id, _, transfer = spec_id.partition(" ")
    problem = benchmarks.problem_of(gym.make(spec_id), transfer or None)
    assert agents.slow(name, problem) is expected


def test_graphs_have_at_most_so_many_nodes() -> None:
    assert {e.most for n, e in agents.AGENTS.items() if n.startswith("graph-")} == {similarity_graph.LARGEST}


def test_agents_fit_the_problems_that_they_support() -> None:
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
        ("graph-ei-rbf", "NMTLC-zhen-v0", True),
    ]:
        problem = benchmarks.problem_of(gym.make(spec_id))
        assert agents.fits(name, problem) is expected, (name, spec_id)


def test_graphs_of_very_many_candidates_do_not_fit() -> None:
    problem = benchmarks.problem_of(gym.make("NMTLC-zhen-v0"))
    features = np.random.default_rng(0).random((14_322, 3))  # as many as NASBenchNLP-ptb-v0 has
    large = dataclasses.replace(problem, features=features, base=None, index=None)
    assert [agents.fits(name, large) for name in ("graph-ei-rbf", "bo-ei-rbf")] == [False, True]
    grid = agents.Problem(gym.spaces.MultiDiscrete([20, 20, 20]))
    assert [agents.fits(name, grid) for name in ("graph-ei-rbf", "bo-ei-rbf")] == [False, True]
    assert agents.fits("random", large, problem=1, name=2)  # of a study file: refused by the agent in one line


@pytest.mark.parametrize(
    "name, option", [("learned", "trained"), ("in-context", "seen"), ("auto", "late"), ("bo-ucb", "per_cost")]
)
def test_switches_are_true_or_false(name: str, option: str) -> None:
    problem = benchmarks.problem_of(gym.make("NMTHPO-zhen-v0"))
    rejects(f"{option} must be True or False, got 'no'", agents.make, name, problem, 0, **{option: "no"})


@pytest.mark.parametrize("target", sorted({e.target for e in agents.AGENTS.values()}))
def test_example_of_docstring_runs_the_agent(target: str) -> None:
    named = {name: e for name, e in agents.AGENTS.items() if e.target == target}
    for module in next(iter(named.values())).needs:
        pytest.importorskip(module)
    lines = doc_of(load(target)).sections["Example"].splitlines()
    assert len(lines) == 3
    found: dict[str, Any] = {}
    exec("\n".join(lines[:-1]), found)
    assert {run.header["agent"] for run in found["runs"]} <= named.keys()
    assert all(len(run.rewards) for run in found["runs"])
    assert eval(lines[-1], found) is not None


@pytest.mark.parametrize("objectives", [2, 3])
@pytest.mark.parametrize("kind", ["rows", "levels", "grid", "box", "arms"])
def test_agents_that_fit_several_objectives_run_on_them(kind: str, objectives: int) -> None:
    x, d = np.random.default_rng(0).random((30, 2)), gym.spaces.Discrete
    features = {} if kind in ("grid", "box", "arms") else {"features": x, "feature_names": ("a", "b")}
    spaces = {"grid": gym.spaces.MultiDiscrete([4, 5]), "box": gym.spaces.Box(0, 1, (2,)), "arms": d(5), "rows": d(30)}
    space, levels = spaces.get(kind, gym.spaces.MultiDiscrete([30, 3])), np.array([1.0, 2, 4])
    if features:
        features["sources"] = (agents.Source("other", x, np.tile(x[:, :1], objectives), np.ones(30)),)
    problem = agents.Problem(
        space, objectives=objectives, budget=9, levels=levels if kind == "levels" else None, **features
    )
    fit = [n for n, e in agents.AGENTS.items() if e.extra is None and agents.fits(n, problem)]
    assert {"random", "auto"} <= {*fit}
    for name in fit:
        agent = agents.make(name, problem, 0)
        for k in range(6):
            agent.tell(agent.ask(), np.arange(objectives) - k % 4, {"status": "ok", "cost": 1.0})
        assert agent.recommend() in space, name
