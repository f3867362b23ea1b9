"""A new data set needs its builder, its catalogue rows and its family's folder, and no other change.

In a copy of the package with only these additions, in a fresh process, the new id must work everywhere.
"""

import csv
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hpo_envs
from tests.helpers import ROOT

HERE = Path(__file__).with_name("new_family")
UPSTREAM = HERE / "upstream"
DATASET = ("tiny", "Twelve taggers", "Nobody. Twelve taggers. 2026.", "hpo_envs.tables.datasets.tiny.build")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, tests and docs, and in them the new family."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(Path(hpo_envs.__file__).parent, folder / "hpo_envs")
    for name in ("tests", "docs"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
    shutil.copy(HERE / "use.py", folder)
    shutil.copytree(HERE / "families" / "tiny", folder / "hpo_envs" / "families" / "tiny")
    shutil.copytree(HERE / "tables" / "datasets" / "tiny", folder / "hpo_envs" / "tables" / "datasets" / "tiny")
    _catalogue(folder / "hpo_envs" / "tables")
    return folder


def _catalogue(tables: Path) -> None:
    """Add the data set and its only file."""
    content = (UPSTREAM / "tiny" / "taggers.csv").read_bytes()
    row = ("tiny", "tiny/taggers.csv", "nobody/taggers", "0" * 40, "taggers.csv", "CC0", len(content))
    added = {"datasets.csv": DATASET, "catalogue.csv": (*row, hashlib.sha256(content).hexdigest())}
    for file, cells in added.items():
        with open(tables / "catalogue" / file, "a", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerow(cells)


def _run(copy: Path, *words: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(copy), "HPO_ENVS_DATA": str(UPSTREAM), "MPLBACKEND": "agg"}
    done = subprocess.run([sys.executable, *words], cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_new_family_is_made_checked_drawn_compared_reported_and_documented(copy: Path) -> None:
    pytest.importorskip("matplotlib")
    _run(copy, "use.py")


def test_new_family_keeps_contracts(copy: Path) -> None:
    files = ("test_envs.py", "test_family_names.py", "test_tables.py")
    _run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "tiny", *(f"tests/contracts/{f}" for f in files))
