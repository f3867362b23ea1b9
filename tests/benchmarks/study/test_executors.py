"""Executors carry out calls of any picklable function; a study's tasks are tested in `test_study`."""

from __future__ import annotations

import math

import pytest

from hpo_envs.benchmarks.study import executors


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
