"""The parts of the reproduction of Moss et al. 2019, on few trials."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

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


def test_main_writes_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce.main(tmp_path, trials=2, only="table1") == 0
    assert "Table 1, round 2, evaluations" in capsys.readouterr().out
    with open(tmp_path / "results.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [r["verdict"] for r in rows] == ["agrees", "agrees"]
    with pytest.raises(ValueError, match="only must be one of table1"):
        reproduce.main(tmp_path, only="table9")
