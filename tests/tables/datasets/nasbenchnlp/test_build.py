"""The three tables of NAS-Bench-NLP by name."""

from __future__ import annotations

import pytest

from hpo_envs.tables import catalogue
from hpo_envs.tables.datasets.nasbenchnlp import build, names


@pytest.mark.parametrize("name", names.TABLES)
def test_tables_ship_or_have_files_in_the_catalogue(name: str) -> None:
    assert set(build.files(name)) <= set(catalogue.files())
    assert bool(build.files(name)) == (name not in catalogue.pins())
