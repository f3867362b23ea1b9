"""What runs are measured against."""

from __future__ import annotations

import dataclasses

import pytest

from hpo_envs.benchmarks.analysis import reference
from hpo_envs.benchmarks.runs import run
from hpo_envs.tables import store


def test_the_optimum_is_that_of_the_table_the_run_was_made_on() -> None:
    (one,) = run("random", "NMTHPO-zhen-mo-v0", [0], budget=3, env_kwargs={"table": "surrogate"})
    table = store.load(one.header["table"], "surrogate")
    rewards = reference.final_rewards(table, one.header["objectives"])
    found = reference.of_run(one)
    assert found.best.tolist() == rewards.max(axis=0).tolist()
    better = (rewards[:, None] >= found.front).all(axis=2) & (rewards[:, None] > found.front).any(axis=2)
    assert not better.any()
    stale = dataclasses.replace(one, header={**one.header, "sha256": "0" * 64})
    with pytest.raises(ValueError, match="runs must be scored against the table they were made on"):
        reference.of_run(stale)
