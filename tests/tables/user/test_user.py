"""Readers of users' files: public names, definitions, and saved tables."""

import hashlib
import io
import multiprocessing
import os
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from hpo_envs.benchmarks import run
from hpo_envs.families import registry
from hpo_envs.tables import store, user
from hpo_envs.tables.files import packs
from hpo_envs.tables.files.lock import locked
from hpo_envs.tables.table import Table
from hpo_envs.tables.user import reader
from hpo_envs.tables.user.space import to_plain
from tests.helpers import rejects
from tests.tables.user.helpers import from_text


def test_readers_are_those_of_their_modules() -> None:
    assert user.from_csv is reader.from_csv
    assert all(hasattr(user, name) for name in user.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'from_excel'"):
        user.from_excel  # noqa: B018


TEXT = b'lr,"odd ""name""",depth,momentum,opt,acc\n' + b"".join(
    f'{lr},{n},{d},{m},{o},{a}\n'.encode()
    for lr, n, d, m, o, a in [
        (0.001, "x", 3, 0.9, "sgd", 0.5), (0.5, "y", "none", "", "adam", 0.6), (0.02, "x", 5, 0.5, "sgd", 0.7),
        (0.03, "y", 3, "", "adam", 0.8),
    ]
)  # fmt: skip


def test_stated_space_is_not_guessed() -> None:
    guessed = from_text(TEXT, log={"lr": False})
    space = {h.name: to_plain(h) for h in guessed.space}
    assert space["depth"]["choices"] == [3, 5, "none"]
    fixed = from_text(TEXT, space=space)
    assert (fixed.space, fixed.provenance.sha256) == (guessed.space, guessed.provenance.sha256)
    space["depth"]["choices"].remove("none")
    rejects("line 3, column depth: must be one of 3, 5, got 'none'", from_text, TEXT, space=space)
    lines = TEXT.replace(b'"none"', b"").replace(b",none,", b",,")
    rejects("line 3, column depth: must have a value: no choice", from_text, lines, space=space)
    kept = from_text(lines + b"0.2,x,5,0.7,sgd,0.65\n", space=space)
    assert [kept.config(row)["depth"] for row in range(len(kept))].count(5) == len(kept) - 2 == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scores": 1}, "argument must be one of score, .*, got 'scores', did you mean 'score'"),
        ({"cost": 1}, "cost must be the name of a column, got 1"),
        ({"duplicates": "no"}, "duplicates must be true or false, got 'no'"),
        ({"drop": 3}, "drop must be a list of names, got 3"),
        ({"fill": 3}, "fill must be a mapping of columns, got 3"),
        ({"space": {"lr": {"low": 1}}}, "lr must have numeric low and high"),
        ({"score": "acc", "hyperparameters": ["lr", "acc"]}, "hyperparameters must not name a column .*, got acc"),
        ({"score": "acc", "drop": ["acc"]}, "drop must not name a column that other arguments give .*, got acc"),
        ({"categorical": ["lr"], "log": {"lr": True}}, "categorical must not name a column .*, got lr"),
        ({"space": {"lr": (1e-4, 1.0)}, "log": {"lr": True}}, "log must not name a column .*, got lr"),
        ({"log": {"opt": True}}, "column opt: must be numbers to be logarithmic, got choices"),
        ({"score": "acc", "bounds": {"lr": (0, 1)}}, "bounds must be those of scores, got those of lr"),
    ],
)
def test_what_is_wrong_in_schema(given: dict[str, Any], message: str) -> None:
    rejects(message, from_text, TEXT, **given)


