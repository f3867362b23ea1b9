"""A guard for tests that feed the package what it should refuse: no crash, no hang, no flood, nothing outside.

`python tests/robustness/hostile.py --examples 20000` is the long form of tests/robustness/test_fuzz.py.
"""

import contextlib
import os
import resource
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECONDS = 90.0
"""What one input may take; machines that run tests can be very busy."""

MEGABYTES = 400.0
"""What the process may grow by over all inputs of one test, its imports and caches among them."""

FORBIDDEN = {"socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork"}
CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.rmtree"}

COUNTS: Counter[str] = Counter()
"""Inputs tried, by entry."""

REFUSED: Counter[str] = Counter()
"""How many of them were refused."""

_allowed: list[str] | None = None
_breaches: list[str] = []


LONGEST = 100_000
"""Characters of an error's message."""


class Unreadable(AssertionError):
    """An error says nothing, or floods the terminal."""


class Hang(AssertionError):
    """An input took too long."""


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _allowed is None:
        return
    if event in FORBIDDEN:
        _breaches.append(f"{event} {args!r:.200}")
    elif event == "open":
        path, mode, flags = args
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        if writes or (isinstance(mode, str) and set(mode) & set("wax+")):
            _check(event, path)
    elif event in CHANGES:
        _check(event, args[0])


def _check(event: str, path: Any) -> None:
    if isinstance(path, int) or _allowed is None:
        return
    whole = os.path.realpath(os.fsdecode(path))
    # Compiled modules are the interpreter's own business.
    if "__pycache__" not in whole and not (whole + os.sep).startswith((*_allowed, os.devnull)):
        _breaches.append(f"{event} {whole}")


sys.addaudithook(_hook)


def _out_of_time(*_: Any) -> None:
    raise Hang(f"an input must be answered within {SECONDS:g} s")


@contextlib.contextmanager
def guarded(entry: str, *folders: Path, allowed: tuple[type[BaseException], ...] = (ValueError,)) -> Iterator[None]:
    """Counts an input; lets documented errors pass, and fails for anything else that goes wrong."""
    global _allowed
    COUNTS[entry] += 1
    old = signal.signal(signal.SIGALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    _breaches.clear()
    _allowed = [os.path.realpath(f) + os.sep for f in folders]
    try:
        yield
    except allowed as error:
        REFUSED[entry] += 1
        if not 1 <= len(str(error)) < LONGEST:
            raise Unreadable(f"an error must have 1 to {LONGEST} characters, got {len(str(error))}") from error
    finally:
        _allowed = None
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
    assert not _breaches, _breaches


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Fails if the largest size that the process ever had grows by too much meanwhile."""
    before = peak()
    yield
    assert peak() - before < MEGABYTES, f"memory must stay bounded, grew by {peak() - before:.0f} MB"


def peak() -> float:
    """Largest resident size so far, in MB."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> int:
    """Runs the fuzz tests at length and prints the counts."""
    import argparse

    import pytest

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=20_000, help="inputs of each entry (default: 20000)")
    parser.add_argument("-k", default="", help="of the tests, those whose name matches")
    args = parser.parse_args()
    os.environ["HPO_ENVS_FUZZ"] = str(args.examples)
    sys.modules["hostile"] = sys.modules["__main__"]  # the tests must count in this module
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(Path(__file__).parents[2])]
        status = pytest.main([*options, "-k", args.k, str(Path(__file__).with_name("test_fuzz.py"))])
    for entry, count in sorted(COUNTS.items()):
        print(f"{entry:44} {count:9,} inputs, {REFUSED[entry]:9,} refused")
    print(f"{'all':44} {sum(COUNTS.values()):9,} inputs, {sum(REFUSED.values()):9,} refused; peak {peak():.0f} MB")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
