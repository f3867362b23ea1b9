"""Writes a file so that whoever reads it, now or after a crash, finds the old content or the new one."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STALE = 3600.0
"""Seconds after which an unfinished file is nobody's; writing one takes less than one."""


def write(path: Path | str, content: bytes | str) -> None:
    """Writes a file beside its place, flushes it to the disk and renames it.

    What is no file (a terminal, a pipe, `/dev/null`) is written to directly. Links are followed.

    Args:
        path: The file; its folder must exist.
        content: All of it; text is encoded as UTF-8.

    Raises:
        OSError: The disk is full or refuses; what was there is unchanged.
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    sweep(target.parent)
    part = target.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with open(part, "xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, target)
    except BaseException:  # also on Ctrl-C
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    sync(target.parent)


def write_csv(path: Path | str, records: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> None:
    """Writes a table of records.

    Args:
        path: The file; its folder must exist.
        records: At least one, unless columns are given; what one lacks is left empty.
        columns: Default: those of the first record.

    Raises:
        OSError: As `write`.
        ValueError: A record has a column beyond these.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns or records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    write(path, text.getvalue())


def write_all(files: Mapping[Path, bytes | str]) -> None:
    """Writes several files, each whole; they should be ready, so that little time passes between the first and last."""
    for path, content in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write(path, content)


def sync(folder: Path) -> None:
    """Makes renames in a folder durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sweep(folder: Path, age: float = STALE) -> None:
    """Removes what processes that were killed while writing left in a folder.

    Args:
        folder: Where to look.
        age: Seconds since the last change after which no live process can be writing it. A clock that was set back
            makes files seem young: they stay until it has caught up.
    """
    for part in folder.glob(".*.part"):
        name = part.name[1:-5]
        if len(name) == 32 and all(c in "0123456789abcdef" for c in name):  # ours: others have such endings, too
            with contextlib.suppress(OSError):
                if time.time() - part.stat().st_mtime >= age:
                    part.unlink()