def test_saved_table_is_table(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = user.save(table, "~/here.npz")
    assert path == tmp_path / "here.npz"
    assert user.load("sweep") is table  # a file elsewhere is not found by the name
    user._remembered.clear()
    assert not user.exists("sweep")
    assert gym.make("TableHPO-v0", table=str(path)).unwrapped.table.provenance == table.provenance
    assert user.exists("sweep")  # known by name from now on, so that runs can be scored
    assert store.load("user/sweep").provenance.sha256 == table.provenance.sha256
    path.write_bytes(path.read_bytes()[:-40])
    rejects("must be a table written by hpo-envs", user.load, path)


@pytest.mark.parametrize("file", [None, "sweep.npz"])
def test_replacing_table_is_seen_at_once(table: Table, folder: Path, file: str | None) -> None:
    user.save(table)
    assert len(store.load("user/sweep")) == 8
    path = None if file is None else folder / file
    user.save(table.subset([0, 1, 2]), path, replace=True)
    assert len(store.load("user/sweep")) == 3
    user.remember(table)
    user.save(table.subset([0, 1, 2]), path)  # the file is left unchanged
    assert len(store.load("user/sweep")) == 3


def test_old_copies_of_a_table_do_not_replace_it(table: Table, folder: Path, tmp_path: Path) -> None:
    copies = user.save(table, tmp_path / "copy.npz"), user.save(table, folder / "sweep-old.npz")
    user.save(table.subset([0, 1, 2]))
    user._remembered.clear()
    for copy in (*copies, "sweep-old"):
        assert len(gym.make("TableHPO-v0", table=str(copy)).unwrapped.table) == 8
        assert len(store.load("user/sweep")) == 3
    assert user.load("sweep-old").name == "user/sweep-old"


@pytest.mark.hostile
def test_tables_saved_at_once_under_one_name_are_not_lost(table: Table, folder: Path) -> None:
    folder.mkdir()
    with ThreadPoolExecutor() as pool:
        with locked(folder):  # as another process that saves
            waiting = pool.submit(user.save, table)
            wait([waiting], 0.2)
            other = packs.pack(table.subset([0, 1]))
            (folder / f"{table.name.removeprefix('user/')}.npz").write_bytes(other)
        with pytest.raises(FileExistsError, match="has another table already"):
            waiting.result()


def test_unreadable_table_hides_no_other(table: Table, folder: Path) -> None:
    user.save(table)
    (folder / "broken.npz").write_bytes(b"PK\x03\x04 not a table")
    user.save(table, folder / "no name.npz")
    (folder / "x-v3.npz").write_bytes(b"")
    assert (user.names(), user.exists("x-v3")) == (["broken", "sweep"], False)
    with pytest.warns(UserWarning, match="saved table broken is left out"):
        assert [s.id for s in registry.own()] == ["TableHPO-sweep-v0"]


@pytest.mark.hostile
@pytest.mark.parametrize(("kind", "shape"), [("<f8", (10**12,)), ("<U500000000", ())])
def test_file_that_promises_more_than_memory_is_rejected_and_pipe_is_not_read(
    kind: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": kind, "fortran_order": False, "shape": shape})
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in ("head", "values"):
            archive.writestr(f"{name}.npy", header.getvalue() + bytes(64))
    (tmp_path / "a.npz").write_bytes(hashlib.sha256(stream.getvalue()).digest() + stream.getvalue())
    with pytest.raises(
        ValueError, match="a.npz must be a table written by hpo-envs, got another file: an array of shape"
    ):
        user.load(tmp_path / "a.npz")
    os.mkfifo(tmp_path / "b.npz")
    rejects("b.npz must be a regular file, got a pipe or a device", user.load, tmp_path / "b.npz")


def test_saved_table_is_an_id_in_another_process(tmp_path: Path) -> None:
    frame = pd.DataFrame({"lr": [0.1, 0.01, 0.001], "accuracy": [0.5, 0.7, 0.6]})
    user.save(user.from_frame(frame, "accuracy", "max", name="tiny"), tmp_path / "tiny.npz")
    program = "import gymnasium, hpo_envs; print(gymnasium.make('TableHPO-tiny-v0').action_space)"
    environment = os.environ | {"HPO_ENVS_TABLES": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "Discrete(3)\n"


def _made(env: str | gym.envs.registration.EnvSpec) -> str:
    import hpo_envs  # noqa: F401, registers the ids

    return str(gym.make(env).action_space)


def _named(table: str) -> str:
    return str(gym.make("TableHPO-v0", table=table).action_space)


def _run(env_id: str) -> float:
    (one,) = run("random", env_id, [0], budget=2)
    return float(one.rewards[0])


def test_table_saved_after_workers_started_is_an_id_in_them(tmp_path: Path) -> None:
    frame = pd.DataFrame({"lr": [0.1, 0.01, 0.001], "accuracy": [0.5, 0.7, 0.6]})
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_made, ("TableHPO-v0",)).startswith("Discrete")
        user.save(user.from_frame(frame, "accuracy", "max", name="late"))
        assert gym.make("TableHPO-late-v0").action_space.n == 3
        assert pool.apply(_named, ("late",)) == pool.apply(_made, (gym.spec("TableHPO-late-v0"),)) == "Discrete(3)"
        assert pool.apply(_run, ("TableHPO-late-v0",)) in (0.5, 0.7, 0.6)
        assert pool.apply(_made, ("TableHPO-late-v0",)) == "Discrete(3)"
