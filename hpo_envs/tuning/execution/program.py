"""Programs in any language to tune: command line, score in the output or a file, memory limit, termination."""

import ast
import bisect
import contextlib
import ctypes
import hashlib
import io
import itertools
import json
import math
import os
import re
import selectors
import shlex
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hpo_envs.benchmarks.runs.provenance import imports
from hpo_envs.tables.checks import one_of, parsed, shown
from hpo_envs.tables.table import Hyperparameter, is_number

STEPS = ("step", "epoch")
"""Keys that make a line of JSON an intermediate report."""

LARGEST = 10_000_000
"""Bytes of the largest argument's file that counts as code, and number of last characters of output that are kept."""

LINGER = 1.0
"""Seconds for which the children of a program may still write to its output after it has ended."""

ENDING = 0.2
"""Seconds in which a program that should stop may end by itself."""

OPTION = re.compile(r"--?[A-Za-z][\w-]*")
"""Pattern of an argument that names an option, whose value is the next argument."""


class Program:
    """Function that runs a program, without a shell, on a configuration.

    A line of JSON with the objective and `epoch` or `step` is a report. The program is killed with its children when it
    is stopped early, when its evaluation exceeds its time limit, and when the search is interrupted.

    Args:
        command: Command line with hyperparameters in braces, `python train.py --lr {lr}`; `{trial}` is the number of
            the evaluation. An argument with an inactive hyperparameter is left out, with the option before it.
        file: JSON file with the score, deleted before the program runs; its name may have braces, too, but only of
            hyperparameters that are always active. None: no file.
        pattern: Regular expression whose last match in the output has the score as its first group, or metrics as named
            groups; None: the last line of JSON on standard output, a number or an object.
        memory: Limit of the address space in bytes, on Linux and macOS; None: no limit.

    Attributes:
        options: The arguments, by name.

    Raises:
        ValueError: The program does not exist, the pattern is invalid or has no group, the memory limit is invalid, or
            both a file and a pattern are given.
    """

    def __init__(
        self, command: str, file: str | None = None, pattern: str | None = None, memory: float | None = None
    ) -> None:
        self.__qualname__ = command
        self.options = {"command": command, "file": file, "pattern": pattern, "memory": memory}
        self._arguments, self._file, self._pattern, self._memory = shlex.split(command), file, pattern, memory
        if not self._arguments or shutil.which(self._arguments[0]) is None:
            raise ValueError(f"command must begin with a program that exists, got {command!r}")
        if memory is not None and not (is_number(memory) and 1 <= memory < 2**63):
            raise ValueError(f"memory must be None or a number of bytes from 1 to 2**63, got {shown(memory)}")
        if file is not None and pattern is not None:
            raise ValueError("score must come from a file or a pattern, got both")
        try:
            groups = pattern is None or re.compile(pattern).groups
        except re.error as error:
            raise ValueError(f"pattern must be a regular expression, got {pattern!r}: {error}") from None
        if not groups:
            raise ValueError(f"pattern must have a group that is the score, got {pattern!r}")

    def digests(self, space: Iterable[Hyperparameter]) -> dict[str, str]:
        """Return digests of files of at most `LARGEST` bytes by name: arguments, also after `=`, and Python modules.

        Modules of a script are looked for beside it, those of `-m` in this folder, its `src` and `PYTHONPATH`.

        Raises:
            ValueError: A hyperparameter is named `trial`, a name in braces is neither that nor a hyperparameter, or the
                name of the score file has a hyperparameter that may be inactive.
        """
        always = {h.name: h.condition is None for h in space if h.name}
        if "trial" in always:
            raise ValueError("hyperparameters of a command must not be named trial, the number of the evaluation")
        always["trial"] = True
        for name in (name for argument in self._arguments for name in _names(argument)):
            one_of("names in braces of command (other braces are doubled)", name, always)
        for name in _names(self._file or ""):
            known = [n for n in always if always[n]]
            one_of("names in braces of the score file", name, known, " (hyperparameters that are always active)")
        given = [part for a in self._arguments if "{" not in a for part in (a, a.partition("=")[2]) if part]
        files = dict.fromkeys(path for part in given if (path := Path(part)).is_file())
        roots = {script: script.parent for script in files if script.suffix == ".py"}
        for option, name in itertools.pairwise(self._arguments):
            for root in map(Path, ("", "src", *os.environ.get("PYTHONPATH", "").split(os.pathsep))):
                if option == "-m" and (module := _module(root, name)) is not None:
                    roots.setdefault(module, root)
        for script, root in roots.items():
            files |= dict.fromkeys(sorted(_modules(script, root, {script})))
        data = {str(f): f.read_bytes() for f in files if f.stat().st_size <= LARGEST}
        return {name: hashlib.sha256(content).hexdigest()[:16] for name, content in data.items()}

    def __call__(self, config: Mapping[str, Any], trial: Any) -> Any:
        """Run the program on a configuration; return its score or metrics, or None if it is stopped early.

        Raises:
            RuntimeError: The program failed; the message has the end of its standard error.
            TypeError: The program succeeded, but wrote no score.
            ValueError: The score file is not JSON, a match is not a number, or a report is invalid.
        """
        values = {**config, "trial": trial.number}
        file = None if self._file is None else Path(_NAMES.vformat(self._file, (), values))
        if file is not None:  # what another run left is no score of this one
            file.unlink(missing_ok=True)
        output, first = "", 1  # number of the program's first epoch
        given: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        given |= {"start_new_session": True, "preexec_fn": self._limit if os.name == "posix" else None}
        given |= {"env": {"PYTHONUNBUFFERED": "1", **os.environ}}  # reports come at once
        command = _filled(self._arguments, values)
        with tempfile.TemporaryFile() as errors:
            with subprocess.Popen(command, stderr=errors, **given) as process:  # noqa: S603 (the user's own command)
                raw: Any = _Output(process) if os.name == "posix" else process.stdout
                lines = io.TextIOWrapper(io.BufferedReader(raw), errors="replace")
                try:
                    while line := lines.readline(LARGEST):
                        output += line
                        if len(output) > 2 * LARGEST:
                            output = output[-LARGEST:]
                        first = _report(line, trial, first)
                        if trial.should_stop and not trial.complete:  # a complete one has yet to print its score
                            try:  # one whose output was buffered, and comes at its end, has trained to it
                                process.wait(ENDING)
                            except subprocess.TimeoutExpired:
                                return None
                    status = process.wait()
                finally:  # with the children in its session
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL) if os.name == "posix" else process.kill()
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - 2000))
            said = errors.read().decode(errors="replace").strip()
        if status:
            raise RuntimeError(f"exit status {status}: {said or 'nothing on standard error'}")
        return self._score(output, file)

    def _limit(self) -> None:
        """Limit the memory of the new process and, on Linux, let it end with its parent."""
        import resource

        if self._memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (int(self._memory), int(self._memory)))
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

    def _score(self, output: str, file: Path | None) -> Any:
        if file is not None:
            if not file.is_file():
                raise TypeError(f"program must write its score to {file}, got no such file")
            return parsed(file, _loads, "JSON")
        if self._pattern is not None:
            found = [*re.finditer(self._pattern, output)]
            if not found:
                raise TypeError(f"program must print a match of {self._pattern!r}, got {output[-200:]!r}")
            named = {name: float(text) for name, text in found[-1].groupdict().items() if text is not None}
            return named or float(found[-1][1])
        scores = [score for text in _documents(output) if (score := _parsed(text)) is not None]
        if not scores:
            raise TypeError(f'program must print its score as JSON, such as {{"score": 0.9}}, got {output[-200:]!r}')
        return scores[-1]


