"""The process that agents have to themselves: what it answers, and what it keeps from them."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import serve, wire
from hpo_envs.benchmarks.runs import problem_of, run
from hpo_envs.benchmarks.runs.isolation import AgentError
from tests.benchmarks.helpers import HOSTILE, SURROGATE, isolated

posix = pytest.mark.skipif(os.name != "posix", reason="isolation needs POSIX's pipes")


@posix
def test_nothing_of_the_table_is_in_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPO_ENVS_DATA", "/nowhere")
    monkeypatch.setenv("SECRET", "1")
    with open(__file__, encoding="utf-8"):  # a file that is open here is not open there
        (found,) = isolated(f"{HOSTILE}:LooksForTables")
    assert len(found) == 5
    assert HOSTILE not in sys.modules  # the agent's code was imported nowhere but in its own process
    assert HOSTILE in found.header["agent_source"]


@posix
def test_the_same_search_finds_what_is_in_this_process() -> None:
    from tests.benchmarks.hostile_agents import LooksForTables

    try:
        with pytest.raises(AssertionError, match="Table"):
            run(LooksForTables, "NMTHPO-zhen-v0", [0], budget=5, env_kwargs=SURROGATE)
    finally:
        del sys.modules[HOSTILE]


@posix
def test_a_table_that_is_shipped_is_not_opened() -> None:
    with pytest.raises(AgentError, match="an isolated agent must not open tables"):
        isolated(f"{HOSTILE}:MakesEnvironment")


@posix
def test_what_agents_print_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    (found,) = isolated(f"{HOSTILE}:Prints")
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("printed by Python") == err.count("written to 1") == err.count("printed by C") == len(found) == 5


def replies(*messages: dict[str, Any]) -> list[Any]:
    """What `serve` answers to messages, numbered from 7, in this process."""
    out = io.BytesIO()
    numbered = [{**message, "number": 7 + i} for i, message in enumerate(messages)]
    serve.serve(io.BytesIO(b"".join(map(wire.encode, numbered))), out)
    data, found = out.getvalue(), []
    while data:
        text, arrays = wire.lengths(data[: wire.HEAD.size])
        data = data[wire.HEAD.size :]
        found.append(wire.decode(data[:text], data[text : text + arrays]))
        data = data[text + arrays :]
    assert [reply.pop("number") for reply in found] == [message["number"] for message in numbered]
    return found


def test_messages_are_answered_as_the_agents_do() -> None:
    envs: Any = gym.make_vec("NMTHPO-zhen-v0", num_envs=1)
    problem = problem_of(envs)
    envs.close()
    made = {"do": "make", "agent": "random", "problem": problem.to_bytes(), "seeds": [3, 0], "hyperparameters": {}}
    told = {"do": "tell", "who": [1], "actions": [5], "rewards": [1.0], "infos": [{}]}
    observes, asked, done, best = replies(made, {"do": "ask", "who": [1, 0]}, told, {"do": "recommend"})
    one, other = (agents.make("random", problem, seed) for seed in (0, 3))
    assert observes == {"answer": [False, False]}
    assert asked == {"answer": [one.ask(), other.ask()]}
    assert done == {"answer": [False]}
    assert best["answer"][1] == 5


def test_what_goes_wrong_is_an_answer_and_does_not_end_the_process() -> None:
    first, second, third = replies({"do": "no_such"}, {"do": "ask", "who": [0]}, {"do": "recommend"})
    assert "AttributeError" in first["error"]
    assert "IndexError" in second["error"]
    assert third == {"answer": []}


def test_actions_are_kept_as_they_were_answered() -> None:
    buffer = np.zeros(2)
    kept = serve._kept(buffer)
    buffer[:] = 1.0
    assert kept.tolist() == [0.0, 0.0]
    assert serve._kept("1") == "1"
