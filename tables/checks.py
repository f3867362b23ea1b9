"""Helpers of all layers: names, values in errors, modules of extras, and the files that users give."""

import contextlib
import difflib
import importlib
import math
import re
import stat
from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def nearest(name: str, names: Collection[str]) -> str:
    """Return `", did you mean 'x'?"` for a misspelt name, or the empty string if nothing is close.

    Names of the same family, those that begin with the same word (`NMTHPO-`, `nmthpo/`), come first.
    """
    by_text = {n.casefold(): n for n in names}
    text = str(name).casefold()
    family = [n for n in by_text if re.split("[-/]", n, maxsplit=1)[0] == re.split("[-/]", text, maxsplit=1)[0]]
    for pool in (family, [*by_text]):
        if close := difflib.get_close_matches(text, pool, n=1, cutoff=0.4):
            return f", did you mean {by_text[close[0]]!r}?"
    return ""


def shown(value: Any) -> str:
    """A value as errors show it: of ints with thousands of digits, and of classes whose `repr` fails, the type."""
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else text[:77] + "..."


def scalar(value: Any) -> Any:
    """A number of another library as Python's; anything else as it is.

    That is a Decimal or a fraction as a float; a number, an array or a tensor of one element by its own `item`.
    """
    if isinstance(value, (Decimal, Fraction)):
        return float(value)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and math.prod(shape) == 1:
        return value.item() if hasattr(value, "item") else float(value) if hasattr(value, "__float__") else value
    return value


def read_only(values: npt.ArrayLike, dtype: type = np.float64) -> npt.NDArray[Any]:
    """A C-ordered read-only array: a copy, unless the given one is one already."""
    array: npt.NDArray[Any] = np.asarray(values, dtype=dtype, order="C")
    if array.flags.writeable:
        array = array.copy()
        array.setflags(write=False)
    return array


def one_of(name: str, value: Any, known: Collection[str], more: str = "", listed: str = "") -> str:
    """Check an argument that is a name.

    Args:
        name: Of the argument.
        value: What was given, of whatever type.
        known: What it may be.
        more: For the message, after these.
        listed: For the message, in place of a long list.

    Returns:
        `value`.

    Raises:
        ValueError: It is none of those known; the message suggests the nearest.
    """
    if isinstance(value, str) and value in known:
        return value
    hint = nearest(value, known) if isinstance(value, str) else ""
    raise ValueError(f"{name} must be one of {listed or ', '.join(known)}{more}, got {shown(value)}{hint}")


def extra_module(name: str, extra: str, what: str) -> Any:
    """Import a module of a package that comes with an extra only.

    Args:
        name: Of the module.
        extra: That brings it.
        what: For the message: what needs it, in the plural.

    Raises:
        ModuleNotFoundError: It is not installed; the message says how to install it.
    """
    try:
        importlib.import_module(name.partition(".")[0])  # a module of it may be there from before
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        message = f'{what} need {error.name}: pip install "hpo_envs[{extra}]"'
        raise ModuleNotFoundError(message, name=error.name) from None


def advice(error: BaseException) -> str:
    """Return the advice on installing a missing package from an error; empty for any other error."""
    text = str(error)
    return text if isinstance(error, ModuleNotFoundError) and "pip install" in text else ""


def regular(path: Path) -> Path:
    """Check that reading a path comes to an end.

    Raises:
        ValueError: A pipe or a device.
        OSError: There is nothing.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ValueError(f"{path} must be a regular file, got a pipe or a device")
    return path


def parsed(path: Path, loads: Callable[[str], Any], what: str, read: Callable[[Path], bytes] = Path.read_bytes) -> Any:
    """Content of a text file.

    Args:
        path: The file.
        loads: Reads its text, such as `json.loads`.
        what: For the message, what the file must be.
        read: Reads its bytes; `content_of` of `tables/files` also those of a compressed file.

    Raises:
        ValueError: The file is none, or has integers of thousands of digits.
        OSError: It cannot be read.
    """
    data = read(regular(path))
    try:
        return loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be {what}, got {error}") from None


@contextlib.contextmanager
def naming(path: object) -> Iterator[None]:
    """Name the file in errors of the system that name none, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
