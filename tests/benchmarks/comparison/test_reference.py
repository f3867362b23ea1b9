"""The table that runs were made on."""

from __future__ import annotations

import pytest

from hpo_envs.benchmarks.comparison import reference
from hpo_envs.benchmarks.runs import run


def test_the_table_is_the_one_the_run_was_made_on() -> None:
    (one,) = run("random", "NMTHPO-zhen-mo-v0", [0], budget=3)
    table = reference.table_of(one.header)
    assert table.provenance.sha256 == one.header["sha256"]
    with pytest.raises(ValueError, match="runs must be scored against the table they were made on"):
        reference.table_of({**one.header, "sha256": "0" * 64})
