"""The contract of agents, which applies to every registered agent."""

import importlib
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import AGENTS, Agent, Problem
from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks.runs import problem_of, run
from hpo_envs.testing import AGENT_RULES, STAGES, check_agent
from tests.helpers import WIDE, here_and_elsewhere, missing_extra, rejects


def class_of(name: str) -> Any:
    """The class of a registered agent."""
    module, _, attribute = AGENTS[name].target.partition(":")
    return getattr(importlib.import_module(module), attribute)


SAME = {n: next(m for m in agents.names() if AGENTS[m].target == AGENTS[n].target) for n in agents.names()}
"""The first agent of the same class."""

STAGED = [
    pytest.param(
        name,
        stage,
        id=f"{name}-{stage}",
        marks=[pytest.mark.skipif(missing_extra(name) is not None, reason=f"extra {AGENTS[name].extra} not installed")],
    )
    for name in agents.names()
    for stage in AGENTS[name].supports
    if stage in STAGES and AGENTS[name].alias_of is None and (SAME[name] == name or stage == AGENTS[name].supports[0])
]
"""Settings of one class share all stages except those for which they are made; aliases share everything."""

KINDS = STAGED if WIDE else [p for p in STAGED if SAME[str(p.values[0])] == p.values[0]]
"""One setting of each class; `tests/regression` has runs of every setting."""

ALLOWED = {name: {"seen": True} for name, e in AGENTS.items() if e.unseen}
"""Agents with trained weights play on all stages: no score is kept."""

TRANSFER = {name: "family" if e.sources else None for name, e in AGENTS.items()}
"""Source tables of agents on the stages: agents that need some get them."""

WAITING = ("curve-ranker", "hyperband", "successive-halving")
"""Agents that need each result before their next action, and refuse simulated workers."""

COVERS = tuple(sorted({entry.target.partition(":")[0] for entry in AGENTS.values()}))
"""Modules that every test in this file exercises."""


@pytest.mark.parametrize(("name", "stage"), KINDS)
def test_every_agent_keeps_the_contract(name: str, stage: str) -> None:
    rules = [rule for rule in AGENT_RULES if rule != "late-results"]
    check_agent(name, stages=[stage], rules=rules, **ALLOWED.get(name, {}))


def test_every_agent_refuses_a_reward_that_is_no_finite_number_and_goes_on() -> None:
    for name, stage in (p.values for p in STAGED if missing_extra(str(p.values[0])) is None):
        if stage == "arms":  # `Belief.add` refuses scores
            continue
        env: Any = gym.make(STAGES[stage][0], disable_env_checker=True, **STAGES[stage][1])
        env.reset(seed=0)
        problem = problem_of(env, TRANSFER[name])
        agent = agents.make(name, problem, 0, **ALLOWED.get(name, {}))
        action = agent.ask()
        _, reward, _, _, info = env.step(action)
        for bad in (float("nan"), -float("inf"), None, "0.5", [[0.5]], [1.0] * (problem.objectives + 1)):
            rejects(rf"reward must be {problem.objectives} finite number\(s\), got", agent.tell, action, bad, info)
        agent.tell(action, reward, info)
        assert np.array_equal(agent.recommend(), action), name


@pytest.mark.parametrize("name", [n for n, e in AGENTS.items() if "levels" in e.supports and (e.entrant or e.external)])
def test_delayed_results_are_attributed_to_their_action(name: str) -> None:
    """An agent either accepts results at any time or refuses; none takes a submission for a result."""
    if missing_extra(name):
        pytest.skip(f"extra {AGENTS[name].extra} not installed")
    check_agent(name, stages=["levels"], waits=name in WAITING, rules=["late-results"], **ALLOWED.get(name, {}))


