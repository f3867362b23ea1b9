"""Journal: a file to which records are appended one by one; checksums, damage and its repair.

Each line is a record as JSON, after the first 16 digits of a sha256 of all records up to this one. When `append`
returns, the line is in the file, and with `sync` also on the disk. An incomplete last line, as after a kill, is
ignored; any other mismatch raises an error, and so does a file without a complete line.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hpo_envs.tables.checks import naming, regular, shown
from hpo_envs.tables.files import atomic

CHECKSUM_LENGTH = 16


class DamagedError(ValueError):
    """A line of a journal is not a record, or does not match its checksum; `whole` is the number of lines before it."""

    def __init__(self, message: str, whole: int) -> None:
        super().__init__(message)
        self.whole = whole


def salvage(path: Path) -> tuple[int, Path] | None:
    """Keep the valid beginning of a damaged journal, and copy the damaged file.

    Returns:
        Number of lines lost, and the path of the copy; None if the journal is not damaged.

    Raises:
        ValueError: Not even the first line is valid, or the journal is a symbolic link.
    """
    try:
        Journal(path)
    except DamagedError as damage:
        if not damage.whole:
            raise
        data = atomic.inside(path.parent, path).read_bytes()
        lines = data.splitlines(keepends=True)
        aside = path.with_name(f"{path.name}.damaged-{hashlib.sha256(data).hexdigest()[:CHECKSUM_LENGTH]}")
        atomic.write(aside, data)
        atomic.write(path, b"".join(lines[: damage.whole]))
        return len(lines) - damage.whole, aside
    return None


class Journal:
    """A file of records; those that it already has are read at once.

    Any number of processes may read. Several may write if each locks the folder and calls `follow` before `append`.

    Args:
        path: The file; the first `append` creates it, in a folder that must exist.

    Attributes:
        path: The file.
        records: All records read or appended so far, in the order of the file.

    Raises:
        DamagedError: A line is not a record or does not match its checksum.
        ValueError: The file has no complete line, is no regular file, or is larger than `checks.BYTES`.
        OSError: Reading fails.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.records: list[dict[str, Any]] = []
        self._chain = hashlib.sha256()
        self._size = 0
        self._last = self._rest = b""
        if self.path.exists():
            self._read(regular(self.path).read_bytes())

    def append(
        self, record: Mapping[str, Any], sync: bool = True, check: Callable[[dict[str, Any]], object] = bool
    ) -> None:
        """Add a record to the file and to `records`; it then survives the end of the process.

        Args:
            record: JSON data; floats are preserved exactly.
            sync: Whether to wait for the disk, so that the record survives a power failure, too.
            check: Function that is called with the record as it will be read; if it raises, nothing is written.

        Raises:
            TypeError: The record is not JSON data.
            ValueError: Another process has changed the file.
            OSError: Writing fails; the record was not added.
        """
        text = json.dumps(dict(record), sort_keys=True).encode()
        plain = json.loads(text)
        check(plain)
        chain = self._chain.copy()
        chain.update(text)
        line = chain.hexdigest()[:CHECKSUM_LENGTH].encode() + b" " + text + b"\n"
        if not self.records:  # atomically, as a file without a complete line is invalid
            atomic.write(self.path, line)
        else:
            self._extend(line, sync)
        self._chain, self._size, self._last, self._rest = chain, self._size + len(line), line, b""
        self.records.append(plain)

    def follow(self) -> list[dict[str, Any]]:
        """Add the records that other processes have appended to `records`, and return them; empty if there are none.

        Each process must lock the folder while it reads or appends; errors are those of `Journal`.
        """
        before = len(self.records)
        if self.path.exists():
            with open(self.path, "rb") as stream:
                stream.seek(self._size)
                self._read(stream.read())
        return self.records[before:]

    def _extend(self, line: bytes, sync: bool) -> None:
        with naming(self.path), open(self.path, "r+b") as stream:
            stream.seek(max(self._size - len(self._last), 0))
            end = stream.read(len(self._last) + len(self._rest) + 1)
            if not (self._last + self._rest).startswith(end) or len(end) < len(self._last):
                raise ValueError(
                    f"{self.path} must have one writer, got changes by another one: nothing was added; stop the other "
                    "one, then resume"
                )
            try:
                stream.seek(self._size)
                stream.truncate()  # what a kill or a full disk left of the last line
                self._rest = line
                stream.write(line)
                stream.flush()
                if sync:
                    os.fsync(stream.fileno())
            except OSError:
                stream.truncate(self._size)
                raise

    def _read(self, data: bytes) -> None:
        *lines, self._rest = data.split(b"\n")
        for line in lines:
            whole, text, chain = len(self.records), line[CHECKSUM_LENGTH + 1 :], self._chain.copy()
            where = f"{self.path}, line {whole + 1}"
            chain.update(text)
            if line != chain.hexdigest()[:CHECKSUM_LENGTH].encode() + b" " + text:
                raise DamagedError(f"{where}: must match its checksum, got a changed or damaged line", whole)
            try:
                record = json.loads(text)
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict):
                got = shown(text.decode(errors="replace"))
                raise DamagedError(f"{where}: must be an object of JSON, got {got}", whole)
            self.records.append(record)
            self._chain, self._size, self._last = chain, self._size + len(line) + 1, line + b"\n"
        if not self.records:
            raise ValueError(f"{self.path} must begin with a whole record, got none: restore the file or delete it")
