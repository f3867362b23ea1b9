"""A file's columns, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tables.user.helpers import from_text


def test_each_way_out_that_a_sentence_names_works() -> None:
    text = b"lr,seed,minutes,when,acc\n.1,1,3,2024-01-02,.5\n.2,2,4,2024-01-03,.6\n.3,3,5,2024-01-04,.7\n"
    said: list[str] = []
    assert [h.name for h in from_text(text, explain=said.append).space] == ["lr"]
    for column in ("seed", "minutes", "when"):
        assert any(s.startswith(f"{column}: ") and "--hyperparameters takes it in" in s for s in said)
    taken = from_text(text, hyperparameters=["lr", "seed", "minutes", "when"])
    assert [h.name for h in taken.space] == ["lr", "seed", "minutes", "when"]
    assert from_text(text, cost="minutes").cost[:, 0, 0].sum() == 12
    assert from_text(text, cost="minutes", repeat="seed").repeats == 1


def test_a_run_that_failed_with_a_score_stopped_early() -> None:
    text = b"lr,state,acc\n.1,crashed,.5\n.2,finished,.6\n.3,finished,\n.4,diverged,\n"
    table = from_text(text)
    by_lr = {table.config(i)["lr"]: int(table.status[i, 0]) for i in range(4)}
    assert by_lr == {0.1: 3, 0.2: 0, 0.3: 1, 0.4: 2}
    with pytest.raises(ValueError, match="column state: must have a run that has ended, got 2 that go on"):
        from_text(b"lr,state,acc\n.1,running,.5\n.2,pending,.6\n")


def test_the_first_errors_are_named_and_the_rest_counted() -> None:
    rows = "".join(f".{i},bad{i}\n" for i in range(1, 9))
    with pytest.raises(ValueError, match=r"text.csv: line 2, column acc: .*line 6, .*got 'bad5'; and 3 more"):
        from_text(f"lr,acc\n{rows}".encode(), "acc", "max")


def test_a_spreadsheet_kept_by_hand_is_read() -> None:
    lines = [f"{i};1e-{i % 4 + 1};{['Adam', 'adam'][i % 2]};{60 + i},5;{59 + i},5;{i};" for i in range(1, 13)]
    lines[6] = "7;1e-2;Adam;OOM;;2;started again, see mail"
    said: list[str] = []
    header = "Lauf;Lernrate;Optimierer;F1 dev (%);F1 test (%);Dauer (h);Bemerkung"
    table = from_text("\n".join([header, *lines]).encode(), "F1 dev (%)", "max", explain=said.append)
    assert [h.name for h in table.space] == ["Lernrate", "Optimierer"]
    assert sorted(table.values[~np.isnan(table.values)])[-2:] == [71.5, 72.5]
    assert "Lauf: names the runs, no hyperparameter" in said
    assert any(s.startswith("Dauer (h): measured, not set: left out (--cost 'Dauer (h)' uses it") for s in said)
    assert any("(--bounds 'F1 dev (%)=LOW:HIGH' says better)" in s for s in said), "a shell takes it as it is"
    assert any(s.startswith("Bemerkung: a remark on a few lines") for s in said)
    assert any("Optimierer: choice of 2" in s and "upper and lower case only" in s for s in said)


def test_repeated_headers_of_files_put_together_are_left_out() -> None:
    said: list[str] = []
    text = b"lr,wer\n.1,20.5%\n.2,30.5%\nlr,wer\n.3,10%\n"
    table = from_text(text, explain=said.append)
    assert sorted(table.values.ravel()) == [10.0, 20.5, 30.5]
    assert "1 line with the header again, the first line 4: left out" in said
