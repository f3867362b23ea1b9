"""Words for how a run ended, and costs of runs that failed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpo_envs.tables.user import cells, outcomes


def made(**columns: list[Any]) -> cells.Sheet:
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return cells.of_rows("f", rows, "line", range(2, len(rows) + 2), "0")


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("OOM", outcomes.FAILED), ("CUDA out of memory", outcomes.FAILED), ("ValueError", outcomes.FAILED),
        ("NaN", outcomes.DIVERGED), ("-inf", outcomes.DIVERGED), ("Diverged", outcomes.DIVERGED),
        ("PRUNED", outcomes.TRUNCATED), ("early stopping", None), ("TrialState.COMPLETE", outcomes.OK),
        ("running", outcomes.UNFINISHED), ("fine", None),
    ],
)  # fmt: skip
def test_words(word: str, status: int | None) -> None:
    assert outcomes.meaning(word) == status


def test_scores_say_how_a_run_ended() -> None:
    errors: list[str] = []
    values, status = outcomes.scores(made(acc=["0.5", "oom", "", "nan", "good"]), ["acc"], errors)
    assert status.tolist() == [0, 1, 1, 2, 1]
    assert np.isnan(values[1:]).all()
    assert errors == ["line 6, column acc: must be a number, or empty for a failed run, got 'good'"]
    assert outcomes.scores(made(acc=[0.5, float("nan"), None]), ["acc"], errors)[1].tolist() == [0, 2, 1]


def test_a_failed_run_needs_no_cost() -> None:
    status, said = np.array([0, 1, 1, 0], np.uint8), []
    sheet = made(t=["10", "", "4", "30"], u=["10", "1", "1", ""])
    cost = outcomes.costs(sheet, "t", status, [], lambda *words: said.append(words), True)
    assert cost is not None
    assert cost.tolist() == [10, 4, 4, 30]
    assert said == [("t", "empty for 1 failed run: taken as 4, the median of failed runs")]
    errors: list[str] = []
    outcomes.costs(sheet, "u", status, errors, lambda *words: None, True)
    assert errors == ["line 5, column u: must be a number >= 0, got ''"]
    assert outcomes.costs(sheet, "u", status, [], lambda *words: None, False) is None


def test_states_are_words_of_one_kind() -> None:
    sheet = made(state=["done", "killed", "running", None], other=["done", "x", "y", "z"])
    assert outcomes.states(sheet, "state", True).tolist() == [0, 1, 255, 0]  # type: ignore[union-attr]
    assert outcomes.states(sheet, "other", False) is None
    with pytest.raises(ValueError, match="line 3, column other: must be a state such as finished, .*, got 'x'"):
        outcomes.states(sheet, "other", True)
