"""What the package itself has, and when it imports it."""

import subprocess
import sys

import pytest

import hpo_envs
from hpo_envs.tuning import tune


def test_tune_is_imported_when_it_is_asked_for() -> None:
    assert hpo_envs.tune is tune
    code = "import sys, hpo_envs; assert 'hpo_envs.benchmarks' not in sys.modules; hpo_envs.tune"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    with pytest.raises(AttributeError, match="no attribute 'tine'"):
        hpo_envs.tine  # noqa: B018
