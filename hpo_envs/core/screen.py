"""What commands print, without what a terminal would obey: names come from files, tables and other people."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

KEPT = "\n\t"
"""Characters that are printed although they are not printable."""


def escaped(text: str) -> str:
    """Text with the escapes of `ascii` for what cannot be printed; letters of any alphabet stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in KEPT else ascii(c)[1:-1] for c in text)


class Screen:
    """A text stream whose every line is `escaped`; all else is the stream's own.

    Args:
        stream: Standard output or standard error.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes a text; a carriage return at its start is that of a progress bar."""
        bar = "\r" if text.startswith("\r") else ""
        self._stream.write(bar + escaped(text.removeprefix(bar)))
        return len(text)

    def close(self) -> None:
        """Leaves the stream open, for those who print after whoever would close it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def on() -> Iterator[None]:
    """Standard output and standard error as `Screen`s."""
    with contextlib.redirect_stdout(Screen(sys.stdout)), contextlib.redirect_stderr(Screen(sys.stderr)):
        yield
