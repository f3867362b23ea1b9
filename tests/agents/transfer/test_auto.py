"""Which agent `auto` picks on each kind of problem, and that it equals this agent."""

import dataclasses
import inspect
import re
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs.agents import AGENTS, make
from hpo_envs.agents.search.bo import BayesianOptimisation
from hpo_envs.agents.transfer.auto import chosen
from hpo_envs.benchmarks import leaderboard, run
from hpo_envs.benchmarks.comparison import summary
from hpo_envs.benchmarks.runs import problem_of, provenance
from hpo_envs.families import registry

PICKED = [  # id, transfer, what is picked, and what where results come late
    ("FIESTA-ner-v0", None, "sh", "ttts"),
    ("NASBenchNLP-cell-v0", None, "regularized-evolution", "regularized-evolution"),
    ("CushLEPOR-ted-ende-v0", None, "box-bo", "box-bo"),
    ("NMTLC-zhen-v0", None, "freeze-thaw", "asha"),
    ("NMTLC-zhen-v0", "family", "freeze-thaw", "freeze-thaw"),
    ("CharMiniLC-eng-lstm-v0", None, "asha", "asha"),
    ("NMTHPO-zhen-mo-v0", None, "bo-spread", "bo-spread"),
    ("NMTHPO-zhen-mo-v0", "family", "stacked-gp", "stacked-gp"),
    ("NMTHPO-zhen-v0", None, "bo-spread", "bo-spread"),
    ("NMTHPO-zhen-v0", "family", "learned", "learned"),
    ("NMTHPO-v0", None, "bo-spread", "bo-spread"),
    ("CharHPO-g2p-hun-lstm-v0", None, "bo-spread", "bo-spread"),
    ("CharMini-eng-lstm-v0", None, "bo", "bo-spread"),
    ("NASBenchNLP-ptb-final-v0", None, "smac-like", "bo-spread"),
]


@pytest.mark.parametrize(("env_id", "transfer", "name", "late"), PICKED)
def test_auto_picks_the_agent_that_was_best_on_problems_of_the_kind(
    env_id: str, transfer: str | None, name: str, late: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = problem_of(gym.make(env_id), transfer)
    assert (chosen(problem), chosen(problem, late=True)) == (name, late)
    assert type(make("auto", problem, 3)) is type(make(name, problem, 3))
    if name == "sh":  # plans with the budget
        assert chosen(dataclasses.replace(problem, budget=None)) == "ttts"


def test_runs_of_auto_are_those_of_the_agent_that_it_picks() -> None:
    given: dict[str, Any] = {"budget": 18, "env_kwargs": {}}
    one, two = (run(name, "NMTHPO-ruen-v0", [4], **given)[0] for name in ("auto", "bo-spread"))
    assert np.array_equal(one.actions, two.actions)
    assert (one.header["agent"], two.header["agent"]) == ("auto", "bo-spread")


def test_hyperparameters_go_on_and_headers_name_all_that_it_may_pick() -> None:
    problem = problem_of(gym.make("NMTHPO-zhen-v0"))
    assert isinstance(auto := make("auto", problem, 0, initial=4), BayesianOptimisation)
    assert auto.initial == 4
    named = {name for name in re.findall(r'"([\w-]+)"', inspect.getsource(chosen)) if name in AGENTS}
    assert {*AGENTS["auto"].picks} == named
    assert provenance.of_agent("auto").numbers.keys() == {"auto", *named}


def test_on_leaderboard_it_is_level_with_best_agent_of_each_track() -> None:
    """Within 0.01 of the best agent of this package, or not significantly different where noise is larger.

    CellMini and TaskSet are the exceptions. `learned-policy` uses what it learned from other tables, where none are
    given.
    """
    found = summary.read(leaderboard.SUMMARY)
    envs, behind, worse = {e["label"]: e for e in found["environments"]}, {}, set()
    for t in found["tracks"]:
        env = envs[t["environments"][0]]
        if t.get("flat") or t["name"].startswith("NASBench"):  # embedded tables have fewer rows or features
            continue
        if not registry.installed(registry.SPECS[env["id"]]):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = gym.make(env["id"], disable_env_checker=True)
            problem = problem_of(made, "family" if "transfer=" in env["label"] else None)
        scores = {
            r["agent"]: r["mean"][0]
            for r in t["ranking"]
            if r["agent"] != "learned-policy" and r["agent"] in AGENTS and AGENTS[r["agent"]].extra is None
        }
        behind[t["name"]] = scores[chosen(problem)] - min(scores.values())
        worse |= {t["name"] for r in t["ranking"] if r["agent"] == chosen(problem) and r["here"] == "worse"}
    assert len(behind) > 12
    far = {name for name, apart in behind.items() if apart > 0.01}
    assert far == {"CellMini", "TaskSet", "TaskSet, budget 40", "TaskSetLC"}
    assert far <= worse