def _module(root: Path, name: str) -> Path | None:
    """Return the file of a module in a folder; None if it is elsewhere."""
    place = root.joinpath(*name.split("."))
    files = (place.with_suffix(".py"), place / "__main__.py", place / "__init__.py")
    return next((f for f in files if name and f.is_file()), None)


def _modules(script: Path, root: Path, known: set[Path]) -> set[Path]:
    """Return `known` with the modules below `root` that a Python script imports, and those that they import."""
    name = ".".join(script.relative_to(root).with_suffix("").parts)
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        for module in {_module(root, other) for other in imports(ast.parse(script.read_bytes()), name, script)}:
            if module is not None and module not in known:
                known |= _modules(module, root, known | {module})
    return known


def _documents(output: str) -> Iterator[str]:
    """Yield the lines of an output; what is between one that ends with a bracket and its end is one text."""
    lines, i = output.splitlines(), 0
    ends = [k for k, text in enumerate(lines) if text[:1] in ("}", "]")]
    while i < len(lines):
        line, later = lines[i].rstrip(), bisect.bisect_right(ends, i)
        if line[-1:] in ("{", "[") and later < len(ends):
            end = ends[later]
            yield "\n".join([line[-1], *lines[i + 1 : end], lines[end][0]])
            i = end
        else:
            yield line
        i += 1