_SCRIPT = """
import sys, hashlib, warnings
warnings.simplefilter("ignore")
import numpy as np
sys.path.insert(0, sys.argv[1])
from hpo_envs.testing.agents import STAGES
from hpo_envs.benchmarks import run
from tests.contracts import test_agents as t
digest = hashlib.sha256()
for p in t.STAGED:
    name, stage = p.values
    if t.missing_extra(name) is None and stage == t.AGENTS[name].supports[0] and t.SAME[name] == name:
        env_id, arguments = STAGES[stage]
        played = run(name, env_id, [2], env_kwargs={**arguments}, transfer=t.TRANSFER[name])[0]
        digest.update(str(np.asarray(played.actions).tolist()).encode())
print(digest.hexdigest())
"""


def test_same_seed_same_run_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = here_and_elsewhere(_SCRIPT, monkeypatch)
    assert (len(ours), ours) == (64, theirs)


def test_entries_are_complete() -> None:
    for name, e in AGENTS.items():
        assert e.summary
        assert e.supports
        assert e.alias_of is None or e.alias_of in AGENTS, name
        if missing_extra(name) is None:
            assert issubclass(class_of(name), Agent)
            assert class_of(name).__doc__, name


def test_unknown_names_and_hyperparameters_are_rejected() -> None:
    problem = Problem(gym.spaces.Discrete(3))
    rejects("agent must be one of .*, got 'randon', did you mean 'random'", agents.make, "randon", problem, 0)
    rejects("depth", agents.make, "random", problem, 0, depth=3, error=TypeError)


def test_random_search_meets_every_row_once_and_then_again() -> None:
    problem = Problem(gym.spaces.Discrete(5))
    agent = agents.make("random", problem, 3)
    drawn = [agent.ask() for _ in range(10)]
    assert sorted(drawn[:5]) == sorted(drawn[5:]) == list(range(5))


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.Box(-1.0, 1.0, (3,)),
        gym.spaces.MultiDiscrete([3, 4]),
        gym.spaces.Dict({"a": gym.spaces.Discrete(2), "b": gym.spaces.Box(0.0, 1.0, (2,))}),
    ],
    ids=["box", "grid", "dict"],
)
def test_random_search_runs_on_other_spaces(space: gym.Space[Any]) -> None:
    one, two = (agents.make("random", Problem(space), 4) for _ in range(2))
    for _ in range(8):
        a, b = one.ask(), two.ask()
        assert a in space
        assert str(a) == str(b)


class Peeking(RandomSearch):
    """Looks for data that agents must not see."""

    seen: ClassVar[set[str]] = set()

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        self.seen.update(info)
        super().tell(action, reward, info)


def test_agents_are_told_cost_metrics_and_status_only() -> None:
    run(Peeking, "NMTHPO-zhen-v0", [0])
    assert Peeking.seen == {"cost", "metrics", "status", "config"}


PARALLEL = [p for p in KINDS if missing_extra(str(p.values[0])) is None and class_of(str(p.values[0])).parallel]


@pytest.mark.parametrize(("name", "stage"), PARALLEL)
def test_agents_that_say_so_are_asked_again_before_they_are_reported(name: str, stage: str) -> None:
    """Four pending actions, reported in reverse: all are legal, and those on candidates differ."""
    env_id, kwargs = STAGES[stage]
    env = gym.make(env_id, **kwargs)
    problem = problem_of(env, TRANSFER[name])
    agent = agents.make(name, problem, 3, **ALLOWED.get(name, {}))
    env.reset(seed=3)
    for _ in range(3):
        asked = [agent.ask() for _ in range(4)]
        dtype = getattr(problem.action_space, "dtype", None)
        assert all(np.asarray(a, dtype=dtype) in problem.action_space or int(a) in problem.action_space for a in asked)
        if stage != "arms":
            assert len({str(a) for a in asked}) == 4, "asked for again while it was pending"
        for action in reversed(asked):
            _, reward, over, _, info = env.step(action)
            agent.tell(action, reward, info)
            if over or agent.done:
                return
