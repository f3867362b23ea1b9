"""Tables by name, and their files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

from hpo_envs.families import registry
from hpo_envs.tables import catalogue, store
from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.files.folder import CorruptFile, is_installed
from tests.helpers import raises, rejects


def test_who_measured_table() -> None:
    owners = {
        "charmini/eng-lstm": "this project",
        "nmthpo/swen": "Este1le/hpo_nmt",
        "fiesta/gaussian": "",
        "user/mine": "the user",
        "function/f": "the user",
    }
    assert {name: store.owner(name) for name in owners} == owners
    assert [store.synthetic(n) for n in list(owners)[:4]] == [False, False, True, False]
    assert [store.owner(n) == "this project" for n in list(owners)[:4]] == [True, False, False, False]


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("nasbenchnlp/ptb", "hpo-envs fetch nasbenchnlp-ptb-logs"),
        ("cushlepor/newstest2021-ende-mqm", "hpo-envs fetch cushlepor-news"),
    ],
)
def test_table_that_does_not_ship_names_command_that_installs_it(
    name: str, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HPO_ENVS_DATA", str(tmp_path))
    with raises(f"table {name} is not installed: run `{command}`", store.TableNotInstalled):
        store.load(name)
    assert store.missing(name)
    assert not store.missing("nmthpo/swen")


def test_pipe_and_oversized_file_are_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPO_ENVS_DATA", str(tmp_path))
    pipe, large = (catalogue.files()[f"charhpo/{name}"] for name in ("BEST_RUNS.tsv", "SWEEPS.csv"))
    (tmp_path / "charhpo").mkdir()
    os.mkfifo(tmp_path / pipe.file)
    with open(tmp_path / large.file, "wb") as stream:
        stream.truncate(2**40)
    for record, said in ((pipe, "must be a regular file"), (large, f"must be at most {large.bytes} bytes")):
        assert not is_installed(record, tmp_path)
        with pytest.raises(CorruptFile, match=f"{said}.*Run `hpo-envs fetch charhpo` to install it again"):
            store.read(record.file)


def test_module_or_how_to_install_it() -> None:
    assert extra_module("json", "plots", "pictures") is json
    with pytest.raises(ModuleNotFoundError, match=r'^pictures need no_such: pip install "hpo_envs\[plots\]"$') as said:
        extra_module("no_such.part", "plots", "pictures")
    assert said.value.name == "no_such"


def test_invalid_backend_costs_pictures_only(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="extra plots is not installed")
    code = (
        "from pathlib import Path; from hpo_envs.tables.checks import advice, extra_module\n"
        "try: extra_module('matplotlib.figure', 'plots', 'plots')\n"
        "except ModuleNotFoundError as error: print(advice(error))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "nonsense"}
    )
    assert done.stdout.startswith("plots need matplotlib.figure, which fails: Key backend: 'nonsense'"), done.stderr


@pytest.mark.parametrize("env_id", ["FIESTA-ner-v0", "FIESTA-gaussian-v0", "NMTLC-zhen-v0"])
def test_environments_of_one_table_reject_several(env_id: str) -> None:
    (name,) = registry.SPECS[env_id].tables
    table = store.load(name)
    assert gym.make(env_id, table=[table]).unwrapped.table.name == table.name  # type: ignore[attr-defined]
    for wrong in ([table, table], "zhen", []):
        rejects(r"table must be a Table, got (\[|'zhen')", gym.make, env_id, table=wrong)
