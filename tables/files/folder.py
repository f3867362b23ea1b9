"""The data folder on disk: which upstream files are installed, whether they are right, and how one gets there whole.

A file is written to `NAME.part` beside its place, checked there, flushed to the disk and renamed; so a file that has
its final name was right when it got it. Only a `.part` can be left behind, and the next fetch continues it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from hpo_envs.checks import nearest
from hpo_envs.tables import catalogue
from hpo_envs.tables.files import atomic


class FetchError(OSError):
    """An upstream file could not be installed; the message says what to do next."""


class WrongContent(FetchError):
    """A source delivered other bytes than the catalogue promises."""


class CorruptFile(ValueError):
    """A file on the disk does not have the bytes that the catalogue promises."""


class Check(NamedTuple):
    """State of one upstream file in the data folder.

    Attributes:
        record: The catalogue's row.
        path: Where it belongs.
        status: `ok`, `missing`, or `corrupt`: it is there and has not the promised bytes, or cannot be read.
        detail: What is wrong, or the empty string.
    """

    record: catalogue.File
    path: Path
    status: Literal["ok", "missing", "corrupt"]
    detail: str = ""


def data_folder() -> Path:
    """Where upstream files are installed: `$HPO_ENVS_DATA`, else the user's cache folder."""
    given = os.environ.get("HPO_ENVS_DATA")
    if given:
        return Path(given).expanduser()
    import platformdirs  # imported here to keep `import hpo_envs` light

    return Path(platformdirs.user_cache_dir("hpo_envs", appauthor=False))


def select(names: str | Iterable[str] | None = None) -> list[catalogue.File]:
    """Catalogue rows of the named data sets, in catalogue order; of all of them for None.

    Raises:
        ValueError: Unknown data set.
    """
    known = catalogue.datasets()
    chosen = known if names is None else [names] if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in known:
            raise ValueError(
                f"name must be a data set that `hpo-envs fetch --list` shows ({', '.join(known)}), got {name!r}"
                f"{nearest(name, known)}"
            )
    return [f for f in catalogue.files().values() if f.dataset in chosen]


def check(record: catalogue.File, root: Path) -> Check:
    """Reads an installed file from end to end and compares size and checksum with the catalogue."""
    path = root / record.file
    try:
        size, digest = fingerprint(record, path)
    except (FileNotFoundError, NotADirectoryError):
        part = part_of(path)
        size = part.stat().st_size if part.is_file() else 0
        return Check(record, path, "missing", f"{size} bytes of an interrupted download" if size else "")
    except OSError as error:
        return Check(record, path, "corrupt", f"cannot be read: {error.strerror}")
    if is_right(record, size, digest):
        return Check(record, path, "ok")
    return Check(record, path, "corrupt", f"must have {record.promise}, got {size} bytes with {digest}")


def need_space(records: list[catalogue.File], root: Path) -> None:
    """Makes sure that files fit before the first is begun.

    Raises:
        FetchError: They do not.
    """
    need, free = sum(r.bytes for r in records), shutil.disk_usage(root).free
    if need > free:
        raise FetchError(
            f"the data folder {root} must have {need} bytes free, got {free}. Free space or set HPO_ENVS_DATA to "
            "another folder; then run the same command again."
        )


def fingerprint(record: catalogue.File, path: Path) -> tuple[int, str]:
    """Size and checksum of a file, the latter in the form of the catalogue's row."""
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        return size, record.checksum(stream, size)


def is_right(record: catalogue.File, size: int, digest: str) -> bool:
    """Whether size and checksum are the promised ones."""
    return digest == record.sha256 and size == (record.bytes or size)


def part_of(path: Path) -> Path:
    """Where a file is assembled before it gets its name."""
    return path.with_name(f"{path.name}.part")


def private_part_of(path: Path) -> Path:
    """As `part_of`, for a process that could not lock the folder: no other process writes to it."""
    return path.with_name(f"{path.name}.{os.urandom(16).hex()}.part")


def accept(record: catalogue.File, part: Path, target: Path, source: str) -> None:
    """Gives a complete part its final name if it is right, and deletes it otherwise.

    Raises:
        WrongContent: It is not right.
    """
    size, digest = fingerprint(record, part)
    if not is_right(record, size, digest):
        part.unlink()
        raise WrongContent(f"{record.file} must have {record.promise}, got {size} bytes with {digest} from {source}")
    with open(part, "rb+") as stream:
        os.fsync(stream.fileno())
    os.replace(part, target)
    atomic.sync(target.parent)


@contextlib.contextmanager
def locked(folder: Path, waiting: Callable[[], object] = lambda: None) -> Iterator[bool]:
    """Holds the lock on the data folder, waiting for another process to release it.

    The lock is on the folder itself, so nothing is left behind, and it goes with the process that holds it. Yields
    whether there is a lock: not on file systems without locks, nor on Windows. `waiting` is called once before waiting.
    """
    try:
        import fcntl
    except ImportError:
        yield False
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(handle, fcntl.LOCK_EX)
            held = True
        except OSError:
            held = False
        yield held
    finally:
        os.close(handle)
