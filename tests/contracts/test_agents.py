"""The contract of every agent: it meets it by being registered."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import AGENTS, Agent, Problem
from hpo_envs.benchmarks.runs import run
from tests.helpers import ROOT

# Ids that stand for what an agent can work on (`Entry.supports`).
STAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "rows": ("NMTHPO-zhen-v0", {}),
    "objectives": ("NMTHPO-zhen-mo-v0", {"budget": 12}),
    "grid": ("NMTHPO-v0", {}),
    "box": ("CushLEPOR-ted-ende-v0", {"budget": 16}),
    "arms": ("FIESTA-tdsa8-v0", {"budget": 60}),
    "levels": ("NMTLC-ft-zhen-v0", {"budget": 300}),
}


def missing_extra(name: str) -> str | None:
    """The extra that an agent needs and that is not installed."""
    extra = AGENTS[name].extra
    if extra is None:
        return None
    try:
        __import__(extra)
    except ModuleNotFoundError:
        return extra
    return None


STAGED = [
    pytest.param(
        name,
        stage,
        id=f"{name}-{stage}",
        marks=[pytest.mark.skipif(missing_extra(name) is not None, reason=f"extra {AGENTS[name].extra} not installed")],
    )
    for name in agents.names()
    for stage in AGENTS[name].supports
    if stage in STAGES
]


def play(name: str, stage: str, seeds: list[int]) -> list[Any]:
    spec_id, kwargs = STAGES[stage]
    return run(name, spec_id, seeds, env_kwargs={"table": "surrogate", **kwargs})


@pytest.mark.parametrize(("name", "stage"), STAGED)
def test_same_seed_same_run_alone_or_in_a_batch(name: str, stage: str) -> None:
    alone, batch = play(name, stage, [7])[0], play(name, stage, [3, 7])[1]
    assert np.array_equal(alone.actions, batch.actions)
    assert np.array_equal(alone.rewards, batch.rewards)
    assert np.array_equal(alone.costs, batch.costs)
    assert np.array_equal(np.asarray(alone.recommended), np.asarray(batch.recommended))


@pytest.mark.parametrize(("name", "stage"), STAGED)
def test_actions_and_recommendation_are_in_the_space(name: str, stage: str) -> None:
    spec_id, kwargs = STAGES[stage]
    space = gym.make(spec_id, table="surrogate", **kwargs).action_space
    for r in play(name, stage, [0, 1]):
        assert len(r) > 0
        dtype = getattr(space, "dtype", None)
        assert all(np.asarray(a, dtype=dtype) in space or int(a) in space for a in r.actions)
        recommended = r.recommended
        assert recommended in space or np.asarray(recommended, dtype=dtype) in space
        assert np.isfinite(r.rewards).all()


@pytest.mark.parametrize(("name", "stage"), STAGED)
def test_different_seeds_differ(name: str, stage: str) -> None:
    # Arms are noisy, so an agent that pulls them in a fixed order is still seen to be seeded.
    noisy = stage == "arms"
    runs = play(name, stage, list(range(6)))
    seen = {np.asarray(r.actions).tobytes() + (r.rewards.tobytes() if noisy else b"") for r in runs}
    assert len(seen) > 1


@pytest.mark.parametrize(("name", "stage"), STAGED)
def test_hidden_things_do_not_matter(name: str, stage: str) -> None:
    """An agent is a function of its problem, its seed and what it was told; never of global state."""
    np.random.seed(0)  # noqa: NPY002
    first = play(name, stage, [5])[0]
    np.random.seed(1)  # noqa: NPY002
    again = play(name, stage, [5])[0]
    assert np.array_equal(first.actions, again.actions)


_SCRIPT = """
import sys, hashlib, warnings
warnings.simplefilter("ignore")
import numpy as np
sys.path.insert(0, sys.argv[1])
from tests.contracts import test_agents as t
digest = hashlib.sha256()
for p in t.STAGED:
    name, stage = p.values
    if t.missing_extra(name) is None and stage == t.AGENTS[name].supports[0]:
        digest.update(str(np.asarray(t.play(name, stage, [2])[0].actions).tolist()).encode())
print(digest.hexdigest())
"""


def test_same_seed_same_run_in_another_process(request: pytest.FixtureRequest) -> None:
    digests = set()
    for hash_seed in ("1", "99"):
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT, str(ROOT)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout.strip())
    assert len(digests) == 1


@pytest.mark.parametrize("name", agents.names())
def test_entries_are_complete(name: str) -> None:
    e = AGENTS[name]
    assert e.summary
    assert e.supports
    if e.alias_of is not None:
        assert e.alias_of in AGENTS
    if missing_extra(name) is None:
        module, _, attribute = e.target.partition(":")
        cls = getattr(__import__(module, fromlist=[attribute]), attribute)
        assert issubclass(cls, Agent)
        assert cls.__doc__


def test_unknown_names_and_hyperparameters() -> None:
    problem = Problem(gym.spaces.Discrete(3))
    with pytest.raises(ValueError, match="agent must be one of .*, got 'randon', did you mean 'random'"):
        agents.make("randon", problem, 0)
    with pytest.raises(TypeError, match="depth"):
        agents.make("random", problem, 0, depth=3)


def test_random_search_meets_every_row_once_and_then_again() -> None:
    problem = Problem(gym.spaces.Discrete(5))
    agent = agents.make("random", problem, 3)
    drawn = [agent.ask() for _ in range(10)]
    assert sorted(drawn[:5]) == sorted(drawn[5:]) == list(range(5))


def test_random_search_recommends_the_best() -> None:
    agent = agents.make("random", Problem(gym.spaces.Discrete(5)), 0)
    for row, reward in [(1, 0.3), (4, 0.9), (2, 0.5)]:
        agent.tell(row, reward, {"cost": 1.0})
    assert agent.recommend() == 4


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.Box(-1.0, 1.0, (3,)),
        gym.spaces.MultiDiscrete([3, 4]),
        gym.spaces.Dict({"a": gym.spaces.Discrete(2), "b": gym.spaces.Box(0.0, 1.0, (2,))}),
    ],
    ids=["box", "grid", "dict"],
)
def test_random_search_on_other_spaces(space: gym.Space[Any]) -> None:
    one, two = (agents.make("random", Problem(space), 4) for _ in range(2))
    for _ in range(8):
        a, b = one.ask(), two.ask()
        assert a in space
        assert str(a) == str(b)


class Cheat(Agent):
    """Broken on purpose: ignores its seed."""

    def ask(self) -> Any:
        return int(np.random.randint(50))  # noqa: NPY002

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None: ...

    def recommend(self) -> Any:
        return 0


def test_teeth_a_global_generator_is_noticed() -> None:
    one = run(Cheat, "NMTHPO-zhen-v0", [5], env_kwargs={"table": "surrogate"})[0]
    two = run(Cheat, "NMTHPO-zhen-v0", [5], env_kwargs={"table": "surrogate"})[0]
    assert not np.array_equal(one.actions, two.actions)


class Peeking(Agent):
    """Looks for what an agent must not see."""

    seen: set[str]

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        type(self).seen = set()

    def ask(self) -> Any:
        return int(self.rng.integers(self.problem.rows))

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        type(self).seen |= set(info)

    def recommend(self) -> Any:
        return 0


def test_agents_are_told_cost_metrics_and_status_only() -> None:
    run(Peeking, "NMTHPO-zhen-v0", [0], env_kwargs={"table": "surrogate"})
    assert Peeking.seen == {"cost", "metrics", "status", "config"}
