"""Whether the code that runs is what its source says, which may have been edited since; and code without any source.

A digest of a source says nothing of a run if the process has imported something else.
"""

from __future__ import annotations

import ast
import builtins
import collections
import contextlib
import dis
import importlib.util
import symtable
import sys
import types
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

PLAIN = (int, float, str, bytes, tuple, type(None))
"""Types of constants; a list or a mapping may be what an agent writes to."""

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

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
    module = sys.modules.get(name.partition(":")[0])
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


def part(tree: ast.Module, name: str) -> ast.Module:
    """The statements of a script that bind a name, and those that bind what these name; none where nothing does."""
    bound = collections.defaultdict(list)
    for statement in (statements := list(_statements(tree))):
        for each in _bound(statement):
            bound[each].append(statement)
    todo, needed = [name], set()
    while todo:
        for statement in bound.pop(todo.pop(), ()):
            needed.add(statement)
            todo.extend(_names(symtable.symtable(ast.unparse(statement), name, "exec")))
    return ast.Module([s for s in statements if s in needed or (needed and "*" in _bound(s))], [])


def _statements(node: ast.AST) -> Iterator[Any]:
    """The statements of a module; of those made of statements, such as `if`, these."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.stmt | ast.ExceptHandler):
            whole = isinstance(inner, DEFINITIONS) or not hasattr(inner, "body")
            yield from [inner] if whole else _statements(inner)


def _names(scope: symtable.SymbolTable) -> Iterator[str]:
    """The names that are looked for in the module, in a scope or within it."""
    yield from (s.get_name() for s in scope.get_symbols() if s.is_global())
    for inner in scope.get_children():
        yield from _names(inner)


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement binds, or whose items or attributes it sets."""
    if isinstance(statement, DEFINITIONS):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    names = set()
    for node in ast.walk(statement):
        if isinstance(getattr(node, "ctx", None), ast.Store):
            while isinstance(node, ast.Subscript | ast.Attribute):
                node = node.value
            if isinstance(node, ast.Name):
                names.add(node.id)
    return names


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
            todo.extend((getattr(v, "__qualname__", f"{name}.{k}"), v) for f in functions for k, v in _cells(f))
            codes = [code for f in functions for code in _codes(f.__code__)]
            names.update(c for code in codes for c in code.co_consts if isinstance(c, str))
            names.update(i.argval for code in codes for i in dis.get_instructions(code) if i.opname == "IMPORT_NAME")
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
        inner = [content for _, content in _cells(value)]
        defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).items()]
        return [repr(x) for x in (*defaults, *inner) if isinstance(x, PLAIN)]
    return [f"{k}={v!r}" for k, v in vars(value).items() if k not in ("__module__", "__doc__") and isinstance(v, PLAIN)]


def _cells(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function has of the one that it stands in, by name."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not set yet
            yield name, cell.cell_contents
