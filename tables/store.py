"""Gets a table by name: built from verified upstream files where they are installed, else the embedded one.

A builder module (one per data set, named in the catalogue) has

    NAMES: tuple[str, ...]                      names of its tables, `dataset/...`
    files(name) -> tuple[str, ...]              upstream files that a table is built from
    build(name, read) -> Table                  `read(file) -> bytes` returns verified bytes
    shipped(name) -> Table                      a measured table that ships in a pack, with a row in `packs.csv`
    embedded(name) -> Table                     the surrogate that ships with the package
    MEASURED: bool                              optional: what ships is measured, by this project; nothing is installed
    UNHASHED: tuple[str, ...]                   optional: tables whose rows are no actions; they keep their order
    VERSION: int                                optional: built tables are kept, see `hpo_envs.tables.files.cache`

Nothing here opens a socket; `hpo_envs.tables.files.download` installs files.
"""

from __future__ import annotations

import functools
import importlib
import io
import warnings
from pathlib import Path
from typing import Any, Literal

from hpo_envs.checks import one_of
from hpo_envs.tables import catalogue, row_order, user
from hpo_envs.tables.catalogue import agreement
from hpo_envs.tables.files import cache
from hpo_envs.tables.files.folder import CorruptFile, data_folder
from hpo_envs.tables.table import Table

Kind = Literal["auto", "measured", "surrogate"]
KINDS = ("auto", "measured", "surrogate")

OURS = "this project"
"""The owner of tables that this project measured."""


class EmbeddedTableWarning(UserWarning):
    """A measured table is not installed: the embedded one is used.

    Args:
        dataset: The data set.
        command: What installs its measured tables.
    """

    def __init__(self, dataset: str, command: str) -> None:
        super().__init__(
            f"The measured tables of {dataset} are not installed; embedded tables are used, and numbers obtained on "
            f"them are not measurements. {agreement.worth(dataset)}"
            f' Run `{command}` for the measured ones, or pass table="surrogate" to choose the embedded ones silently.'
        )
        self.dataset, self.command = dataset, command


class TableNotInstalled(FileNotFoundError):
    """A measured table was asked for and its files are not installed."""


def names(dataset: str | None = None) -> list[str]:
    """Names of all tables, or of those of one data set."""
    found: list[str] = []
    for d in catalogue.DATASETS.values() if dataset is None else [catalogue.dataset(dataset)]:
        found.extend(_builder(d.name).NAMES)
    return found


def exists(name: str) -> bool:
    """Whether a table of this name can be loaded: one of `names()`, or one of the user's own."""
    if _is_users(name):
        return user.exists(name)
    return _dataset_of(name) in catalogue.DATASETS and name in _builder(_dataset_of(name)).NAMES


def missing(name: str) -> list[Path]:
    """The files that have to be installed before a table can be built from measurements; their content is not read.

    Raises:
        ValueError: Unknown name.
    """
    if _is_users(name):
        return []
    builder = _builder(_dataset_of(name))
    _check_name(name)
    root = data_folder()
    return [root / f for f in builder.files(name) if not (root / f).is_file()]


def measurable(name: str) -> bool:
    """Whether a table has a measured form; synthetic ones, which no upstream file describes, have none.

    Raises:
        ValueError: Unknown name.
    """
    return "measured" in kinds(name)


def kinds(name: str) -> tuple[Kind, ...]:
    """The kinds of table that answer to a name, the one that ships last.

    Raises:
        ValueError: Unknown name.
    """
    if _is_users(name) or ours(name):
        return ("measured",)
    return ("measured", "surrogate") if _builder(_dataset_of(name)).files(name) else ("surrogate",)


def owner(name: str) -> str:
    """Who measured what a table is made of: `this project`, `the user`, upstream's repository; empty: nobody."""
    if not exists(name) or _is_users(name):
        return "the user"
    if ours(name):
        return OURS
    files = _builder(_dataset_of(name)).files(name)
    return catalogue.files()[files[0]].repository if files else ""


def ours(name: str) -> bool:
    """Whether this project measured a table, which ships.

    Raises:
        ValueError: Unknown name.
    """
    if _is_users(name):
        return False
    _check_name(name)
    return getattr(_builder(_dataset_of(name)), "MEASURED", False)


