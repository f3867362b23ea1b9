"""From files to tables: cells, roles of columns, repeats, outcomes, folders of runs."""

import json
import re
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from hpo_envs import testing
from hpo_envs.benchmarks import run
from hpo_envs.tables import user
from hpo_envs.tables.frames import natural
from hpo_envs.tables.user import cells
from hpo_envs.tables.user.deciding import outcomes
from hpo_envs.tables.user.frame import Frame, of_frame
from hpo_envs.tables.user.reading import documents, files
from hpo_envs.tables.user.statement import Statement
from tests.helpers import ROOT, rejects
from tests.tables.user.helpers import SWEEP, frame, from_text, write


def test_each_way_out_that_sentence_names_works() -> None:
    text = b"lr,seed,minutes,when,acc\n.1,1,3,2024-01-02,.5\n.2,2,4,2024-01-03,.6\n.3,3,5,2024-01-04,.7\n"
    said: list[str] = []
    assert [h.name for h in from_text(text, explain=said.append).space] == ["lr"]
    for column in ("seed", "minutes", "when"):
        assert any(s.startswith(f"{column}: ") and "--hyperparameters takes it in" in s for s in said)
    taken = from_text(text, hyperparameters=["lr", "seed", "minutes", "when"])
    assert [h.name for h in taken.space] == ["lr", "seed", "minutes", "when"]
    assert from_text(text, cost="minutes").cost[:, 0, 0].sum() == 12
    assert from_text(text, cost="minutes", repeat="seed").repeats == 1


def test_run_that_failed_with_score_stopped_early() -> None:
    text = b"lr,state,acc\n.1,crashed,.5\n.2,finished,.6\n.3,finished,\n.4,diverged,\n"
    table = from_text(text)
    by_lr = {table.config(i)["lr"]: int(table.status[i, 0]) for i in range(4)}
    assert by_lr == {0.1: 3, 0.2: 0, 0.3: 1, 0.4: 2}
    with pytest.raises(ValueError, match="column state: must have at least one run that has ended, got 2 unfinished"):
        from_text(b"lr,state,acc\n.1,running,.5\n.2,pending,.6\n")


def test_first_errors_are_named_and_rest_counted() -> None:
    rows = "".join(f".{i},bad{i}\n" for i in range(1, 9))
    with pytest.raises(ValueError, match=r"text.csv: line 2, column acc: .*line 6, .*got 'bad5'; and 3 more"):
        from_text(f"lr,acc\n{rows}".encode(), "acc", "max")


def test_spreadsheet_kept_by_hand_is_read() -> None:
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


def test_order_of_lines_says_nothing(tmp_path: Path) -> None:
    """A file sorted by score gives the same rows as the same file in another order."""
    lines = [f".{i},{'ab'[i % 2]},.{i}5" for i in range(1, 9)]
    orders = [lines, lines[::-1], lines[1::2] + lines[::2]]
    tables = [user.from_csv(write(tmp_path, "\n".join(["lr,kind,acc", *o, ""])), "acc", "max") for o in orders]
    configs = [[t.config(row) for row in range(8)] for t in tables]
    assert configs[0] == configs[1] == configs[2]
    assert all((t.values == tables[0].values).all() for t in tables)


CURVES = "lr,epoch,loss,seconds\n.1,1,2.5,3\n.1,2,2.0,6\n.1,4,1.5,12\n.01,1,2.7,3\n.01,2,2.6,7\n"


def test_checkpoints_become_levels(tmp_path: Path) -> None:
    t = natural(user.from_csv(write(tmp_path, CURVES), "loss", level="epoch", cost="seconds"))
    assert (t.levels.tolist(), t.metrics[0].goal) == ([1, 2, 4], "min")
    env = gym.make("TableLC-v0", table=t, budget=None)
    testing.check_env("TableLC-v0", table=t)  # with Gymnasium's own
    env.reset(seed=0)
    _, reward, _, _, info = env.step(np.array([0, 1]))
    assert (reward, info["cost"]) == (-2.0, 6.0)
    _, reward, _, _, info = env.step(np.array([0, 2]))
    assert (reward, info["cost"]) == (-1.5, 6.0)
    assert run("hyperband", "TableLC-v0", [0], env_kwargs={"table": t})[0].rewards.max() <= -1.5
    # As a table of final scores, the last checkpoint counts.
    env = gym.make("TableHPO-v0", table=t)
    env.reset()
    assert env.step(1)[1] == -2.6


