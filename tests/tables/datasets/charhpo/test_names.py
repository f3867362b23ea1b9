"""Names of tables and their parts."""

from __future__ import annotations

from hpo_envs.tables.datasets.charhpo import names


def test_names_are_their_parts() -> None:
    assert [names.parts(name) for name in names.TABLES] == list(names.SWEEPS)
    assert len(set(names.TABLES)) == 24
