"""Fixtures of several test files."""

from __future__ import annotations

import pytest

from hpo_envs.benchmarks.papers.cushlepor import analysis
from hpo_envs.tables import store

TABLE = "cushlepor/ted-ende"


@pytest.fixture(scope="module")
def corpus():
    return analysis.Corpus.of(store.load(TABLE))