def test_costs_that_fall_are_rejected(tmp_path: Path) -> None:
    text = CURVES.replace(".1,4,1.5,12", ".1,4,1.5,5")
    with pytest.raises(ValueError, match="line 4, column seconds: must be the cost since the start of the run"):
        user.from_csv(write(tmp_path, text), "loss", level="epoch", cost="seconds")
    with pytest.raises(ValueError, match="line 7: must not repeat the configuration of line 6 .*--repeat"):
        user.from_csv(write(tmp_path, CURVES + ".01,2,2.8,7\n"), "loss", level="epoch", cost="seconds")


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        ((60, 60, 60), "column seconds: must be the cost since the start of the run, got the same at each checkpoint"),
        ((61, 62, 63), "seconds: hardly rises from checkpoint to checkpoint.* --cost evaluations settles it"),
        ((61, 122, 183), ""),
    ],
)
def test_costs_of_one_checkpoint_are_asked(seconds: tuple[int, ...], message: str) -> None:
    lines = [f"{lr},{k + 1},.{k}{lr},{seconds[k]}\n" for lr in (1, 2, 3) for k in range(3)]
    options: dict[str, Any] = {"score": "accuracy", "level": "epoch", "ask": True}
    text = "".join(["lr,epoch,accuracy,seconds\n", *lines]).encode()
    if message:
        rejects(message, from_text, text, cost="seconds", **options)
    else:
        assert from_text(text, cost="seconds", **options).cost[:, 0].tolist() == [[61, 122, 183]] * 3
    assert from_text(text, cost="evaluations", drop=["seconds"], **options).cost[:, 0].tolist() == [[1, 2, 3]] * 3


def test_equal_configurations_are_repeats(tmp_path: Path) -> None:
    text = "lr,seed,acc\n.1,1,.5\n.1,2,.6\n.2,1,.7\n.2,2,\n"
    t = natural(user.from_csv(write(tmp_path, text), "acc", "max", repeat="seed"))
    assert t.source_index.tolist() == [0, 2], "the first line of each"
    assert t.values.shape == (2, 2, 1, 1)
    # The failure is an outcome like the other run's.
    assert t.values[1, :, 0, 0].tolist() == [0.7, 0.0]
    env = gym.make("TableHPO-v0", table=t, budget=None)
    seen = set()
    for seed in range(20):
        env.reset(seed=seed)
        seen.add(env.step(1)[1])
    assert seen == {0.7, 0.0}
    without = natural(user.from_csv(write(tmp_path, text), "acc", "max", drop=["seed"]))
    assert np.array_equal(without.values, t.values)
    assert "2 lines repeat a configuration" in " ".join(without.provenance.notes)


@pytest.mark.parametrize("form", ["frame", "file"])
def test_reading_takes_less_than_twice_memory_of_its_table(form: str, tmp_path: Path) -> None:
    made, path = frame(30_000), tmp_path / "runs.csv"
    made.to_csv(path, index=False)
    read = user.from_frame if form == "frame" else user.from_csv
    read(made if form == "frame" else path, "accuracy", cost="seconds")  # imports and caches
    tracemalloc.start()
    try:
        t = read(made if form == "frame" else path, "accuracy", cost="seconds")
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert t.values.nbytes < kept
    assert peak < 2.0 * (kept if form == "file" else t.configs.nbytes + t.features.nbytes + t.values.nbytes)


def test_whole_numbers_that_float64_would_merge_are_rejected() -> None:
    big = 2**53 + 1
    text = f"width,accuracy\n{big},0.5\n{big - 1},0.6\n4,0.7"
    with pytest.raises(ValueError, match=rf"column width: whole numbers must be at most 2\*\*53, .* got {big}"):
        from_text(text.encode(), "accuracy", "max")
    kept = from_text(text.encode(), "accuracy", "max", categorical=["width"])
    assert len(kept) == 3
    levels = f"lr,epoch,accuracy\n1,{big},0.5\n1,{big - 1},0.6\n2,1,0.7\n3,1,0.2"
    rejects("column epoch: whole numbers must be", from_text, levels.encode(), "accuracy", "max", level="epoch")
    scores = from_text(f"lr,score\n1,{big}\n2,5\n3,6".encode(), "score", "max")  # rounded, as any measurement
    assert scores.final("score").max() == 2.0**53


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": {"b": 1}, "c": "x"}, {"a": {"b": 2}, "c": "y"}]',
        '{"trials": [{"a": {"b": 1}, "c": "x"}, {"a": {"b": 2}, "c": "y"}]}',
        '{"a": {"b": 1}, "c": "x"}\n{"a": {"b": 2}, "c": "y"}\n',
        '{"a.b": [1, 2], "c": ["x", "y"]}',
        '{"a.b": {"0": 1, "1": 2}, "c": {"0": "x", "1": "y"}}',
    ],
)
def test_shapes_of_document(text: str) -> None:
    assert documents.of_json("f.json", text.encode()).lines == [{"a.b": 1, "c": "x"}, {"a.b": 2, "c": "y"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", r"f.json must list runs as objects, got '\[1, 2\]'"),
        ('{"a": 1}\n{"a": }\n', "f.json: line 2: must be JSON"),
        ("{", "f.json: line 1: must be JSON"),
        ('{"a": 1}\n{"a": 0.9, "a": 0.1}', "f.json: line 2: must be JSON, got 'a' twice in one object"),
        ("[" * 100_000, "JSON without deep nesting"),
        ('[{"a": {"b": 1}, "a.b": 2}]', "f.json: names must be distinct when nested .*, got 'a.b' twice"),
        ('[{"a": ' + "1" * 5000 + "}]", "f.json must be JSON, got Exceeds the limit"),
        ('{"a": 1}\n{"a": ' + "1" * 5000 + "}", "f.json: line 2: must be JSON, got Exceeds the limit"),
    ],
)
def test_non_list_of_runs(text: str, message: str) -> None:
    rejects(message, documents.of_json, "f.json", text.encode())


