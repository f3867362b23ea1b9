"""Tasks take about their time and lose no seed."""

from __future__ import annotations

import itertools
import types

import pytest

from hpo_envs.benchmarks.study import task as work
from hpo_envs.benchmarks.study.study import Contestant, Environment
from hpo_envs.benchmarks.study.task import Task, perform, remainder


def test_tasks_take_about_their_time_and_lose_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    clock = types.SimpleNamespace(perf_counter=lambda: next(ticks) / 10)  # each look at it is a tenth of a second later
    monkeypatch.setattr(work, "time", clock)
    environment = Environment("NMTHPO-zhen-v0", {})
    task = Task(environment, Contestant("random", "random"), tuple(range(50)), seconds=0.35)
    done = perform(task)  # batches of 1, 2, 2 and 1 begin before the time is over
    rest = remainder(done)
    assert [r.seed for r in done.runs] == list(range(6))
    assert [len(t.seeds) for t in rest] == [4] * 11  # six runs took half a second
    assert [s for t in rest for s in t.seeds] == list(range(6, 50))
