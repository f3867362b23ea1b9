"""The parts of the reproduction of Moss et al. 2019, on few trials."""

from __future__ import annotations

from pathlib import Path

from hpo_envs.benchmarks.papers.common import Reproduction, expected
from hpo_envs.benchmarks.papers.fiesta import reproduce, settings


def test_every_published_number_is_met_by_a_row(tmp_path: Path) -> None:
    """No row of `expected.csv` is forgotten: the parts of the tables produce all of them."""
    r = Reproduction(tmp_path, trials=3)
    reproduce.table1(r)
    rows = {(n["where"], n["row"], "", n["quantity"]) for n in r.notes}
    for setting in (*settings.TABLE_2, *settings.TABLE_3):
        where = "Table 2" if setting in settings.TABLE_2 else "Table 3"
        rows |= {(where, setting.name, f"{d:g}", q) for d in settings.DELTAS for q in ("min", "mean", "max", "correct")}
    rows |= {("Figure 4", agent, "", "correct") for agent in ("sh", "nonadaptive")}
    assert set(expected("fiesta")) == rows
    assert all(n["verdict"] == "agrees" for n in r.notes)
