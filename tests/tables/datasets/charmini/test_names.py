from __future__ import annotations

import itertools

from hpo_envs.tables.datasets.charmini.names import ARCHITECTURES, LANGUAGES, TABLES, parts_of


def test_tables_are_named_after_language_and_architecture():
    assert tuple(map(parts_of, TABLES)) == tuple(itertools.product(LANGUAGES, ARCHITECTURES))
