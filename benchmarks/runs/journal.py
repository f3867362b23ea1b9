"""Journal: a file to which records are appended one by one; checksums, damage and its repair.

Each line is a record as JSON, after the first 16 characters of a sha256 that covers this record and all before it. A
line is in the file before `append` returns, and on the disk unless the caller allows it to wait for the next one. An
incomplete last line, as after a kill, is ignored; any other mismatch, also an empty file, is damage and raises an
error.
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
    """A line of a journal is no record or does not match its checksum; `whole` is the number of lines before it."""

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
    """Records of a file, in the order in which they were added.

    Args:
        path: The file, created with the first record. Its folder must exist. One process writes, or several in
            turn, each of which calls `follow` before; any may read.

    Raises:
        ValueError: The file is damaged, or not a journal.
        OSError: Reading fails.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._chain = hashlib.sha256()
        self.records: list[dict[str, Any]] = []
        """All records, in order."""
        self._size = 0
        self._last = self._rest = b""
        if self.path.exists():
            self._read(regular(self.path).read_bytes())

    def append(
        self, record: Mapping[str, Any], sync: bool = True, check: Callable[[dict[str, Any]], object] = bool
    ) -> None:
        """Add a record; once this returns, the record survives the end of the process.

        Args:
            record: Plain data; floats are preserved exactly.
            sync: Whether to wait for the disk, so that the record survives a power failure, too.
            check: Function that is called with the record in the form in which it will be read; if it raises, nothing
                is written.

        Raises:
            TypeError: The record is not plain data.
            ValueError: Another process has changed the file.
            OSError: Writing to the disk fails; the record was not added.
        """
        text = json.dumps(dict(record), sort_keys=True).encode()
        plain = json.loads(text)
        check(plain)
        chain = self._chain.copy()
        chain.update(text)
        line = chain.hexdigest()[:CHECKSUM_LENGTH].encode() + b" " + text + b"\n"
        if not self.records:  # whole or not at all: a journal without a record was emptied
            atomic.write(self.path, line)
        else:
            self._extend(line, sync)
        self._chain, self._size, self._last, self._rest = chain, self._size + len(line), line, b""
        self.records.append(plain)

    def follow(self) -> list[dict[str, Any]]:
        """Read new records of other processes into `records` and return them; empty if there are none.

        Each process must lock the folder while it reads or appends.

        Raises:
            DamagedError: A new line is no record or does not match its checksum.
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
        for number, line in enumerate(lines, len(self.records) + 1):
            chain = self._chain.copy()
            chain.update(line[CHECKSUM_LENGTH + 1 :])
            if line[: CHECKSUM_LENGTH + 1] != chain.hexdigest()[:CHECKSUM_LENGTH].encode() + b" ":
                raise DamagedError(
                    f"{self.path}, line {number}: must match its checksum, got a changed or damaged line", number - 1
                )
            try:
                record = json.loads(line[CHECKSUM_LENGTH + 1 :])
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict):
                text = shown(line[CHECKSUM_LENGTH + 1 :].decode(errors="replace"))
                raise DamagedError(f"{self.path}, line {number}: must be an object of JSON, got {text}", number - 1)
            self.records.append(record)
            self._chain, self._size, self._last = chain, self._size + len(line) + 1, line + b"\n"
        if not self.records:
            raise ValueError(f"{self.path} must begin with a whole record, got none: restore the file or delete it")
