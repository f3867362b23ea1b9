"""Agents in another process: messages, spaces, and the same search."""

import io
import json
import os
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from hpo_envs import agents
from hpo_envs.agents import serve, wire
from hpo_envs.agents.wire import decode_function, decode_space, encode_function, encode_space
from hpo_envs.benchmarks.runs import problem_of, run
from hpo_envs.benchmarks.runs.isolation import AgentError
from tests.benchmarks.helpers import HOSTILE, isolated
from tests.helpers import raises, rejects

pytestmark = pytest.mark.hostile

posix = pytest.mark.skipif(os.name != "posix", reason="isolation needs POSIX's pipes")


@posix
def test_the_process_of_agents_has_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
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
        rejects("Table", run, LooksForTables, "NMTHPO-zhen-v0", [0], budget=5, error=AssertionError)
    finally:
        del sys.modules[HOSTILE]


@posix
def test_tables_that_ship_are_not_opened_in_the_process_of_agents() -> None:
    rejects("an isolated agent must not open tables", isolated, f"{HOSTILE}:MakesEnvironment", error=AgentError)


@posix
def test_what_agents_print_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    (found,) = isolated(f"{HOSTILE}:Prints")
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("printed by Python") == err.count("written to 1") == err.count("printed by C") == len(found) == 5


def replies(*messages: dict[str, Any]) -> list[Any]:
    """Replies of `serve` to messages, which are numbered from 7, in this process."""
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


def test_messages_are_answered_as_agents_do() -> None:
    envs: Any = gym.make_vec("NMTHPO-zhen-v0", num_envs=1)
    problem = problem_of(envs)
    envs.close()
    made = {"do": "make", "agent": "random", "problem": problem.to_bytes(), "seeds": [3, 0], "hyperparameters": {}}
    told = {"do": "tell", "who": [1], "actions": [5], "rewards": [1.0], "infos": [{}]}
    observes, asked, done, best = replies(made, {"do": "ask", "who": [1, 0]}, told, {"do": "recommend"})
    one, other = (agents.make("random", problem, seed) for seed in (0, 3))
    assert (observes, asked) == ({"answer": [False, False]}, {"answer": [one.ask(), other.ask()]})
    assert (done, best["answer"][1]) == ({"answer": [False]}, 5)


def test_errors_are_replies_and_do_not_end_the_process() -> None:
    first, second, third = replies({"do": "no_such"}, {"do": "ask", "who": [0]}, {"do": "recommend"})
    assert "AttributeError" in first["error"]
    assert "IndexError" in second["error"]
    assert third == {"answer": []}


def test_actions_are_kept_as_they_were_answered() -> None:
    buffer = np.zeros(2)
    kept = serve._kept(buffer)
    buffer[:] = 1.0
    assert (kept.tolist(), serve._kept("1")) == ([0.0, 0.0], "1")


def test_messages_keep_every_bit() -> None:
    message = {
        "a": [np.array([[1.5, np.nan]]), np.float32(0.1), np.int64(-3), np.array("ä"), np.zeros((0, 3)), True, None],
        "b": b"\x00\xff",
        "c": [0.1, float("inf"), -0.0, 2**70, "ü"],
    }
    data = wire.encode(message)
    text, arrays = wire.lengths(data[: wire.HEAD.size])
    found = wire.decode(data[wire.HEAD.size :][:text], data[wire.HEAD.size + text :])
    assert (len(data), found["b"], found["c"]) == (wire.HEAD.size + text + arrays, message["b"], message["c"])
    for one, other in zip(message["a"][:5], found["a"][:5], strict=True):  # type: ignore[index]
        assert (np.asarray(one).dtype, np.asarray(one).shape) == (other.dtype, other.shape)
        assert np.asarray(one).tobytes() == other.tobytes()


@pytest.mark.parametrize(
    "text",
    [
        b"{", b"[" * 100_000, b"\xff", b"1" * 10_000, b'{"$array": 1}', b'{"$array": ["|O", [1], 0]}',
        b'{"$array": ["<f8", [9999999999999], 0]}', b'{"$array": ["<f8", [-1], 0]}',
        b'{"$array": ["<f8", [1, 1e300], 0]}', b'{"$array": ["<f8", [0, 1e300], 0]}', b'{"$bytes": ["a", 0]}',
        b'{"$bytes": [9, 0]}', b'{"$bytes": [2, -1]}',
    ],
)  # fmt: skip
def test_bytes_that_are_no_message_are_rejected(text: bytes) -> None:
    rejects("a message must be", wire.decode, text, b"12345678")


@pytest.mark.parametrize("value", [object(), np.array([object()]), np.ma.masked_array([1], [True]), {1, 2}, 1j])
def test_what_cannot_be_sent_is_rejected(value: Any) -> None:
    rejects("a message must be of JSON, bytes and arrays", wire.encode, value, error=TypeError)


def test_heads_are_checked_before_anything_is_read() -> None:
    head = wire.HEAD.pack(b"hpo1", 30, 12)
    assert wire.lengths(head) == wire.lengths(head, 42) == (30, 12)
    with raises("a message must have at most 41 bytes, got 42"):
        wire.lengths(head, 41)
    with pytest.raises(ValueError, match="a message must begin with b'hpo1' and two lengths, got b'hpo2"):
        wire.lengths(wire.HEAD.pack(b"hpo2", 30, 12))


SPACES = [
    gym.spaces.Discrete(5, start=2),
    gym.spaces.MultiDiscrete([3, 4]),
    gym.spaces.MultiDiscrete([3, 4], dtype=np.int32),
    gym.spaces.Box(-1.0, 1.0, (2, 3)),
    gym.spaces.Box(np.array([0.1, -np.inf]), np.array([0.2, np.inf]), dtype=np.float64),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_spaces_survive_json(space: gym.Space[Any]) -> None:
    back = decode_space(json.loads(json.dumps(encode_space(space))))
    assert (back, back.dtype) == (space, space.dtype)


def test_malformed_spaces_are_rejected() -> None:
    box = encode_space(SPACES[3])
    for wrong in ({}, [], {**box, "kind": "Graph"}, {**box, "dtype": "in,64"}, {**box, "kind": "Discrete"}):
        rejects("space must be an encoded Discrete, MultiDiscrete, Box, got", decode_space, wrong)


def test_functions_are_passed_by_name() -> None:
    assert encode_function(encode_space) == "hpo_envs.agents.wire:encode_space"
    assert decode_function("hpo_envs.agents.wire:encode_space") is encode_space
    rejects("of the package hpo_envs, got 'os:system'", decode_function, "os:system")
    for name in ("hpo_envs.agents.wire:TRUSTED", "hpo_envs.agents.no_module:f"):
        rejects(f"mutate must name a function, got '{name}'", decode_function, name)


def test_short_messages_do_not_become_long() -> None:
    data = bytes(10**6)
    for part in ({"$array": ["|u1", [10**6], 0]}, {"$bytes": [10**6, 0]}):
        assert len(wire.decode(json.dumps([part]).encode(), data)[0]) == 10**6
        rejects("arrays and bytes must not overlap", wire.decode, json.dumps([part, part]).encode(), data)
