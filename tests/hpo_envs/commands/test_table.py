"""`hpo-envs table` and `hpo-envs fetch`."""

import json
from pathlib import Path

import pytest

from hpo_envs.commands.main import main
from hpo_envs.tables import catalogue

SWEEP = "lr,layers,accuracy\n0.1,1,0.7\n0.01,2,0.8\n0.001,1,0.75\n0.01,1,0.72\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HPO_ENVS_TABLES", str(tmp_path / "tables"))
    (tmp_path / "sweep.csv").write_text(SWEEP)
    return str(tmp_path / "sweep.csv")


def test_a_file_is_saved_listed_and_shown(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["table", "from-csv", file, "--score", "accuracy", "--name", "fresh"]
    assert main([*given, "--dry-run"]) == 0
    assert "  lr: float, 0.001 to 0.1" in capsys.readouterr().out
    assert not list(Path(file).parent.rglob("*.npz"))
    assert main(given) == 0
    assert "TableHPO-fresh-v0" in capsys.readouterr().out
    assert main(["list", "tablehpo-fresh"]) == 0
    assert "TableHPO-fresh-v0" in capsys.readouterr().out
    assert main(["describe", "TableHPO-fresh-v0", "--json"]) == 0
    assert "lr: float, 0.001 to 0.1" in json.dumps(json.loads(capsys.readouterr().out))


def test_an_existing_table_is_not_overwritten(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["table", "from-csv", file, "--name", "kept", "--drop", "layers", "--score"]
    assert main([*given, "accuracy"]) == 0
    assert main(["table", "from-csv", file, "--name", "kept", "--score", "accuracy"]) == 2
    assert "--replace" in capsys.readouterr().err
    assert main(["table", "from-csv", file, "--name", "kept", "--score", "accuracy", "--replace"]) == 0


def test_an_unknown_column_is_named(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "from-csv", file, "--score", "acuracy"]) == 2
    assert "accuracy" in capsys.readouterr().err


def test_fetch_lists_the_data_sets(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", "--list"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()[1:-1]] == catalogue.datasets()
    assert out.endswith(f"folder: {empty}\n")
