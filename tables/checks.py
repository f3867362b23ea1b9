"""Checks and error messages for all layers: suggested names, values as text, missing extras, users' files."""

import contextlib
import copy
import difflib
import functools
import importlib
import math
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

BYTES = 2_000_000_000
"""Size in bytes of the largest file that is read whole by default."""


def nearest(name: str, names: Collection[str]) -> str:
    """Return `", did you mean 'x'?"` for a misspelt name, or the empty string if nothing is close.

    Names that begin with the same word (`NMTHPO-`, `nmthpo/`) are preferred; case is ignored.
    """
    by_text = {n.casefold(): n for n in names}
    text = str(name).casefold()
    family = [n for n in by_text if re.split("[-/]", n, maxsplit=1)[0] == re.split("[-/]", text, maxsplit=1)[0]]
    for pool in (family, [*by_text]):
        if close := difflib.get_close_matches(text, pool, n=1, cutoff=0.4):
            return f", did you mean {by_text[close[0]]!r}?"
    return ""


def shown(value: Any, form: Callable[[Any], str] = repr) -> str:
    """A value as text for error messages, cut to 80 characters; `<type>` if `form` fails, as for very long ints."""
    try:
        text = form(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else text[:77] + "..."


def scalar(value: Any) -> Any:
    """Convert a number of another library to a Python number; return values of Python unchanged.

    Decimals and fractions become floats; a NumPy scalar, or an array or tensor of one element, is converted by `item`.
    Masked values, times, fractions beyond the range of floats, and other objects are returned unchanged.
    """
    if isinstance(value, (Decimal, Fraction)):
        with contextlib.suppress(OverflowError, ValueError):  # of sNaN
            return float(value)
    shape, kind = getattr(value, "shape", None), getattr(getattr(value, "dtype", None), "kind", "")
    if isinstance(shape, tuple) and math.prod(shape) == 1 and kind not in ("m", "M") and not np.ma.is_masked(value):
        return value.item() if hasattr(value, "item") else float(value) if hasattr(value, "__float__") else value
    return value


def unshared(value: Any) -> Any:
    """Copy lists, tuples, dicts, sets and arrays, also inside lists, tuples and values of dicts; keep other objects."""
    if isinstance(value, dict):
        copied: Any = copy.copy(value)
        copied.update((k, unshared(v)) for k, v in value.items())
        return copied
    if type(value) in (list, tuple):
        return type(value)(map(unshared, value))
    return copy.copy(value) if isinstance(value, (list, set, np.ndarray)) else value


def read_only(values: npt.ArrayLike, dtype: type = np.float64) -> npt.NDArray[Any]:
    """A C-ordered read-only array of `dtype`; a copy unless the given array already is one."""
    array: npt.NDArray[Any] = np.asarray(values, dtype=dtype, order="C")
    if array.flags.writeable:
        array = array.copy()
        array.setflags(write=False)
    return array


def one_of(name: str, value: Any, known: Collection[str], more: str = "", listed: str = "") -> str:
    """Return a value after checking that it is one of the allowed names.

    Args:
        name: Name of the argument.
        value: The given value, of any type.
        known: The allowed values.
        more: Text after the allowed values in the message.
        listed: Text that replaces the list of allowed values in the message.

    Raises:
        ValueError: The value is not allowed; the message suggests a similar allowed one, if there is one.
    """
    if isinstance(value, str) and value in known:
        return value
    hint = nearest(value, known) if isinstance(value, str) else ""
    raise ValueError(f"{name} must be one of {listed or ', '.join(known)}{more}, got {shown(value)}{hint}")


def imported(name: str, value: str, form: str = "module:factory") -> Any:
    """Return the callable that a text such as `module:factory` names; ValueError, which names the argument, if none."""
    module, _, attribute = value.partition(":")
    try:
        found = functools.reduce(getattr, attribute.split("."), importlib.import_module(module))
    except (ImportError, AttributeError, TypeError, ValueError) as error:  # the last two: relative or empty names
        raise ValueError(f"{name} must be importable as {form}, got {value!r} ({error})") from None
    if not callable(found):
        raise ValueError(f"{name} must be importable as {form}, got {value!r}, which is not callable")
    return found


def check_bool(name: str, value: Any) -> bool:
    """Return a Boolean argument as a bool; ValueError, which names it, if it is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def extra_module(name: str, extra: str, what: str) -> Any:
    """Import and return a module of a package that an extra installs; the message says what (a plural noun) needs it.

    Raises:
        ModuleNotFoundError: The package is not installed (the message says how to install it), or importing the module
            raises a `ValueError`.
    """
    try:
        importlib.import_module(name.partition(".")[0])  # a module of it may be there from before
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        message = f'{what} need {error.name}: pip install "hpo_envs[{extra}]"'
        raise ModuleNotFoundError(message, name=error.name) from None
    except ValueError as error:  # matplotlib's, of an invalid MPLBACKEND
        raise ModuleNotFoundError(f"{what} need {name}, which fails: {error}", name=name) from None


def advice(error: BaseException) -> str:
    """Return the advice on installing or repairing a needed package from an error; empty for any other error."""
    text = str(error) if isinstance(error, ModuleNotFoundError) else ""
    return text if " need" in text else ""


def folder_of(variable: str) -> Path | None:
    """Return the folder that an environment variable names, None if unset or empty; ValueError for an unknown home."""
    given = os.environ.get(variable, "")
    try:
        if "\n" in given:
            raise RuntimeError("a newline")
        return Path(given).expanduser() if given else None
    except RuntimeError as error:  # also of ~name of nobody
        raise ValueError(f"{variable} must be a folder, got {given!r}: {error}") from None


def regular(path: Path, most: float = BYTES) -> Path:
    """Return a path after checking that it is a folder, or a regular file of at most `most` bytes.

    Raises:
        ValueError: The path is a pipe or a device, or the file is larger.
        OSError: The path does not exist.
    """
    status = path.stat()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise ValueError(f"{path} must be a regular file, got a pipe or a device")
    if status.st_size > most:
        raise ValueError(f"{path} must be at most {most} bytes, got {status.st_size}")
    return path


def utf8(source: str, content: bytes, encoding: str = "utf-8-sig") -> str:
    """Return a file's text without a byte-order mark; ValueError if it has another encoding or NUL characters."""
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(f"{source} must be UTF-8 text, got byte {error.object[error.start]:#x}") from None
    if "\0" in text:
        raise ValueError(f"{source} must be UTF-8 text without NUL characters, got one")
    return text


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, as `object_pairs_hook` of its parser; ValueError if a name is in it twice."""
    if len(found := dict(pairs)) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{shown(next(n for n in names if names.count(n) > 1))} twice in one object")
    return found


def parsed(path: Path, loads: Callable[[str], Any], what: str, read: Callable[[Path], bytes] = Path.read_bytes) -> Any:
    """Return the parsed content of a text file; `loads` is a parser such as `json.loads`, `what` the required kind.

    `read` gets the bytes of a path; `content_of` of `tables/files` also unpacks compressed files.

    Raises:
        ValueError: The path is a pipe or a device, the file is too large, or its text is not UTF-8 or not valid.
        OSError: The file cannot be read.
    """
    text = utf8(str(path), read(regular(path)))
    try:
        return loads(text)
    except RecursionError:
        raise ValueError(f"{path} must be {what}, got too many levels of nesting") from None
    except ValueError as error:
        raise ValueError(f"{path} must be {what}, got {error}") from None


@contextlib.contextmanager
def naming(path: object) -> Iterator[None]:
    """Add a path to an `OSError` that the block raises without one, for example because the disk is full."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
