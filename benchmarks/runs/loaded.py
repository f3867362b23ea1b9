"""Whether the code that runs is what its source says, which may have been edited since; and code without any source.

A digest of a source says nothing of a run if the process has imported something else.
"""

from __future__ import annotations

import builtins
import importlib.util
import sys
import types
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

PLAIN = (int, float, str, bytes, tuple, type(None))
"""Types of constants; a list or a mapping may be what an agent writes to."""

Seen = tuple[str, tuple[str, ...]]
"""The digest of a module's file, and what it names."""

_SEEN: dict[str, tuple[object, Seen]] = {}
"""By name of an imported module: its import (a new one has a new spec), and what was seen of its file then."""


def as_imported(name: str, path: Path, now: Seen) -> Seen:
    """What was seen of a module when it was imported, which its file may not say any more.

    Args:
        name: Of the module, imported or not.
        path: Its file.
        now: What is seen of it now.

    Raises:
        ValueError: The module is a user's, and its functions were not those of its file when that was first seen.
    """
    module = sys.modules.get(name)
    if module is None:
        return now
    spec = getattr(module, "__spec__", None)
    if name not in _SEEN or _SEEN[name][0] is not spec:
        if not name.startswith("hpo_envs.") and not _is_of_source(module, path):
            raise ValueError(f"{name} must be what its source says, but {path} has changed since it was imported")
        _SEEN[name] = spec, now
    return _SEEN[name][1]


def check_cached(name: str, path: Path, source: bytes) -> None:
    """Refuses bytecode that Python would take for that of a source and that is not.

    Args:
        name: Of the module.
        path: Of its source.
        source: What is in it.

    Raises:
        ValueError: Such bytecode lies beside it.
    """
    loader = SourceFileLoader(name, str(path))
    if loader.get_code(name) != loader.source_to_code(source, str(path)):
        cached = importlib.util.cache_from_source(str(path))
        raise ValueError(f"{name} must be what its source says, but {cached} is of another source; delete it")


def typed(thing: Any) -> tuple[bytes, set[str]]:
    """What a function or a class of an interpreter's session is made of, which no file has.

    Returns:
        Its compiled code with the constants, functions and classes of the session that it names; and the modules, and
        texts, in it.
    """
    parts: dict[str, bytes] = {}
    names: set[str] = set()
    todo = [(getattr(thing, "__qualname__", type(thing).__qualname__), thing)]
    session = vars(sys.modules["__main__"])
    while todo:
        name, value = todo.pop()
        if name in parts:
            continue
        if isinstance(value, types.ModuleType):
            names.add(value.__name__)
        elif not isinstance(value, type | types.FunctionType):
            parts[name] = repr(value).encode() if isinstance(value, PLAIN) else b""
            names.add(type(value).__module__)
        elif value.__module__ != "__main__":
            names.add(value.__module__)
        else:
            functions = list(_functions(value))
            parts[name] = repr([_content(f.__code__) for f in functions] + [_plain(value)]).encode()
            todo.extend((b.__qualname__, b) for b in getattr(value, "__bases__", ()))
            codes = [code for f in functions for code in _codes(f.__code__)]
            names.update(c for code in codes for c in code.co_consts if isinstance(c, str))
            used = {n for code in codes for n in code.co_names}
            todo.extend((n, session[n]) for n in used if n in session and n not in vars(builtins))
    return repr(sorted(parts.items())).encode(), names


def _is_of_source(module: types.ModuleType, path: Path) -> bool:
    """Whether all functions of a module, and of its classes, are those of a source."""
    loader = getattr(module, "__loader__", None)
    if type(loader) is not SourceFileLoader:  # others may change code
        return True
    try:
        known = set(_codes(loader.source_to_code(path.read_bytes(), str(path))))
    except (SyntaxError, ValueError):
        return False
    mine = (v for v in vars(module).values() if getattr(v, "__module__", None) == module.__name__)
    return all(f.__code__ in known for v in mine for f in _functions(v) if f.__code__.co_filename == module.__file__)


def _functions(value: Any) -> Iterator[types.FunctionType]:
    """The functions of a function, a method, a property or a class."""
    if isinstance(value, type):
        for inner in vars(value).values():
            if not isinstance(inner, type) or inner.__qualname__.startswith(f"{value.__qualname__}."):
                yield from _functions(inner)
    elif isinstance(value, types.FunctionType):
        yield value
    else:
        inside = (getattr(value, n, None) for n in ("__func__", "__wrapped__", "func", "fget", "fset", "fdel"))
        yield from (f for f in inside if isinstance(f, types.FunctionType))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)


def _content(code: types.CodeType) -> tuple[Any, ...]:
    """What a piece of code does, wherever it stands."""
    constants = [_content(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return code.co_name, code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def _plain(value: Any) -> list[str]:
    """Defaults of a function, or what a class has besides functions."""
    if isinstance(value, types.FunctionType):
        cells = [c.cell_contents for c in value.__closure__ or () if isinstance(c.cell_contents, PLAIN)]
        defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).items()]
        return [repr(x) for x in (*defaults, *cells) if isinstance(x, PLAIN)]
    return [f"{k}={v!r}" for k, v in vars(value).items() if k not in ("__module__", "__doc__") and isinstance(v, PLAIN)]
