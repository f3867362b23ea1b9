"""Contract of tables: invariants, provenance, read-only arrays."""

import dataclasses
import pickle
import re
from collections.abc import Callable, Iterable

from hpo_envs.tables.table import Table
from hpo_envs.testing.rules import check_rules, require


def check_table(table: Table, *, rules: Iterable[str] | None = None) -> None:
    """Check that environments can be built on a table.

    The constructor of `Table` checks most rules and raises ValueError; this function checks them again, and also the
    provenance.

    Args:
        table: The table.
        rules: Names of `TABLE_RULES` to check; all by default.

    Raises:
        ValueError: Unknown rule, or `table` is not a Table.
        AssertionError: The table breaks a rule; the message names it.

    Example:
        >>> from hpo_envs.tables import store
        >>> check_table(store.load("nmthpo/zhen"))
    """
    if not isinstance(table, Table):
        raise ValueError(f"table must be a Table, got {table!r}")
    check_rules(f"table {table.name}", table, TABLE_RULES, rules)


def _provenance(table: Table) -> None:
    p = table.provenance
    require(re.fullmatch(r"[^/\s]+/\S+", table.name), f"name must be dataset/table, got {table.name!r}")
    require(p.kind in ("measured", "surrogate"), f"provenance.kind must be measured or surrogate, got {p.kind!r}")
    for field, digits in (("commit", 40), ("sha256", 64)):
        value = getattr(p, field)
        require(
            re.fullmatch(rf"[0-9a-f]{{{digits}}}", value),
            f"provenance.{field} must be {digits} hex digits, got {value!r}",
        )
    for field in ("upstream", "licence", "citation"):
        require(getattr(p, field), f"provenance.{field} must not be empty")
    require(p.kind == "measured" or p.notes, "provenance.notes must describe the surrogate, got none")


def _laws(table: Table) -> None:
    blank = dataclasses.replace(table.provenance, sha256="")
    again = dataclasses.replace(table, provenance=blank)  # checks all laws again
    digests = table.provenance.sha256, again.provenance.sha256
    require(digests[0] == digests[1], f"the content must be that of its sha256, got {digests[1]} for {digests[0]}")
    copy = pickle.loads(pickle.dumps(table))  # noqa: S301
    require(copy.provenance == table.provenance, "a pickled copy must be the same table")


def _read_only(table: Table) -> None:
    for name in ("values", "cost", "features", "levels", "configs", "status"):
        require(not getattr(table, name).flags.writeable, f"{name} must be read-only")


TABLE_RULES: dict[str, Callable[[Table], None]] = {"provenance": _provenance, "laws": _laws, "read-only": _read_only}
"""Rules of tables by name."""