@pytest.mark.parametrize(
    ("document", "lines"),
    [
        ({"trials": 1, "data_by_trial": [], "runs": [{"lr": 1}]}, [{"lr": 1}]),
        ({"columns": [[1]], "data": [[0.5]], "runs": [{"lr": 1}, {"lr": 2}]}, [{"lr": 1}, {"lr": 2}]),
        ({"runs": [{"lr_id": 1}], "lrs": [{"id": 1, "lr": 0.1}, {"lr": 0.2}]}, [{"lr_id": 1, "lr.lr": 0.1}]),
    ],
)
def test_keys_of_tools_may_have_other_values(document: Any, lines: Any) -> None:
    assert documents.of_json("f.json", json.dumps(document).encode()).lines == lines


def test_folder_has_file_or_subfolder_for_each_run(tmp_path: Path) -> None:
    for i in (10, 2):
        (tmp_path / str(i)).mkdir()
        (tmp_path / str(i) / "args.json").write_text(json.dumps({"lr": i}))
        (tmp_path / str(i) / "out.json").write_text(json.dumps({"acc": i / 10}))
    read = files.of_path(tmp_path)
    assert (read["lr"].tolist(), read["acc"].tolist()) == ([2, 10], [0.2, 1.0])
    assert [read.where(i) for i in range(2)] == ["run 2", "run 10"]
    (tmp_path / "10" / "out.json").write_text("{")
    rejects(r"10/out.json: line 1: must be JSON", files.of_path, tmp_path)
    (tmp_path / "3").mkdir()
    rejects("must have JSON files, got none", files.of_path, tmp_path / "3")


def made(**columns: list[Any]) -> Frame:
    return of_frame(pd.DataFrame(columns, dtype=object), "f")


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("OOM", cells.FAILED), ("CUDA out of memory", cells.FAILED), ("ValueError", cells.FAILED),
        ("NaN", cells.DIVERGED), ("-inf", cells.DIVERGED), ("Diverged", cells.DIVERGED),
        ("PRUNED", cells.TRUNCATED), ("early stopping", None), ("TrialState.COMPLETE", cells.OK),
        ("running", cells.UNFINISHED), ("fine", None),
    ],
)  # fmt: skip
def test_words(word: str, status: int | None) -> None:
    assert cells.meaning(word) == status


def test_scores_say_how_run_ended() -> None:
    values, status = outcomes.scores(made(acc=["0.5", "oom", "", "nan"]), ("acc",))
    assert status.tolist() == [0, 1, 1, 2]
    assert np.isnan(values[1:]).all()
    with pytest.raises(ValueError, match="f: line 3, column acc: must be a number, .*, got 'good'"):
        outcomes.scores(made(acc=["0.5", "good"]), ("acc",))


def test_failed_run_needs_no_cost() -> None:
    text = b"lr,acc,t,u\n.1,.5,10,10\n.2,,,1\n.3,,4,1\n.4,.6,30,\n"
    said: list[str] = []
    table = natural(from_text(text, cost="t", drop=["u"], explain=said.append))
    assert table.cost[:, 0, 0].tolist() == [10, 4, 4, 30]
    assert "t: empty for 1 failed run: taken as 4, the median of failed runs" in said
    rejects("line 5, column u: must be a number >= 0, got ''", from_text, text, cost="u", drop=["t"])


