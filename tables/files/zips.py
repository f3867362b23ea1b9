"""Reads zip files that others made, in memory and with limits; nothing is ever extracted to disk."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator

MAX_MEMBERS = 100_000
"""Most entries in an archive."""

MAX_MEMBER_BYTES = 4 << 20
"""Largest member after decompression; a training log needs about 10 kB."""

MAX_TOTAL_BYTES = 2 << 30
"""Largest sum of members after decompression."""

MAX_RATIO = 200
"""Largest compression ratio of a member; deflated logs reach 4, a bomb 1,000."""


def members(content: bytes, file: str, suffix: str) -> Iterator[tuple[str, bytes]]:
    """Yields name and content of every member whose name ends in `suffix`, sorted by name.

    Folders and other members are skipped, but a suspicious one anywhere makes the archive unacceptable.

    Args:
        content: The archive.
        file: Its name, for messages.
        suffix: For example `.json`.

    Raises:
        ValueError: Not a zip; an absolute path, one with `..` or a drive, a duplicate; encrypted; too many, too
            large or too well compressed members; a truncated or damaged one.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise ValueError(f"{file} must be a zip file: {error}") from None
    with archive:
        entries = archive.infolist()
        _check(entries, file)
        for entry in sorted(entries, key=lambda e: e.filename):
            hidden = entry.filename.rpartition("/")[2].startswith(".")  # macOS adds such shadows of files
            if not entry.is_dir() and not hidden and entry.filename.endswith(suffix):
                yield entry.filename, _read(archive, entry, file)


def _check(entries: list[zipfile.ZipInfo], file: str) -> None:
    if len(entries) > MAX_MEMBERS:
        raise ValueError(f"{file} must have at most {MAX_MEMBERS} members, got {len(entries)}")
    seen: set[str] = set()
    total = 0
    for entry in entries:
        name = entry.filename
        parts = name.replace("\\", "/").split("/")
        if not name or name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
            raise ValueError(f"{file}: member names must stay inside the archive, got {name!r}")
        if name in seen:
            raise ValueError(f"{file}: member names must be unique, got {name!r} twice")
        seen.add(name)
        if entry.flag_bits & 0x1:
            raise ValueError(f"{file}: members must not be encrypted, got {name!r}")
        total += entry.file_size
        ratio = entry.file_size / max(entry.compress_size, 1)
        if entry.file_size > MAX_MEMBER_BYTES or ratio > MAX_RATIO or total > MAX_TOTAL_BYTES:
            raise ValueError(
                f"{file}: members must have at most {MAX_MEMBER_BYTES} bytes each, {MAX_TOTAL_BYTES} together and a "
                f"compression ratio of {MAX_RATIO}, got {name!r} with {entry.file_size} bytes, ratio {ratio:.0f}"
            )


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file: str) -> bytes:
    try:
        with archive.open(entry) as stream:
            # One byte more than promised shows a member whose header lies about its size.
            content = stream.read(entry.file_size + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise ValueError(f"{file}: member {entry.filename!r} is damaged or truncated: {error}") from None
    if len(content) != entry.file_size:
        raise ValueError(f"{file}: member {entry.filename!r} must have {entry.file_size} bytes, got {len(content)}")
    return content
