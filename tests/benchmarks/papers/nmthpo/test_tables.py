"""Tables 1 and 2 beside print."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.nmthpo import tables
from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmthpo.names import PAIRS


@pytest.mark.parametrize("pair", PAIRS)
def test_every_printed_value_is_that_of_the_table(pair: str) -> None:
    assert [r["verdict"] for r in tables.compare(pair, store.load(f"nmthpo/{pair}"))] == ["agrees"] * 4


def test_another_table_differs() -> None:
    found = tables.compare("soen", store.load("nmthpo/swen"))
    assert {r["verdict"] for r in found} == {"differs"}


def test_part_writes_rows_and_histogram(tmp_path: Path) -> None:
    with Reproduction(tmp_path) as r:
        rows = tables.run(r)["tables"]
    assert len(rows) == 4 * len(PAIRS)
    assert (tmp_path / "figure1_histogram.png").exists()
