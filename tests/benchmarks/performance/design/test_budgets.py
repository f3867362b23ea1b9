"""The table of budgets: few runs of few agents."""

from __future__ import annotations

import pytest

from hpo_envs.benchmarks.performance.design import budgets
from hpo_envs.registry import SPECS


@pytest.mark.filterwarnings("ignore::hpo_envs.tables.store.EmbeddedTableWarning")
def test_the_table_has_a_row_for_each_budget(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(budgets, "AGENTS", ("random", "smac-like", "regularized-evolution"))
    monkeypatch.setattr(budgets, "EVALUATIONS", (2, 20))
    budgets.main(["--seeds", "5", "--ids", "1", "--only", "NMTHPO"])
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
    assert tuple(rows[0]) == budgets.HEAD
    named = [r[:3] for r in rows[2:]]
    assert named == [
        [name, f"{b} evaluations", "1"] for name in ("NMTHPO", "NMTHPO, 2 objectives", "NMTHPO-v0") for b in (2, 20)
    ]
    few, many = rows[2], rows[3]
    assert float(few[5]) <= float(few[4])
    assert float(many[4]) < float(few[4])


def test_all_families_are_those_with_tables_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(budgets, "rows_of", lambda family, seeds, ids: [[spec.id for spec in family.ids]])
    budgets.main([])
    ids = [i.strip() for line in capsys.readouterr().out.splitlines()[2:] for i in line.strip("|").split("|")]
    assert ids == [i for i in SPECS if not i.startswith("Table")]
    with pytest.raises(SystemExit):
        budgets.main(["--only", "NMT"])