def _parsed(line: str) -> Any:
    """Parse a line of JSON that is a number, also NaN or infinite as programs print it, or an object; else None."""
    with contextlib.suppress(ValueError):
        if not math.isfinite(value := float(line)):
            return value
    with contextlib.suppress(ValueError, RecursionError):
        value = _loads(line)
        return value if is_number(value) or isinstance(value, dict) else None
    return None


def _loads(text: str) -> Any:
    """Parse JSON; a name that is in an object twice has the list of its values, which is no score."""

    def several(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        return {k: v if names.count(k) == 1 else [w for n, w in pairs if n == k] for k, v in pairs}

    return json.loads(text, object_pairs_hook=several)


def _report(line: str, trial: Any, first: int) -> int:
    """Report to the trial if a line of JSON has its objective and a later step; return the number of the first step.

    Steps may begin with 0. A step that is not later than the last, as in a summary of the best epoch, is no report.
    """
    value = _parsed(line)
    step = next((value[key] for key in STEPS if key in value), None) if isinstance(value, dict) else None
    if not isinstance(step, int) or trial.objective not in value:
        return first
    first = first if trial.curve else min(step, 1)
    if step - first >= (trial.curve[-1][0] if trial.curve else 0):
        trial.report(value[trial.objective], step - first + 1)
    return first


class _Names(string.Formatter):
    """Formatter that takes what is in braces for one name, with any dots, brackets and digits in it."""

    def get_field(self, field_name: str, args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        """Return the value of a name, and the name."""
        return kwargs[field_name], field_name


_NAMES = _Names()


def _names(text: str) -> list[str]:
    """Return the names in braces of an argument, those within formats included."""
    try:
        found = [(name, form) for _, name, form, _ in _NAMES.parse(text) if name is not None]
    except ValueError as error:
        raise ValueError(f"braces of command must hold a name or be doubled, got {text!r}: {error}") from None
    if any(re.search(r"\d{5}", form or "") for _, form in found):  # which would fill the memory
        raise ValueError(f"braces of command must have widths and precisions below 10000, got {text!r}")
    return [n for name, form in found for n in (name, *_names(form or ""))]


def _filled(arguments: list[str], values: Mapping[str, Any]) -> list[str]:
    """Fill in the braces of arguments; leave out those with an inactive hyperparameter, and the options before them."""
    found = list[str]()
    for before, argument in zip(["", *arguments], arguments, strict=False):
        if {*_names(argument)} <= values.keys():
            found.append(_NAMES.vformat(argument, (), values))
        elif OPTION.fullmatch(before):
            found.pop()
    return found


class _Output(io.RawIOBase):
    """Output of a program, which ends at the latest `LINGER` seconds after it: children may keep it open for ever."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process, self._ended = process, math.inf
        self._selector = selectors.DefaultSelector()
        self._selector.register(process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for output, write it into `buffer`, and return the number of bytes; 0 at the end."""
        while time.monotonic() - self._ended < LINGER:
            ready = self._selector.select(0.1)
            if self._ended == math.inf and self._process.poll() is not None:
                self._ended = time.monotonic()
            if ready:
                found = os.read(self._process.stdout.fileno(), len(buffer))  # type: ignore[union-attr]
                buffer[: len(found)] = found
                return len(found)
        return 0
