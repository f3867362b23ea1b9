"""`hpo-envs list`: every id, and which of its tables are installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpo_envs.commands import main
from hpo_envs.registry import SPECS
from hpo_envs.tables import catalogue
from tests.helpers import offline


def test_list_shows_every_id_and_its_table(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["list"]) == 0
    out = capsys.readouterr().out
    rows = {line.split()[0]: line.split()[1] for line in out.splitlines() if line.startswith("  ")}
    assert {name for name, kind in rows.items() if kind == "synthetic"} <= {"FIESTA-gaussian-v0"}
    assert list(rows) == list(SPECS)
    assert all(kind == offline(name) for name, kind in rows.items() if kind != "synthetic")
    fetched = out.partition("`hpo-envs fetch ")[2].partition("`")[0].split()
    assert "nmthpo" in fetched
    assert set(fetched) <= set(catalogue.datasets())
    assert main.main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [r["id"] for r in listed] == list(SPECS)
    assert all(r["summary"].endswith((".", "?")) for r in listed)
    assert main.main(["list", "swen"]) == 0
    assert "NMTHPO-zhen-v0" not in capsys.readouterr().out


@pytest.mark.measured
def test_list_says_measured_where_it_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["list", "--json", "NMTHPO-"]) == 0
    assert {r["kind"] for r in json.loads(capsys.readouterr().out)} == {"measured"}
