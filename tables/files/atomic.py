"""Atomic writing of files (old content or new, even after a crash), CSV without formulas, reading of CSV and NPZ."""

import contextlib
import csv
import functools
import hashlib
import io
import os
import platform
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.checks import naming


def write(path: Path | str, content: bytes | str) -> None:
    """Write a file atomically: a temporary file is written, flushed to the disk and renamed.

    Anything other than a file (a terminal, a pipe, `/dev/null`) is written to directly. Links are followed. The folder
    must exist, and temporary files of killed processes are removed from it; text is encoded as UTF-8.

    Raises:
        OSError: Writing to the disk fails; the old content is unchanged.
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    sweep(target.parent)
    part = target.with_name(f".{os.urandom(16).hex()}-{os.getpid()}-{machine()}.part")
    try:
        with naming(target), open(part, "xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, target)
    except BaseException:  # also on Ctrl-C
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    sync(target.parent)


def inside(folder: Path | str, path: Path | str) -> Path:
    """Return a path to write to after checking that it has no symbolic link below a folder of files of unknown origin.

    A path outside the folder is the user's choice, and not checked.

    Raises:
        ValueError: The path, or a folder between the two, is a symbolic link.
    """
    folder, whole = Path(os.path.abspath(folder)), Path(os.path.abspath(path))
    for part in (whole, *whole.parents):
        if folder in part.parents and part.is_symlink():
            raise ValueError(
                f"{part} must be a file or folder of {folder}, got a symbolic link to {os.readlink(part)}: remove it"
            )
    return Path(path)


def check_ours(path: Path, content: str) -> None:
    """Raise a `ValueError` if a file begins with another line than the content that would replace it."""
    if path.is_file():
        with naming(path), path.open("rb") as stream:
            first = stream.readline(10_000).strip()
        if first and first != content.partition("\n")[0].strip().encode():
            raise ValueError(f"{path} must be new, or a file that hpo_envs wrote, got another: choose another name")


def write_csv(path: Path | str, records: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> None:
    """Write records as a CSV file, see `csv_of`; the folder must exist.

    Raises:
        OSError: See `write`.
        ValueError: A record has a column that is neither in `columns` nor, by default, in the first record.
    """
    write(path, csv_of(records, columns))


def csv_of(records: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """Return records as CSV text, with the first record's columns by default; missing values are empty.

    Formulas of spreadsheets are prefixed with an apostrophe, and carriage returns are escaped. Without `columns`, there
    must be a record; for errors see `write_csv`.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns or records[0]), lineterminator="\n")
    writer.writerow({name: _harmless(name) for name in writer.fieldnames})
    writer.writerows({name: _harmless(value) for name, value in record.items()} for record in records)
    return text.getvalue()


FORMULAS = "=+-@\t\n＝＋－＠"
"""First characters of cells that some spreadsheets treat as formulas."""

_NUMBER = re.compile(r"[+-]?(\d++\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)")


def _harmless(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.replace("\r", "\\r")  # the csv module of Python 3.11 leaves it unquoted: a row would end there
    return f"'{text}" if len(text) > 1 and text[0] in FORMULAS and not _NUMBER.fullmatch(text) else text


def read_csv(path: Path | str) -> list[dict[str, str]]:
    """Return the rows of a CSV file with a header, each a dict of texts by column."""
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def read_npz(path: Path | str, *names: str) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an `.npz` file, all or those with the given names; ValueError for pickled objects."""
    with np.load(path, allow_pickle=False) as data:
        return {name: data[name] for name in names or data.files}


def write_all(files: Mapping[Path, bytes | str]) -> None:
    """Write several files in quick succession, each atomically, and create their folders."""
    for path, content in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write(path, content)


def sync(folder: Path) -> None:
    """Make renames in a folder durable, if the system supports it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


PART = re.compile(r"\.[0-9a-f]{32}-(\d+)-([0-9a-f]{16})\.part")


def sweep(folder: Path) -> None:
    """Remove temporary files of killed processes from a folder.

    A file of this machine is kept while its process lives, whatever its age; a file of another machine that shares the
    disk is kept for a day.
    """
    for entry in os.scandir(folder):
        match = PART.fullmatch(entry.name)
        if match is None:  # others have such endings, too
            continue
        with contextlib.suppress(OSError):
            mine = match[2] == machine()
            if not alive(int(match[1])) if mine else time.time() - entry.stat().st_mtime >= 86400.0:
                os.unlink(entry.path)


@functools.cache
def machine() -> str:
    """Return 16 hex digits that identify the machine, its boot and the process namespace."""
    known = [platform.node()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        with contextlib.suppress(OSError):
            known.append(os.readlink(path) if path.endswith("pid") else Path(path).read_text(encoding="ascii"))
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]


def alive(process: int, start: str = "") -> bool:
    """Return whether a process of this `machine` runs, and began at `start` if given; True if unknown."""
    if os.name != "posix":  # there a signal of 0 would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    state, now = _status(process)
    return state != "Z" and (not start or now in ("", start))


def start_of(process: int) -> str:
    """Return the start of a process of this `machine` as text, which distinguishes reused ids; empty if unknown."""
    return _status(process)[1]


def _status(process: int) -> tuple[str, str]:
    """State and start of a process; empty if unknown, as where `/proc` shows another namespace."""
    with contextlib.suppress(OSError):
        if os.readlink("/proc/self") == str(os.getpid()):
            text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
            fields = text.rpartition(")")[2].split()
            return fields[0], fields[19]
    return "", ""
