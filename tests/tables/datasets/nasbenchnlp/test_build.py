"""The three tables of NAS-Bench-NLP by name."""

from __future__ import annotations

import pytest

from hpo_envs.tables import catalogue, store
from hpo_envs.tables.datasets.nasbenchnlp import build, names


@pytest.mark.parametrize("name", names.TABLES)
def test_each_name_has_its_files_and_its_table(name: str) -> None:
    assert set(build.files(name)) <= set(catalogue.files())
    assert store.load(name).name == name


@pytest.mark.parametrize("name", [names.WIKITEXT2, names.PTB_FINAL])
def test_the_surrogate_has_the_spaces_of_the_measured_table(name: str) -> None:
    surrogate, measured = (store.load(name, kind) for kind in ("surrogate", "measured"))
    assert surrogate.values.shape == measured.values.shape
    assert surrogate.feature_names == measured.feature_names
    assert surrogate.metrics == measured.metrics
