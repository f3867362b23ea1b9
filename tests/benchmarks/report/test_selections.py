"""The table of selections."""

from __future__ import annotations

from hpo_envs.benchmarks.report import selections


def test_rows_by_agent_and_budget() -> None:
    def record(agent: str, budget: float, wrong: list[float], sure: float, evaluations: float) -> dict[str, object]:
        values = {"wrong": wrong, "sure": sure, "evaluations": evaluations, "n": 20}
        return {"agent": agent, "budget": budget, **values}

    rows = selections.rows(
        [
            record("slow", 204.0, [0.05, 0.001, 0.25], 0.0, 204),
            record("quick", 204.0, [0.05, 0.001, 0.25], 0.85, 120.4),
            record("quick", 102.0, [0.5, 0.27, 0.73], 0.1, 99),
        ]
    )
    assert rows == [
        ["agent", "wrong with 102", "wrong with 204", "until sure"],
        ["quick", "50 % [27, 73]", "5 % [0.1, 25]", "120 (85%)"],
        ["slow", "-", "5 % [0.1, 25]", "-"],
    ]
