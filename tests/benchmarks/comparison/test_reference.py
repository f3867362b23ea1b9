"""The table that runs were made on."""

import pytest

from hpo_envs.benchmarks.comparison import random_search
from hpo_envs.benchmarks.runs import run


def test_table_is_one_run_was_made_on() -> None:
    (one,) = run("random", "NMTHPO-zhen-mo-v0", [0], budget=3)
    table = random_search.table_of(one.header)
    assert table.provenance.sha256 == one.header["sha256"]
    with pytest.raises(ValueError, match="runs must be scored against the table they were made on"):
        random_search.table_of({**one.header, "sha256": "0" * 64})


def test_part_of_table_is_what_run_with_whole_budget_met() -> None:
    kwargs = {"budget": None, "subsample": 0.3}
    for r in run("random", "NMTHPO-zhen-v0", range(3), env_kwargs=kwargs):
        table = random_search.table_of(r.header)
        part = random_search.subset(table, random_search.part_of(r.header))
        assert sorted(part.keys) == sorted(table.keys[row] for row in r.actions)
    assert random_search.part_of({**r.header, "subsample": 1.0}) == ()
    assert random_search.subset(table, ()) is table
