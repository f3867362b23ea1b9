from __future__ import annotations

from hpo_envs.tables.datasets.charmini.names import ARCHITECTURES, TABLES, architecture_of


def test_tables_are_named_after_their_architecture():
    assert tuple(map(architecture_of, TABLES)) == ARCHITECTURES
