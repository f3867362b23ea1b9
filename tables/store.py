"""Look-up of tables by name: which exist or lack files, and loading from packs or fetched files, with a cache.

A builder module (one per data set, named in the catalogue) has

    NAMES: tuple[str, ...]                      names of its tables, `dataset/...`
    shipped(name) -> Table                      a table that ships; those of packs have a row in `packs.csv`
    files(name) -> tuple[str, ...]              optional: upstream files of a table that does not ship; else ()
    build(name, read) -> Table                  optional: such a table; `read(file) -> bytes` returns verified bytes
    SYNTHETIC: tuple[str, ...]                  optional: synthetic tables
    UNHASHED: tuple[str, ...]                   optional: tables whose rows are not actions and keep their order

Nothing here opens a socket; `hpo_envs.tables.files.download` installs files.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hpo_envs.tables import catalogue, frames, user
from hpo_envs.tables.checks import one_of, shown
from hpo_envs.tables.files.folder import CorruptFile, content, data_folder
from hpo_envs.tables.table import Table


class TableNotInstalled(FileNotFoundError):
    """The upstream files of a table that does not ship have not been fetched."""


def names(dataset: str | None = None) -> list[str]:
    """Names of all tables except users', or of those of one data set; ValueError if the data set is unknown."""
    found: list[str] = []
    for d in catalogue.known().values() if dataset is None else [catalogue.dataset(dataset)]:
        found.extend(_builder(d.name).NAMES)
    return found


def exists(name: str) -> bool:
    """Return whether a table of this name exists: one of `names()`, or one of the user."""
    if _is_users(name):
        return user.exists(name)
    return _dataset_of(name) in catalogue.known() and name in _builder(_dataset_of(name)).NAMES


def files(name: str) -> tuple[str, ...]:
    """Return the upstream files of a table that does not ship, () for others and users'; ValueError for other names."""
    if _is_users(name) or name in catalogue.pins():
        return ()
    builder = _builder_of(name)
    return builder.files(name) if hasattr(builder, "files") else ()


def missing(name: str) -> list[Path]:
    """Return the paths of a table's upstream files that do not exist; others are not checked. Errors: see `files`."""
    root = data_folder()
    return [root / f for f in files(name) if not (root / f).is_file()]


def command(names: Iterable[str]) -> str:
    """Return the command that fetches the missing files of tables; empty if none is missing."""
    root, known = data_folder(), catalogue.files()
    wanted = dict.fromkeys(known[f.relative_to(root).as_posix()].dataset for n in names for f in missing(n))
    return f"hpo-envs fetch {' '.join(wanted)}" if wanted else ""


def synthetic(name: str) -> bool:
    """Return whether a table is synthetic; users' tables are not. ValueError for unknown names, except `user/NAME`."""
    return not _is_users(name) and name in getattr(_builder_of(name), "SYNTHETIC", ())


def of_configurations(name: str) -> bool:
    """Return whether rows of a table are actions, not segments or cells of a grid; True for `user/NAME`.

    Raises:
        ValueError: The name is unknown, and not of that form.
    """
    return _is_users(name) or name not in getattr(_builder_of(name), "UNHASHED", ())


def owner(name: str) -> str:
    """Return who measured a table: `this project`, a repository, or `the user` if unknown; empty if it is synthetic."""
    if not exists(name) or _is_users(name):
        return "the user"
    if upstream := files(name):
        return catalogue.files()[upstream[0]].repository
    return "" if synthetic(name) else load(name).provenance.upstream


def load(name: str) -> Table:
    """Return a table by its name: `dataset/table`, see `names`, or `user/NAME`, see `hpo_envs.tables.user`.

    Tables are cached: repeated calls usually return the same object.

    Raises:
        ValueError: The name is unknown, or a user's table is invalid.
        TableNotInstalled: The table does not ship, and its files have not been fetched.
        CorruptFile: A pack or an installed file has the wrong bytes.
    """
    if _is_users(name):
        return user.load(name)
    if not files(name):
        return _shipped(name)
    if missing(name):
        raise TableNotInstalled(f"table {name} is not installed: run `{command([name])}`")
    return _fetched(name, str(data_folder().resolve()))


def read(file: str, root: Path | None = None) -> bytes:
    """Return the bytes of an installed upstream file after checking them against the catalogue.

    Raises:
        TableNotInstalled: The file does not exist.
        CorruptFile: The size or checksum of the file is wrong, or it is a pipe or device.
    """
    record = catalogue.files()[file]
    root = root or data_folder()
    path = root / file
    try:
        found = content(record, root)
        fault = record.fault(found)
    except FileNotFoundError:
        raise TableNotInstalled(f"{path} is missing. Run `hpo-envs fetch {record.dataset}`.") from None
    except ValueError as error:
        fault = str(error).removeprefix(f"{path} ")
    if fault:
        raise CorruptFile(f"{path} {fault}. Run `hpo-envs fetch {record.dataset}` to install it again.")
    return found


def shipped(name: str) -> Table:
    """Return a table that ships, without comparing its hash with the catalogue's; for pack scripts."""
    builder = _builder(_dataset_of(name))
    return _ordered(builder, builder.shipped(name))


def _is_users(name: str) -> bool:
    return str(name).startswith(user.PREFIX) and name != user.EXAMPLE


def _dataset_of(name: str) -> str:
    return str(name).partition("/")[0]


def _builder(dataset: str) -> Any:
    return importlib.import_module(catalogue.dataset(dataset).builder)


def _builder_of(name: str) -> Any:
    """The builder of a table; ValueError if the name is unknown."""
    builder = _builder(_dataset_of(name))
    one_of("table", name, builder.NAMES)
    return builder


@functools.cache
def _shipped(name: str) -> Table:
    table = shipped(name)
    pinned = catalogue.pins().get(name, table.provenance.sha256)
    if table.provenance.sha256 != pinned:
        raise CorruptFile(f"table {name} must have sha256 {pinned}, got {table.provenance.sha256}")
    return table


@functools.cache
def _fetched(name: str, root: str) -> Table:
    builder, folder = _builder(_dataset_of(name)), Path(root)
    return _ordered(builder, builder.build(name, lambda file: read(file, folder)))


def _ordered(builder: Any, table: Table) -> Table:
    return table if table.name in getattr(builder, "UNHASHED", ()) else frames.hashed(table)


def load_tables(names: tuple[str, ...], table: Any) -> tuple[Table, ...]:
    """Return the named tables if `table` is None; else the given table, or the tables of the given tuple or list.

    Raises:
        ValueError: `table` is none of these, or a name is unknown.
        TableNotInstalled: See `load`.
    """
    if table is None:
        return tuple(load(name) for name in names)
    if isinstance(table, Table):
        return (table,)
    if isinstance(table, (tuple, list)) and table and all(isinstance(t, Table) for t in table):
        return tuple(table)
    raise ValueError(f"table must be a Table, or a tuple or list of some, got {shown(table)}")


def load_table(name: str, table: Any) -> Table:
    """Return the named table if `table` is None; else the given one, which may be alone in a tuple or list.

    Raises:
        ValueError: `table` is not one table, or the name is unknown.
        TableNotInstalled: See `load`.
    """
    found = table[0] if isinstance(table, (tuple, list)) and len(table) == 1 else table
    if not isinstance(found, Table | None):
        raise ValueError(f"table must be a Table, got {shown(table)}")
    return load(name) if found is None else found
