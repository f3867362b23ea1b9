"""Tasks and executors: what is run, where, and in which order."""

from __future__ import annotations

import itertools
import math
import types

import pytest

from hpo_envs.benchmarks.study import executors
from hpo_envs.benchmarks.study import task as work
from hpo_envs.benchmarks.study.study import Entrant, Environment
from hpo_envs.benchmarks.study.task import Task, perform, remainder


def test_tasks_take_about_their_time_and_lose_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    clock = types.SimpleNamespace(perf_counter=lambda: next(ticks) / 10)  # each look at it is a tenth of a second later
    monkeypatch.setattr(work, "time", clock)
    environment = Environment("NMTHPO-zhen-v0", {})
    task = Task(environment, Entrant("random", "random"), tuple(range(50)), seconds=0.35)
    done = perform(task)  # batches of 1, 2, 2 and 1 begin before the time is over
    rest = remainder(done)
    assert [r.seed for r in done.runs] == list(range(6))
    assert [len(t.seeds) for t in rest] == [4] * 11  # six runs took half a second
    assert [s for t in rest for s in t.seeds] == list(range(6, 50))


@pytest.mark.parametrize("jobs", [1, 2])
def test_map_has_every_result_under_its_index(jobs: int) -> None:
    with executors.of_jobs(jobs) as executor:
        assert executor.workers == jobs
        assert dict(executor.map(math.factorial, [5, 0, 3])) == {0: 120, 1: 1, 2: 6}
        assert dict(executor.map(math.factorial, [])) == {}
        with pytest.raises(ValueError, match="not defined for negative"):
            list(executor.map(math.factorial, [-1]))


def test_one_process_takes_calls_in_order() -> None:
    executor = executors.Serial()
    executor.submit(math.sqrt, 4.0)
    executor.submit(math.sqrt, 9.0)
    assert [executor.next(), executor.next()] == [2.0, 3.0]
