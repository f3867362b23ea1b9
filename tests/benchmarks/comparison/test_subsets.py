"""The rows of a table that a run had."""

from __future__ import annotations

from hpo_envs.benchmarks.comparison import reference, subsets
from hpo_envs.benchmarks.runs import run


def test_the_part_of_a_table_is_what_a_run_with_the_whole_budget_met() -> None:
    kwargs = {"budget": None, "share": 0.3}
    for r in run("random", "NMTHPO-zhen-v0", range(3), env_kwargs=kwargs):
        table = reference.table_of(r.header)
        part = subsets.of(table, subsets.key(r.header))
        assert sorted(part.keys) == sorted(table.keys[row] for row in r.actions)
    assert subsets.key({**r.header, "share": 1.0}) == ()
    assert subsets.of(table, ()) is table
