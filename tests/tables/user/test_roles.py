"""Which columns are hyperparameters."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.tables.user import cells as of_cells
from hpo_envs.tables.user import roles, trackers
from tests.tables.user.helpers import from_text


@pytest.mark.parametrize(
    ("column", "cells", "reason"),
    [
        ("created_at", ["a", "b", "c", "d", "e", "f"], "when, not what"),
        ("begun", ["2024-01-02", "2024-01-03", None, "2024-01-05", "2024-01-06", "2024-01-07"], "when, not what"),
        ("Notes", ["a", "b", "a", "b", "a", "b"], "a note"),
        ("what", ["a", "b", "c", "d", "e", "f"], "another text for each run"),
        ("train_loss", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "measured, not set"),
        ("loss", ["hinge", "log", "hinge", "log", "hinge", "log"], None),
        ("time_limit", [60, 120, 60, 120, 60, 120], None),
        ("epochs", [1, 2, 3, 1, 2, 3], None),
        ("job_id", ["1", "2", "3", "4", "5", "6"], "names the runs"),
    ],
)
def test_a_column_is_left_out_for_its_name_or_its_values(column: str, cells: list[object], reason: str | None) -> None:
    rows = [{"lr": 0.1 * (i + 1), "width": i, column: cell, "acc": 0.1 * i} for i, cell in enumerate(cells)]
    read = trackers.read(of_cells.of_rows("f", rows, "line", range(6), "0"))
    said: list[str] = []
    chosen, names = roles.hyperparameters(
        read, ["acc"], np.zeros(6, bool), [], lambda name, why: said.append(f"{name}: {why}")
    )
    assert (column in chosen) == (reason is None)
    assert reason is None or column in names or said[0].startswith(f"{column}: {reason}")


def test_a_column_is_meant_by_its_name_in_the_file_and_by_its_end() -> None:
    text = b"run_id,params.lr,metrics.val_f1,metrics.val_em\na,.1,.5,.4\nb,.2,.6,.5\n"
    for word in ("val_f1", "metrics.val_f1", "f1"):
        assert from_text(text, word).metrics[0].name == "val_f1"
    with pytest.raises(ValueError, match="column must be one of .*, got 'val_f2', did you mean 'val_f1'"):
        from_text(text, "val_f2")


def test_checkpoints_need_runs_of_several_lines() -> None:
    once = b"lr,epochs,acc\n.1,5,.5\n.2,10,.6\n.3,5,.7\n.1,10,.8\n"
    assert len(from_text(once).levels) == 1
    twice = b"lr,epoch,acc\n.1,1,.5\n.1,2,.6\n.2,1,.7\n.2,2,.8\n"
    assert from_text(twice).levels.tolist() == [1, 2]


def test_a_first_column_that_counts_is_a_hyperparameter_where_no_other_varies() -> None:
    depths = "".join(f"{k},.1,.{k}\n" for k in range(1, 9))
    assert [h.name for h in from_text(f"max_depth,lr,score\n{depths}".encode()).space] == ["max_depth"]
    both = "".join(f"{k},{k % 3 + 1},.{k}\n" for k in range(1, 9)).encode()
    assert [h.name for h in from_text(b"line,lr,score\n" + both).space] == ["lr"]
    taken = from_text(b"line,lr,score\n" + both, categorical=["line"])
    assert [h.name for h in taken.space] == ["line", "lr"]


def test_a_step_of_weights_and_biases_is_no_setting_called_step() -> None:
    lines = "".join(f"r{k},finished,{10 * (k % 2 + 1)},{k},.0{k},.{k}\n" for k in range(1, 7))
    table = from_text(f"Name,State,lr_step,trainer/global_step,lr,acc\n{lines}".encode(), "acc")
    assert [h.name for h in table.space] == ["lr_step", "lr"]
