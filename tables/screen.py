"""Output of commands: control characters are escaped, warnings delayed until something is printed."""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from hpo_envs.tables.checks import naming

if TYPE_CHECKING:
    from multiprocessing import connection

KEPT = "\n\t"
"""Control characters that are not escaped."""


def escaped(text: str) -> str:
    """Escape unprintable characters as `ascii` does; letters of any alphabet, and `KEPT`, stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in KEPT else ascii(c)[1:-1] for c in text)


class Screen:
    """A text stream: `write` calls `before` and escapes control characters; all else but `close` is forwarded."""

    def __init__(self, stream: Any, before: Callable[[], None] = lambda: None) -> None:
        self._stream, self._before = stream, before

    def write(self, text: str) -> int:
        """Write a text and return its length.

        It is escaped except for a carriage return at its start (of a progress bar), and so are characters that the
        stream's encoding lacks.
        """
        self._before()
        bar = "\r" if text.startswith("\r") else ""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        shown = escaped(text.removeprefix(bar)).encode(encoding, "backslashreplace").decode(encoding)
        with naming(getattr(self._stream, "name", "")):
            self._stream.write(bar + shown)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream."""
        with naming(getattr(self._stream, "name", "")):
            self._stream.flush()

    def close(self) -> None:
        """Do nothing: the stream stays open for later output."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_closed() -> None:
    """Open closed standard streams on the null device, because otherwise the next file would get their numbers."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))


def relay(pipe: connection.Connection) -> threading.Thread:
    """Start and return a thread that copies a pipe to standard error, `escaped`, until all writers have closed it."""

    def show() -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        with pipe, contextlib.suppress(OSError, ValueError):  # standard error may be closed
            while data := os.read(pipe.fileno(), 1 << 16):
                Screen(sys.stderr).write(decoder.decode(data))

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def on() -> Iterator[None]:
    """Escape control characters in output, in errors, and in the traceback of an error that ends the program."""
    with contextlib.redirect_stdout(Screen(sys.stdout)), contextlib.redirect_stderr(Screen(sys.stderr)):
        try:
            yield
        except Exception:
            sys.excepthook = lambda *error: print(
                escaped("".join(traceback.format_exception(*error))), end="", file=sys.stderr
            )
            raise


@contextlib.contextmanager
def notes(note: Callable[[Warning], str | None]) -> Iterator[None]:
    """Delay warnings until something is printed or the block ends; drop them if an error comes first.

    `note` makes a line of a warning, or returns None if Python should show it at once.
    """
    held: list[str] = []

    def show(message: Warning | str, category: Any, *place: Any) -> None:
        line = note(message) if isinstance(message, Warning) else None
        if line is None:
            original(message, category, *place)
        else:
            held.append(line)

    def release() -> None:
        lines, held[:] = list(held), []
        for line in lines:
            err.write(line + "\n")

    out, err = sys.stdout, sys.stderr
    with warnings.catch_warnings():
        original = warnings.showwarning
        warnings.showwarning = show  # type: ignore[assignment]
        with contextlib.redirect_stdout(Screen(out, release)), contextlib.redirect_stderr(Screen(err, release)):
            yield
    release()
