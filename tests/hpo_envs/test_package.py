"""Public names of the package, and when their modules are imported."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hpo_envs
from hpo_envs.tuning import tune
from tests.helpers import ROOT


def test_documents_import_public_names_from_package() -> None:
    public = {*hpo_envs.__all__}
    assert len(public) == 12
    assert all(hasattr(hpo_envs, name) for name in public)
    files = [p for p in (ROOT / "docs").rglob("*") if p.suffix in (".md", ".py", ".ipynb") and "_site" not in p.parts]
    deeper = re.compile(r"from hpo_envs\.[\w.]+ import ([\w, ]+)")
    for path in (ROOT / "README.md", *files):
        names = {name for found in deeper.findall(path.read_text("utf-8")) for name in found.split(", ")}
        assert not names & public, path


def test_tune_is_imported_when_it_is_asked_for() -> None:
    assert hpo_envs.tune is tune
    code = "import sys, hpo_envs; assert 'hpo_envs.benchmarks' not in sys.modules; hpo_envs.tune"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    with pytest.raises(AttributeError, match="no attribute 'tine'"):
        hpo_envs.tine  # noqa: B018


ENTERED = """
import sys, threading
import hpo_envs
from scores import score

def watch(frame, event, argument):
    name, code = frame.f_globals.get("__name__", ""), frame.f_code
    if event == "call" and code.co_flags & 1 and code.co_name != "<module>" and name.startswith("hpo_envs."):
        while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        if frame is None:  # a call, and no part of an import
            entered.add(name)

entered, tune = set(), hpo_envs.tune
threading.setprofile(watch)
sys.setprofile(watch)
tune(score, {"x": (0.0, 1.0)}, budget=12, progress=False)
sys.setprofile(None)
print(*entered)
"""
"""A script that searches, and prints the modules of this package with a function that it calls."""

MOST_ENTERED = 30


def test_search_enters_few_modules(tmp_path: Path) -> None:
    (tmp_path / "scores.py").write_text('def score(config):\n    return -((config["x"] - 0.3) ** 2)\n')
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command, env = [sys.executable, "-c", ENTERED], {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    entered = done.stdout.split()
    assert {"hpo_envs.tuning.search", "hpo_envs.agents.search.bo_box"} <= {*entered}
    assert len(entered) <= MOST_ENTERED
