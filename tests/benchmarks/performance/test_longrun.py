"""The long run, in short: nothing grows, nothing stays open, and other processes see the same."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import IO

import pytest

from hpo_envs.benchmarks.performance import longrun

IDS = ["NMTHPO-swen-v0", "NMTLC-swen-v0", "FIESTA-gaussian-v0"]


def test_nothing_grows() -> None:
    rows = longrun.table(0.001, IDS, methods=["spawn"])
    assert sum(row.count for row in rows) > 100_000
    for row in rows:
        assert row.megabytes < 30.0, row
        assert row.files <= 0, row


def leaking(handles: list[IO[bytes]], blocks: list[mmap.mmap]) -> Iterator[int]:
    while True:
        handles.append(open("/dev/null", "rb"))
        blocks.append(mmap.mmap(-1, 1 << 20))  # not from the heap, which may have room that was freed before
        blocks[-1].write(b"x" * (1 << 20))
        yield 1


def test_teeth_leaks_are_seen() -> None:
    if not longrun.open_files():
        pytest.skip("this system does not tell the number of open files")
    handles: list[IO[bytes]] = []
    row = longrun.watch("leak", leaking(handles, []), 100)
    for handle in handles:
        handle.close()
    assert 85 <= row.files <= 95
    assert row.megabytes > 60


def test_teeth_processes_that_disagree_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longrun, "trajectory", disagreeing)
    with pytest.raises(RuntimeError, match="must see what their parent sees"):
        longrun.processes("fork", "NMTHPO-zhen-v0", 2)


def disagreeing(env_id: str, calls: list[int] = []) -> list[float]:  # noqa: B006
    calls.append(1)
    return [float(len(calls))]
