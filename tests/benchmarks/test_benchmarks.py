"""What the package of benchmarks hands on."""

import subprocess
import sys
from pathlib import Path

import pytest

from hpo_envs import benchmarks
from hpo_envs.benchmarks.comparison.comparison import Comparison
from tests.helpers import raises

MODULES = 100
"""Modules of this project that one comparison loads, at most."""


def test_comparison_is_imported_where_it_is_asked_for() -> None:
    assert benchmarks.Comparison is Comparison
    with raises("module 'hpo_envs.benchmarks' has no attribute 'Comparisons'", AttributeError):
        _ = benchmarks.Comparisons
    script = "import sys, hpo_envs.benchmarks; sys.exit('hpo_envs.benchmarks.comparison' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_comparison_of_two_agents_loads_few_modules(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    words = "compare --env NMTHPO-swen-v0 --agents random,bo --seeds 2 --budget 12 --out".split()
    script = (
        "import sys; from hpo_envs.commands.main import main; "
        f"code = main({[*words, str(tmp_path)]!r}); "
        "print(code, sum(name.split('.')[0] == 'hpo_envs' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    code, count = map(int, done.stdout.splitlines()[-1].split())
    assert code == 0
    assert count <= MODULES
