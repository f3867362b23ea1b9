"""Files are written completely or not at all; `tests/robustness/test_faults.py` injects faults at every step."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.tables.files import atomic
from tests.helpers import rejects, sources


def test_old_content_stays_until_new_one_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    atomic.write(path, "old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        rejects(r"No space left on device: '.*a.txt'", atomic.write, path, "new", error=OSError)
    assert ([p.name for p in tmp_path.iterdir()], path.read_text()) == (["a.txt"], "old")
    atomic.write_all({path: "new", tmp_path / "b" / "c.txt": b"\xff"})
    assert (path.read_text(), (tmp_path / "b" / "c.txt").read_bytes()) == ("new", b"\xff")


def test_tables_and_arrays_are_read_as_written(tmp_path: Path) -> None:
    atomic.write_csv(tmp_path / "a.csv", [{"a": 1, "b": 'é,"'}, {"a": 2}])
    assert atomic.read_csv(tmp_path / "a.csv") == [{"a": "1", "b": 'é,"'}, {"a": "2", "b": ""}]
    rejects("'c'", atomic.write_csv, tmp_path / "a.csv", [{"a": 1}, {"c": 2}])
    np.savez(tmp_path / "a.npz", x=np.arange(3), y=np.zeros(2))
    assert atomic.read_npz(tmp_path / "a.npz")["x"].tolist() == [0, 1, 2]
    assert [*atomic.read_npz(tmp_path / "a.npz", "y", "x")] == ["y", "x"]
    np.savez(tmp_path / "b.npz", x=np.array([{}]))
    rejects("pickle", atomic.read_npz, tmp_path / "b.npz")


@pytest.mark.hostile
def test_spreadsheet_takes_no_text_for_formula(tmp_path: Path) -> None:
    texts = ["=\n1+1", "+a", "-b", "@c", "\td", "\n=1", "＝1", "\re", "-1.5", "+2e3", "-inf", "f=g", "é"]
    atomic.write_csv(tmp_path / "a.csv", [{"=name": text, "n": -k} for k, text in enumerate(texts)])
    read = atomic.read_csv(tmp_path / "a.csv")
    assert [r["'=name"] for r in read] == [f"'{t}" for t in texts[:7]] + ["\\re", *texts[8:]]
    writer = re.compile(r"csv\.(Dict)?[wW]riter|to_csv|savetxt")
    writers = {name for name, path in sources().items() if writer.search(path.read_text(encoding="utf-8"))}
    assert writers - {"tables/datasets/packing.py"} == {"tables/files/atomic.py"}  # packs hold names of ours
    assert [int(r["n"]) for r in read] == [-k for k in range(len(texts))]
