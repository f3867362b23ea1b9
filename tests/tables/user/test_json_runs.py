"""JSON in its shapes, and folders of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpo_envs.tables.user import files, json_runs


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
def test_shapes_of_a_document(text: str) -> None:
    assert json_runs.of_text("f.json", text.encode()) == [{"a.b": 1, "c": "x"}, {"a.b": 2, "c": "y"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", r"f.json must list runs as objects, got '\[1, 2\]'"),
        ('{"a": 1}\n{"a": }\n', "f.json: line 2: must be JSON"),
        ("{", "f.json: line 1: must be JSON"),
        ("[" * 100_000, "not nested beyond reason"),
        ('[{"a": ' + "1" * 5000 + "}]", "f.json must be JSON, got Exceeds the limit"),
        ('{"a": 1}\n{"a": ' + "1" * 5000 + "}", "f.json: line 2: must be JSON, got Exceeds the limit"),
    ],
)
def test_what_is_no_list_of_runs(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        json_runs.of_text("f.json", text.encode())


def test_a_folder_has_a_file_or_a_subfolder_for_each_run(tmp_path: Path) -> None:
    for i in (10, 2):
        (tmp_path / str(i)).mkdir()
        (tmp_path / str(i) / "args.json").write_text(json.dumps({"lr": i}))
        (tmp_path / str(i) / "out.json").write_text(json.dumps({"acc": i / 10}))
    sheet = files.of_path(tmp_path)
    assert sheet.frame["lr"].tolist() == [2, 10]
    assert sheet.frame["acc"].tolist() == [0.2, 1.0]
    assert [sheet.where(i) for i in range(2)] == ["run 2", "run 10"]
    (tmp_path / "10" / "out.json").write_text("{")
    with pytest.raises(ValueError, match=r"10/out.json: line 1: must be JSON"):
        files.of_path(tmp_path)
    (tmp_path / "3").mkdir()
    with pytest.raises(ValueError, match="must have JSON files, got none"):
        files.of_path(tmp_path / "3")
