"""Pictures and tables of a report."""

from pathlib import Path

import numpy as np

from hpo_envs.benchmarks import plots as style
from hpo_envs.benchmarks.analysis import forest_importance as fi
from hpo_envs.benchmarks.report import importance, selections


def test_regret_has_logarithmic_axis_where_curves_crowd() -> None:
    crowded = {"a": [[1.0, 0.01]], "b": [[1.0, 0.02]], "c": [[1.0, 0.5]]}
    assert style.crowded(crowded)
    assert not style.crowded({"a": [[1.0, 0.3]], "b": [[1.0, 0.02]], "c": [[1.0, 0.5]]})
    assert not style.crowded({name: [[1.0, 0.0]] for name in "ab"})
    assert style.most(["a", "b", "c", "d", "e", "f", "random"]) == ["a", "b", "c", "d", "e", "random"]


def test_picture_of_ranges_choices_and_logarithms(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    axes = (fi.Axis("a", (0.0, 1.0), labels=("no", "yes")), fi.Axis("b", (), -7.0, 0.0, log=True), fi.Axis("c"))
    x = np.column_stack([rng.integers(2, size=50), rng.uniform(-7, 0, 50), rng.uniform(size=50)])
    found = fi.importance(x, x[:, 0] - x[:, 1], axes, trees=3)
    files = importance.draw(found, "loss", axes, -1.0, tmp_path / "i")
    assert [f.name for f in files] == ["i.png", "i.svg"]
    text = (tmp_path / "i.svg").read_text()
    assert all(f"<!-- {word} -->" in text for word in ("main effects", "interactions", "yes", "mean loss"))


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
