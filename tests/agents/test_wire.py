"""Messages between a run loop and agents: every bit arrives, and what is no message is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs.agents import wire
from tests.helpers import raises


def test_messages_keep_every_bit() -> None:
    message = {
        "a": [np.array([[1.5, np.nan]]), np.float32(0.1), np.int64(-3), np.array("ä"), np.zeros((0, 3)), True, None],
        "b": b"\x00\xff",
        "c": [0.1, float("inf"), -0.0, 2**70, "ü"],
    }
    data = wire.encode(message)
    text, arrays = wire.lengths(data[: wire.HEAD.size])
    found = wire.decode(data[wire.HEAD.size :][:text], data[wire.HEAD.size + text :])
    assert len(data) == wire.HEAD.size + text + arrays
    assert found["b"] == message["b"]
    assert found["c"] == message["c"]
    for one, other in zip(message["a"][:5], found["a"][:5], strict=True):  # type: ignore[index]
        assert np.asarray(one).dtype == other.dtype
        assert np.asarray(one).shape == other.shape
        assert np.asarray(one).tobytes() == other.tobytes()


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"[" * 100_000,
        b"\xff",
        b"1" * 10_000,
        b'{"$array": 1}',
        b'{"$array": ["|O", [1], 0]}',
        b'{"$array": ["<f8", [9999999999999], 0]}',
        b'{"$array": ["<f8", [-1], 0]}',
        b'{"$array": ["<f8", [1, 1e300], 0]}',
        b'{"$array": ["<f8", [0, 1e300], 0]}',
        b'{"$bytes": ["a", 0]}',
    ],
)
def test_what_is_no_message_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="a message must be"):
        wire.decode(text, b"12345678")


@pytest.mark.parametrize("value", [object(), np.array([object()]), np.ma.masked_array([1], [True]), {1, 2}, 1j])
def test_what_cannot_be_sent_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="a message must be of JSON, bytes and arrays"):
        wire.encode(value)


def test_heads_are_checked_before_anything_is_read() -> None:
    head = wire.HEAD.pack(b"hpo1", 30, 12)
    assert wire.lengths(head) == wire.lengths(head, 42) == (30, 12)
    with raises("a message must have at most 41 bytes, got 42"):
        wire.lengths(head, 41)
    with pytest.raises(ValueError, match="a message must begin with b'hpo1', got b'hpo2"):
        wire.lengths(wire.HEAD.pack(b"hpo2", 30, 12))
