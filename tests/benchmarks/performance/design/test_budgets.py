"""The table of budgets: few runs of few agents."""

from __future__ import annotations

import pytest

from hpo_envs.benchmarks.performance.design import budgets


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
