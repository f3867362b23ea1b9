"""Users' own tables: names, saving, loading, and the folder of saved tables (`HPO_ENVS_TABLES`)."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpo_envs.tables import plugins
from hpo_envs.tables.checks import folder_of, nearest, regular

if TYPE_CHECKING:
    from collections.abc import Callable

    from hpo_envs.tables.table import Table

    build: Callable[..., Table]
    decide: Callable[..., Any]
    read: Callable[..., Any]
    from_csv: Callable[..., Table]
    from_frame: Callable[..., Table]
    from_study: Callable[..., Table]

__all__ = [
    "EXAMPLE", "PREFIX", "build", "decide", "exists", "folder", "from_csv", "from_frame", "from_study", "load", "names",
    "read", "remember", "save",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Every import of the package lists names here, few read a file: the rest is imported when it is needed.
    if name not in ("build", "decide", "read", "from_csv", "from_frame", "from_study"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.reader"), name)


PREFIX = "user/"
"""Prefix of the names of users' tables."""

EXAMPLE = PREFIX + "example"
"""Name of a synthetic table that always exists."""

_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
"""Pattern of the names that Windows reserves for devices, with any suffix."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._]*(?:-[A-Za-z0-9._]+)*")

_remembered: dict[str, Table] = {}

on_save: list[Callable[[str], object]] = []
"""Functions called with the short name of each table saved in `folder()`; the registry's function registers its ids."""


def folder() -> Path:
    """Return the folder of saved tables: `$HPO_ENVS_TABLES`, else `tables` in the user's data folder."""
    if given := folder_of("HPO_ENVS_TABLES"):
        return given
    import platformdirs  # imported here to keep `import hpo_envs` light

    return Path(platformdirs.user_data_dir("hpo_envs", appauthor=False)) / "tables"


def check_name(name: str) -> str:
    """Return a table's name without its prefix.

    Raises:
        ValueError: The name is empty or has more than 80 characters; has characters other than letters, digits, dots,
            underscores and single hyphens between them; begins with a dot or underscore; is `example` or a device of
            Windows; or ends in `-v` and a number.
    """
    short = str(name).removeprefix(PREFIX)
    if not _is_name(short):
        raise ValueError(
            "name must be at most 80 letters, digits, dots, underscores and single hyphens, not be 'example' or a "
            f"device of Windows, and not end in -v and a number, got {short!r}"
        )
    return short


def _is_name(short: str) -> bool:
    taken = short == "example" or _DEVICE.match(short)
    return bool(_NAME.fullmatch(short)) and len(short) <= 80 and not (re.search(r"-v\d+$", short) or taken)


def unnamed() -> list[str]:
    """Return the sorted names of the files in `folder()` that would be tables if they had valid names."""
    return sorted(p.name for p in folder().glob("*.npz") if not _is_name(p.stem))


def names() -> list[str]:
    """Return the sorted names, without prefix, of saved tables, tables remembered in this process and plugins."""
    saved = {p.stem for p in folder().glob("*.npz") if _is_name(p.stem)}
    return sorted(saved | {n.removeprefix(PREFIX) for n in _remembered} | plugins.of("tables").keys())


def exists(name: str) -> bool:
    """Return whether a table of this name, with or without prefix, is saved, remembered or a plugin's."""
    short = str(name).removeprefix(PREFIX)
    saved = bool(_is_name(short) and (folder() / f"{short}.npz").is_file())
    return saved or PREFIX + short in _remembered or short in plugins.of("tables")


def remember(table: Table) -> Table:
    """Register a table under its name until the process ends or a table is saved under it; it shadows a saved one.

    Return the table.
    """
    _remembered[table.name] = table
    return table


def save(table: Table, path: str | Path | None = None, *, replace: bool = False) -> Path:
    """Write a table atomically, and return the path; `load` reads it in any process.

    Without `replace`, a file with the same content is left unchanged. After a table is saved in `folder()`, its name
    there stands for the file, not for a remembered table.

    Args:
        table: The table.
        path: File to write (.npz); default: a file in `folder()` with the table's name.
        replace: Whether an existing file may be replaced.

    Raises:
        FileExistsError: The file exists with other content, and `replace` is False.
        ValueError: The path does not end in .npz, or the table's name is not valid for a file in `folder()`.
        OSError: The file cannot be written.
    """
    from hpo_envs.tables.files import atomic, packs
    from hpo_envs.tables.files.lock import locked

    target = folder() / f"{check_name(table.name)}.npz" if path is None else Path(path).expanduser()
    if target.suffix != ".npz":
        raise ValueError(f"path must end in .npz, got {target}")
    target.parent.mkdir(parents=True, exist_ok=True)
    ours, same = target.parent.resolve() == folder().resolve(), False
    with locked(target.parent) if ours else contextlib.nullcontext():  # several processes may save under one name
        if target.exists() and not replace:
            with contextlib.suppress(ValueError):
                same = _read(target).provenance.sha256 == table.provenance.sha256
            if not same:
                text = f"{target} has another table already: choose another name, or replace=True (--replace)"
                raise FileExistsError(text)
        if not same:
            atomic.write(target, packs.pack(table))
    if ours and _is_name(target.stem):
        _remembered.pop(PREFIX + target.stem, None)
        for call in on_save:
            call(target.stem)
    return target


def load(name: str | Path) -> Table:
    """Read a saved table, or get one that is remembered in this process or made by a plugin.

    It is found by its name, with or without prefix, or by the path of a file ending in .npz. A table whose name begins
    with `user/` is then remembered, unless another one has this name, as the one of which the file is an old copy. The
    name of a table in `folder()` is that of its file.

    Raises:
        ValueError: The table is unknown, the file is not a table, or a plugin makes none.
        FileNotFoundError: The file does not exist.
    """
    text, short = str(name), str(name).removeprefix(PREFIX)
    if not text.endswith(".npz") and not exists(text):
        known = names()
        raise ValueError(
            f"table must be one of {', '.join(known) or '(none saved yet)'} (hpo-envs list), a Table or the path "
            f"of an .npz file, got {text!r}{nearest(short, known)}"
        )
    if PREFIX + short in _remembered:
        return _remembered[PREFIX + short]
    path = Path(name).expanduser() if text.endswith(".npz") else folder() / f"{short}.npz"
    if short in plugins.of("tables") and not path.exists():
        return remember(_of_plugin(plugins.of("tables")[short]))
    table = _read(path)
    if path.parent.resolve() == folder().resolve():
        return remember(table if table.name == PREFIX + path.stem else _named(table, path.stem))
    return remember(table) if table.name.startswith(PREFIX) and not exists(table.name) else table


def _of_plugin(plugin: plugins.Plugin) -> Table:
    from hpo_envs.tables.table import Table

    make = plugin.load()
    try:
        table = make()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, and what else is no Exception
        table = error
    if not isinstance(table, Table):
        raise ValueError(f"plugin {plugin.name} of {plugin.package} must return a Table, got {table!r}")
    return _named(table, plugin.name)


def _named(table: Table, short: str) -> Table:
    provenance = dataclasses.replace(table.provenance, sha256="")  # the name is part of the content
    return dataclasses.replace(table, name=PREFIX + short, provenance=provenance)


def _read(path: Path) -> Table:
    from hpo_envs.tables.files import packs

    content = regular(path).read_bytes()
    try:
        return packs.unpack(content)
    except ValueError as error:
        raise ValueError(f"{path} must be a table written by hpo-envs, got another file: {error}") from None
