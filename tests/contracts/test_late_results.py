"""Simulated workers: an agent either takes results whenever they come, or refuses. None takes a submission for one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import AGENTS
from hpo_envs.benchmarks import run
from tests.contracts.test_agents import missing_extra

ENV, SETTINGS = "NMTLC-ft-zhen-v0", {"table": "surrogate", "workers": 3, "budget": 300}
WAITING = {"successive-halving", "hyperband", "tpe-features", "optuna"}
LEVELS = [n for n, e in AGENTS.items() if "levels" in e.supports and e.alias_of is None]


class Witness:
    """Hands everything on, and notes what was asked for and what was told."""

    def __init__(self, name: str, problem: Any, seed: int) -> None:
        self.agent = agents.make(name, problem, seed)
        self.asked: list[tuple[int, ...]] = []
        self.told: list[tuple[tuple[int, ...], float]] = []

    @property
    def done(self) -> bool:
        return self.agent.done

    def ask(self) -> Any:
        action = self.agent.ask()
        self.asked.append(tuple(int(a) for a in action))
        return action

    def tell(self, action: Any, reward: Any, info: Any) -> None:
        if info["finished"]:
            self.told.append((tuple(int(a) for a in action), float(reward)))
        self.agent.tell(action, reward, info)

    def recommend(self) -> Any:
        return self.agent.recommend()


@pytest.mark.parametrize("name", LEVELS)
def test_results_come_late(name: str) -> None:
    if missing_extra(name):
        pytest.skip(f"extra {AGENTS[name].extra} not installed")
    made: list[Witness] = []

    def factory(problem: Any, seed: int) -> Witness:
        made.append(Witness(name, problem, seed))
        return made[-1]

    if name in WAITING:
        with pytest.raises(ValueError, match="workers must be 1 for .*got a step that only submitted one"):
            run(factory, ENV, [0], env_kwargs=SETTINGS)  # type: ignore[arg-type]
        return
    result = run(factory, ENV, [0], env_kwargs=SETTINGS)[0]  # type: ignore[arg-type]
    (witness,) = made
    assert len(result) == len(witness.told) > 10
    assert {a for a, _ in witness.told} <= set(witness.asked)
    rows = [row for row, _ in witness.asked[:12]]
    if name != "asha":  # which trains a row further
        assert len(set(rows)) == len(rows), "asked twice for what a worker already has"
    best = max(witness.told, key=lambda t: t[1])
    recommended = tuple(int(a) for a in np.atleast_1d(result.recommended))
    assert dict(witness.told)[recommended] == best[1], "recommends what was only submitted"
