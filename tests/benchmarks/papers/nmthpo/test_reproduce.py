"""Entries as rows of the tables that `hpo-envs reproduce nmthpo` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.benchmarks.papers.nmthpo import reproduce
from hpo_envs.benchmarks.papers.nmthpo.analysis import Entry


def test_entries_are_counted_and_written() -> None:
    agrees = Entry(3, "zhen", "RS", "ftb", 11.0, 4.0, 100, 10.0, 3.0, 0)
    differs = Entry(3, "zhen", "RS", "ftb", 15.0, 4.0, 100, 10.0, 3.0, 0)
    unpublished = Entry(3, "zhen", "RS", "ftb", 11.0, 4.0, 100, None, None, 0)
    assert reproduce.agreeing([agrees, differs, unpublished]) == 1
    row = reproduce.record(agrees)
    assert (row["mean"], row["z"], row["verdict"]) == ("11.0000", "1.00", "agrees")
    assert reproduce.record(unpublished)["z"] == ""


def test_parts_are_known_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only must be one of tables, table3, counts, table4, released, figures"):
        reproduce.main(tmp_path, only="table5")
