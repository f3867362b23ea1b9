"""The package hands on its readers, which are imported when one is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hpo_envs.tables import user
from hpo_envs.tables.user import reader


def test_readers_are_those_of_their_modules() -> None:
    assert user.from_csv is reader.from_csv
    assert all(hasattr(user, name) for name in user.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'from_excel'"):
        user.from_excel  # noqa: B018


def test_importing_the_package_imports_no_reader() -> None:
    code = "import sys, hpo_envs.tables.user; print([m for m in sys.modules if m.endswith('_reader')])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "reader" not in said
    assert "optuna_reader" not in said
