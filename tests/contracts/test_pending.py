"""Model-based agents accept further calls of `ask` before results, and pending actions do not affect their model."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.agents.search.bo import BayesianOptimisation

RNG = np.random.default_rng(0)
ROWS = Problem(gym.spaces.Discrete(60), RNG.random((60, 3)), ("a", "b", "c"), budget=30)
TWO = Problem(gym.spaces.Discrete(60), RNG.random((60, 3)), ("a", "b", "c"), budget=30, objectives=2)
BOX = Problem(gym.spaces.Box(-1.0, 1.0, (3,), np.float32), budget=30)
WORKERS = 4


def problem_of(name: str) -> Problem | None:
    """The problem for an agent's tests; None for agents of other problems."""
    return next((p for p in (ROWS, TWO, BOX) if agents.fits(name, p)), None)


NAMES = [n for n, e in agents.AGENTS.items() if e.alias_of is None and e.installed and problem_of(n) is not None]
OURS = [n for n in NAMES if agents.AGENTS[n].extra is None]
MODELLED = [n for n in OURS if (n.startswith(("bo", "graph")) and n != "box-bo") or n == "learned"]


def key_of(action: Any) -> Any:
    return np.asarray(action).tobytes()


def reward_of(problem: Problem, action: Any) -> Any:
    x = np.asarray(action, float) if problem.features is None else problem.features[int(action)]
    value = -float(((x - 0.4) ** 2).sum())
    return np.array([value, -value]) if problem.objectives > 1 else value


def play(agent: Any, problem: Problem, workers: int, budget: int, seed: int) -> list[Any]:
    """Actions in the order of suggestion; results are reported in random order."""
    rng = np.random.default_rng(seed)
    asked: list[Any] = []
    running: list[Any] = []
    told = 0
    while told < budget:
        while len(running) < workers and len(asked) < budget:
            asked.append(agent.ask())
            running.append(asked[-1])
        action = running.pop(int(rng.integers(len(running))))
        agent.tell(action, reward_of(problem, action), {"cost": 1.0, "metrics": {}, "status": "ok", "finished": True})
        told += 1
    return asked


@pytest.mark.parametrize("name", NAMES)
def test_no_candidate_is_suggested_twice(name: str) -> None:
    problem = problem_of(name)
    assert problem is not None
    agent = agents.make(name, problem, 0)
    assert agent.parallel
    asked = play(agent, problem, WORKERS, 24, seed=1)
    assert len({key_of(a) for a in asked}) == 24
    rewards = {key_of(a): np.sum(reward_of(problem, a)) for a in asked}
    assert rewards[key_of(agent.recommend())] == max(rewards.values())


@pytest.mark.parametrize("name", MODELLED)
def test_pending_candidates_leave_no_trace_in_the_model(name: str) -> None:
    problem = problem_of(name)
    assert problem is not None
    agent: Any = agents.make(name, problem, 3)
    play(agent, problem, 1, 8, seed=0)
    agent.ask()  # where a kernel is estimated, it is now
    before = [m.mark() for m in agent._models]
    for _ in range(3):
        agent.ask()
    assert len(agent.rows) == len(agent.rewards) == 8
    for one, other in zip(before, [m.mark() for m in agent._models], strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(one, other, strict=True))


def test_the_kriging_believer_avoids_pending_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Problem(gym.spaces.Discrete(101), np.linspace(0.0, 1.0, 101)[:, None], ("x",))

    def distance() -> float:
        agent: Any = agents.make("bo-ei-matern52", line, 0, length_scale=0.2, initial=1)
        for row in (0, 50, 100):
            agent.tell(row, float(np.sin(row / 16.0)), {"status": "ok"})
        first, second = agent.ask(), agent.ask()
        return abs(float(first - second))

    believed = distance()
    monkeypatch.setattr(BayesianOptimisation, "_models", None)
    assert believed > 5 * distance()
