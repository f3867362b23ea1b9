"""`hpo-envs table` and `hpo-envs fetch`."""

import json
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.commands.main import main
from hpo_envs.tables import catalogue
from hpo_envs.tables.files import folder

SWEEP = "lr,layers,accuracy\n0.1,1,0.7\n0.01,2,0.8\n0.001,1,0.75\n0.01,1,0.72\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HPO_ENVS_TABLES", str(tmp_path / "tables"))
    (tmp_path / "sweep.csv").write_text(SWEEP)
    return str(tmp_path / "sweep.csv")


def test_a_file_is_saved_listed_and_shown(file: str, cli: Any) -> None:
    given = ["table", "from-csv", file, "--score", "accuracy", "--name", "fresh"]
    assert "  lr: float, 0.001 to 0.1" in cli([*given, "--dry-run"])
    assert not list(Path(file).parent.rglob("*.npz"))
    assert "TableHPO-fresh-v0" in cli(given)
    assert "TableHPO-fresh-v0" in cli(["list", "tablehpo-fresh"])
    assert "lr: float, 0.001 to 0.1" in json.dumps(json.loads(cli(["describe", "TableHPO-fresh-v0", "--json"])))


def test_an_existing_table_is_not_overwritten(file: str, cli: Any) -> None:
    given = ["table", "from-csv", file, "--name", "kept", "--drop", "layers", "--score"]
    assert main([*given, "accuracy"]) == 0
    assert "--replace" in cli(["table", "from-csv", file, "--name", "kept", "--score", "accuracy"], 2)
    assert main(["table", "from-csv", file, "--name", "kept", "--score", "accuracy", "--replace"]) == 0


def test_an_unknown_column_is_named(file: str, cli: Any) -> None:
    assert "accuracy" in cli(["table", "from-csv", file, "--score", "acuracy"], 2)


def test_contradictory_scales_and_options_of_studies_are_refused(file: str, cli: Any) -> None:
    given = ["table", "from-csv", file, "--dry-run"]
    assert "must name different columns, got lr twice" in cli([*given, "--log", "lr", "--linear", "lr"], 2)
    assert "--storage is for from-optuna, got x" in cli([*given, "--storage", "x"], 2)


def test_fetch_lists_the_data_sets(empty: Path, cli: Any) -> None:
    for record in folder.select("nmtlc"):  # with other content
        (empty / record.file).parent.mkdir(parents=True, exist_ok=True)
        (empty / record.file).write_bytes(bytes(record.bytes))
    out = cli(["fetch", "--list"])
    assert all(line.split()[3] == "no" for line in out.splitlines()[1:-1])
    assert [line.split()[0] for line in out.splitlines()[1:-1]] == catalogue.datasets()
    assert out.endswith(f"folder: {empty}\n")
