"""Tables as keys of caches."""

from __future__ import annotations

from hpo_envs.tables.table import Table


class ByHash:
    """A table that compares by its name and provenance, which holds the hash of its content."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __hash__(self) -> int:
        return hash(self.table.provenance.sha256)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByHash) and (
            (self.table.name, self.table.provenance) == (other.table.name, other.table.provenance)
        )
