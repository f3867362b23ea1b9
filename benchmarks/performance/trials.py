"""What the trials of this folder share as commands: options with defaults, a temporary folder, an exit status."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol


class Result(Protocol):
    """What came of a trial."""

    @property
    def good(self) -> bool:
        """Whether nothing went wrong."""


def parser(text: str | None, **options: tuple[Any, str]) -> argparse.ArgumentParser:
    """A parser of options, each with its default, which gives its type, and what it is."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, (default, meaning) in options.items():
        made.add_argument(f"--{name}", type=type(default), default=default, help=f"{meaning} (default: %(default)s)")
    return made


def conduct(trial: Callable[..., Result], **arguments: Any) -> int:
    """Makes a trial in a folder that is removed afterwards and prints what came of it; 1 if anything went wrong.

    SIGTERM ends it as Ctrl-C does: with everything that it has started.
    """
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory() as folder:
        result = trial(Path(folder), **arguments)
    print(result)
    return 0 if result.good else 1