def test_states_are_words_of_one_kind() -> None:
    read = made(state=["done", "killed", "running", None], other=["done", "x", "y", "z"])
    column, found = outcomes.states(read, Statement()) or ("", np.empty(0))
    assert (column, found.tolist()) == ("state", [0, 1, 255, 0])
    assert outcomes.states(made(status=["done", "x"]), Statement()) is None
    errors = outcomes.states(made(status=["ok", None, "error: CUDA oom", "timeout"]), Statement()) or ("", np.empty(0))
    assert errors[1].tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="line 4, column status: must be a state .*--drop status.*, got 'weird'"):
        outcomes.states(made(status=["ok", "ok", "weird"]), Statement())
    with pytest.raises(ValueError, match="line 3, column other: must be a state such as finished, .*, got 'x'"):
        outcomes.states(read, Statement(status="other"))


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
def test_column_is_left_out_for_its_name_or_its_values(column: str, cells: list[object], reason: str | None) -> None:
    rows = [{"lr": 0.1 * (i + 1), "width": i, column: cell, "acc": 0.1 * i} for i, cell in enumerate(cells)]
    said: list[str] = []
    table = user.from_frame(pd.DataFrame(rows), "acc", "max", explain=said.append)
    assert (column in [h.name for h in table.space]) == (reason is None)
    assert reason is None or any(column in s.partition(": ")[0].split(", ") and reason in s for s in said)


def test_column_is_meant_by_its_name_in_file_and_by_its_end() -> None:
    text = b"run_id,params.lr,metrics.val_f1,metrics.val_em\na,.1,.5,.4\nb,.2,.6,.5\n"
    for word in ("val_f1", "metrics.val_f1", "f1"):
        assert from_text(text, word).metrics[0].name == "val_f1"
    rejects("column must be one of .*, got 'val_f2', did you mean 'val_f1'", from_text, text, "val_f2")


def test_checkpoints_need_runs_of_several_lines() -> None:
    once = b"lr,epochs,acc\n.1,5,.5\n.2,10,.6\n.3,5,.7\n.1,10,.8\n"
    assert len(from_text(once).levels) == 1
    twice = b"lr,epoch,acc\n.1,1,.5\n.1,2,.6\n.2,1,.7\n.2,2,.8\n"
    assert from_text(twice).levels.tolist() == [1, 2]


def test_first_column_that_counts_is_hyperparameter_where_no_other_varies() -> None:
    depths = "".join(f"{k},.1,.{k}\n" for k in range(1, 9))
    assert [h.name for h in from_text(f"max_depth,lr,score\n{depths}".encode()).space] == ["max_depth"]
    both = "".join(f"{k},{k % 3 + 1},.{k}\n" for k in range(1, 9)).encode()
    assert [h.name for h in from_text(b"line,lr,score\n" + both).space] == ["lr"]
    taken = from_text(b"line,lr,score\n" + both, categorical=["line"])
    assert [h.name for h in taken.space] == ["line", "lr"]


def test_step_of_weights_and_biases_is_no_setting_called_step() -> None:
    lines = "".join(f"r{k},finished,{10 * (k % 2 + 1)},{k},.0{k},.{k}\n" for k in range(1, 7))
    table = from_text(f"Name,State,lr_step,trainer/global_step,lr,acc\n{lines}".encode(), "acc")
    assert [h.name for h in table.space] == ["lr_step", "lr"]


def test_file_passes_modules_in_documented_order(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## From a file to a table")[2]
    items = re.findall(r"^\d+\. ((?:`[a-z/]+`(?:, )?)+):", page.partition("\n## ")[0], re.M)
    stays = {name: i for i, item in enumerate(items) for name in re.findall(r"`([a-z/]+)`", item)}
    assert len(items) == 11
    entered: list[int] = []

    def enter(frame: Any, event: str, _: Any) -> None:
        module = frame.f_code.co_filename.partition("tables/user/")[2].removesuffix(".py")
        if event == "call" and module in stays and frame.f_code.co_name not in ("<genexpr>", "<lambda>"):
            caller = frame.f_back.f_code.co_filename.partition("tables/user/")[2].removesuffix(".py")
            if stays.get(caller, -1) < stays[module] and frame.f_code.co_name != "<module>":
                entered.append(stays[module])

    path = write(tmp_path, SWEEP)
    sys.setprofile(enter)
    try:
        user.from_csv(path, "accuracy", "max", cost="seconds")
    finally:
        sys.setprofile(None)
    decided = [stay for stay in entered if stay > stays["reading/files"]]
    assert decided == sorted(decided)
    assert {*decided} >= {stays[name] for name in stays if name.startswith("deciding/")}