def load(name: str, kind: Kind = "auto") -> Table:
    """Returns a table; repeated calls return the same object while the data folder is the same.

    Args:
        name: `dataset/table`, see `names()`; or `user/NAME`, see `hpo_envs.tables.user`.
        kind: `measured`, `surrogate`, or `auto`: measured where its files are installed, else the surrogate with
            one warning per process and data set.

    Raises:
        ValueError: Unknown name or kind.
        TableNotInstalled: `measured`, and its files are not there.
        CorruptFile: An installed file has the wrong bytes.
    """
    one_of("table", kind, KINDS, " or a Table")
    if _is_users(name):
        if kind == "surrogate":
            raise ValueError(f"table must be auto or measured for {name}, which has no surrogate, got 'surrogate'")
        return user.load(name)
    lacking = missing(name)
    if ours(name):
        if kind == "surrogate":
            raise ValueError(
                f"table must be auto or measured for {name}, which this project measured and ships: nothing stands in "
                "for it, got 'surrogate'"
            )
        return _embedded(name)
    if kind == "measured" and not measurable(name):
        raise TableNotInstalled(f"table {name} is synthetic: nothing was measured, use 'surrogate' or 'auto'")
    if kind == "surrogate" or not measurable(name):
        return _embedded(name)
    if name in catalogue.pins() and kind == "measured":
        return _pinned(name)
    if not lacking:
        return _measured(name, str(data_folder().resolve()))
    root, files = data_folder(), catalogue.files()
    wanted = dict.fromkeys(files[f.relative_to(root).as_posix()].dataset for f in lacking)
    command = f"hpo-envs fetch {' '.join(wanted)}"
    if kind == "measured":
        raise TableNotInstalled(
            f"table {name} is not installed: {lacking[0]} is missing. Run `{command}`, or set HPO_ENVS_DATA "
            "to a folder that has the upstream files."
        )
    _warn_once(_dataset_of(name), command)
    return _embedded(name)


def read(file: str, root: Path | None = None) -> bytes:
    """Returns the bytes of an installed upstream file after checking them against the catalogue.

    Raises:
        TableNotInstalled: The file is not there.
        CorruptFile: Its size or checksum is wrong.
    """
    record = catalogue.files()[file]
    path = (root or data_folder()) / file
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise TableNotInstalled(f"{path} is missing. Run `hpo-envs fetch {record.dataset}`.") from None
    digest = record.checksum(io.BytesIO(content), len(content))
    if digest != record.sha256:
        raise CorruptFile(
            f"{path} must have {record.promise}, got {len(content)} bytes with {digest}. "
            f"Run `hpo-envs fetch {record.dataset}` to install it again."
        )
    return content


def shipped(name: str) -> Table:
    """The table of a pack, before it is compared with the catalogue: for pack scripts."""
    builder = _builder(_dataset_of(name))
    return _ordered(builder, builder.shipped(name))


def forget() -> None:
    """Drops tables held in memory, after files on the disk were replaced."""
    _pinned.cache_clear()
    _measured.cache_clear()
    _embedded.cache_clear()


def _is_users(name: str) -> bool:
    return str(name).startswith(user.PREFIX) and name != user.EXAMPLE


def _dataset_of(name: str) -> str:
    return str(name).partition("/")[0]


def _builder(dataset: str) -> Any:
    return importlib.import_module(catalogue.dataset(dataset).builder)


def _check_name(name: str) -> None:
    one_of("table", name, _builder(_dataset_of(name)).NAMES)


@functools.cache
def _measured(name: str, root: str) -> Table:
    builder, folder = _builder(_dataset_of(name)), Path(root)

    def build() -> Table:
        return _ordered(builder, builder.build(name, lambda file: read(file, folder)))

    version = getattr(builder, "VERSION", None)
    return build() if version is None else cache.load(name, version, builder.files(name), folder, build)


@functools.cache
def _pinned(name: str) -> Table:
    table, pinned = shipped(name), catalogue.pins()[name]
    if table.provenance.sha256 != pinned:
        raise CorruptFile(f"table {name} must have sha256 {pinned}, got {table.provenance.sha256}")
    return table


@functools.cache
def _embedded(name: str) -> Table:
    builder = _builder(_dataset_of(name))
    table = _ordered(builder, builder.embedded(name))
    return table.noted(agreement.worth(name)) if len(kinds(name)) > 1 else table


def _ordered(builder: Any, table: Table) -> Table:
    return table if table.name in getattr(builder, "UNHASHED", ()) else row_order.hashed(table)


@functools.cache
def _warn_once(dataset: str, command: str) -> None:
    warnings.warn(EmbeddedTableWarning(dataset, command), stacklevel=4)
