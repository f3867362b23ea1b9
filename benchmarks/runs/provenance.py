"""Provenance: headers of runs, number versions of this package, git commit, digests of code from outside.

A number version (`numbers.csv`) belongs to a family or to an agent; `tests/regression/digests.py record` raises it when
any recorded number changes. Code from outside has no such record: runs store a digest of the syntax of each of its
modules, without comments, docstrings and calls of `print`; of a script or notebook, only of what is needed. The
modules are found by reading import statements anywhere in the sources; nothing is imported. Modules of Python and of
installed packages are left out, except the package of the agent itself. Not covered: what code from outside uses of
`agents/models`, for which only the version of this package is stored; modules imported by computed names; data files of
a user's agent that none of its arguments names; and what a process changes after its imports.
"""

import ast
import contextlib
import dis
import functools
import hashlib
import importlib.util
import inspect
import itertools
import json
import linecache
import os
import platform
import subprocess
import sys
import sysconfig
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import date
from enum import Enum
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from pathlib import Path, PurePath
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from zipimport import zipimporter

import numpy as np

import hpo_envs
from hpo_envs import agents
from hpo_envs.agents import Agent
from hpo_envs.agents.registry import version_of
from hpo_envs.core.family import Spec
from hpo_envs.core.params import Params
from hpo_envs.tables import VERSION
from hpo_envs.tables.files import atomic

LENGTH = 16
"""Hexadecimal digits kept of each sha256."""

MAIN = ("__main__", "__mp_main__")
"""Names of the module of the running script; the second is used in processes of multiprocessing."""

WHOLE, COMPILED = " (whole file)", " (compiled code)"
"""Suffixes of the names of digests that cover a whole file, or compiled code, instead of what a function needs."""

PACKAGES = frozenset({"site-packages", "dist-packages"})
"""Names of the folders that packages are installed in, of which there may be several."""


class Code(NamedTuple):
    """The code on which the numbers of a run depend.

    Attributes:
        numbers: Number versions of this package's code, by family or agent.
        outside: Digests of modules from outside, by name. For a script or notebook, the digest is of the code that the
            function or class needs (see `needed`). If that cannot be found, it is of the whole file, or without a
            source of the compiled code, and the name ends with WHOLE or COMPILED.
    """

    numbers: dict[str, int]
    outside: dict[str, str]


def of_agent(agent: str | Callable[..., Any]) -> Code:
    """Return the code of an agent: a registered name, `module:factory`, or any callable.

    For an agent from outside, `numbers` has the agents of this package whose modules it imports.
    """
    entry = agents.entry(agent) if isinstance(agent, str) and ":" not in agent else None
    if entry is not None and not entry.package:
        return Code(_numbers("agent", (entry.alias_of or str(agent), *entry.picks)), {})
    if entry is not None or isinstance(agent, str):
        module = (entry.target if entry else str(agent)).partition(":")[0]
        outside, ours = closure((module,), module.partition(".")[0])
    else:
        parts = [(_module(part), part) for part in _definitions(agent)]
        outside, ours = closure([name for name, _ in parts], parts[0][0].partition(".")[0])
        script = [part for name, part in parts if name in MAIN]
        loose = [part for name, part in parts if name not in sys.modules and _functions(part)]
        others = {name: digest for name, digest in outside.items() if name not in MAIN}
        outside = dict(sorted({**others, **_of_script(script), **_of_loose(loose)}.items()))
    names = [name for name, e in agents.AGENTS.items() if e.target.partition(":")[0] in ours]
    return Code(_numbers("agent", names), outside)


def of_environment(spec: Spec, arguments: Mapping[str, Any] | None = None) -> Code:
    """Return the code of an environment and of functions among its arguments, also those given as `module:function`."""
    module = spec.vector_entry_point.partition(":")[0]
    outside = closure((module,))[0]
    for value in (arguments or {}).values():
        if callable(value) or (isinstance(value, str) and ":" in value):
            outside |= of_agent(value).outside
    return Code(_numbers("family", (spec.family,)), outside)


def header_of(
    params: Params,
    spec: Spec,
    env_kwargs: Mapping[str, Any],
    agent: str | Callable[..., Agent],
    hyperparameters: Mapping[str, Any],
    isolated: bool = False,
    versions: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the part of the header of runs that is known before they start, as plain JSON.

    `params` are those of an environment made with `env_kwargs`, of which the header has no `table`: its name, kind and
    sha256 are in each run. `isolated` says whether the agent runs in a separate process, and `versions` are those of
    packages if that process has the interpreter of another environment.
    """
    own, code = of_agent(agent), of_environment(spec, env_kwargs)
    files = {} if "sha256" in hyperparameters else files_of(hyperparameters)
    header = {
        "env": spec.id,
        "env_kwargs": {k: v for k, v in env_kwargs.items() if k not in ("table", "shuffle", "subsample")},
        "shuffle": bool(params.view.shuffle),
        "subsample": float(params.view.subsample),
        "budget": float(params.budget),
        "cost_unit": params.budget_unit,
        "objectives": list(params.objectives),
        "agent": agent if isinstance(agent, str) else getattr(agent, "__qualname__", None) or called(agent),
        "hyperparameters": dict(hyperparameters),
        "agent_versions": versions or (version_of(agent) if isinstance(agent, str) else {}),
        "agent_numbers": own.numbers,
        "agent_source": own.outside | {file.name: _digest(file.read_bytes()) for file in files.values()},
        "numbers": code.numbers,
        "environment_source": code.outside,
        "suite": suite(),
        "versions": {"hpo_envs": VERSION, "python": platform.python_version(), **_packages()},
    }
    if isolated:
        header["isolated"] = True
    if "function" in env_kwargs and "space" not in env_kwargs:  # a search, whose sha256 is of what its seed draws
        t = params.table
        what = [vars(part) for part in (*t.space, *t.metrics)], len(t.levels)
        header["space"] = _digest(json.dumps(what, default=str).encode())
    return dict(json.loads(json.dumps(header, default=_jsonable)))


def files_of(hyperparameters: Mapping[str, Any]) -> dict[str, Path]:
    """Return the files that arguments name, such as weights, by argument; texts without a suffix name none."""
    named = {k: Path(v) for k, v in hyperparameters.items() if isinstance(v, (str, Path)) and Path(v).suffix}
    return {k: path for k, path in named.items() if os.path.isfile(path)}


@functools.cache
def _packages() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "gymnasium", "scipy", "scikit-learn")}


def _jsonable(value: Any) -> Any:
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return called(value) if callable(value) else repr(value)


def called(thing: Callable[..., Any]) -> str:
    """Return the name of a callable in headers: `module:name`, with the fixed arguments of a `partial`."""
    if isinstance(thing, functools.partial):
        fixed = [_fixed(v) for v in thing.args] + [f"{k}={_fixed(v)}" for k, v in thing.keywords.items()]
        return f"{called(thing.func)}({', '.join(fixed)})"
    thing = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{thing.__module__}:{thing.__qualname__}"


def _fixed(value: Any) -> str:
    return called(value) if callable(value) else f"<{type(value).__name__}>" if " at 0x" in repr(value) else repr(value)


def _numbers(kind: str, names: Collection[str]) -> dict[str, int]:
    """Number versions of the named families or agents (`kind`: `family` or `agent`) that have one."""
    return {name: version for (k, name), version in _versions().items() if k == kind and name in names}


@functools.cache
def _versions() -> dict[tuple[str, str], int]:
    rows = atomic.read_csv(Path(__file__).with_name("numbers.csv"))
    return {(row["kind"], row["name"]): int(row["version"]) for row in rows}


@functools.cache
def suite() -> dict[str, Any]:
    """Return this package's Git `commit` and `uncommitted` files, or `record`: 16 digits of the sha256 of its RECORD.

    Empty if neither is available. It is stored with runs, but never compared.
    """
    root = Path(hpo_envs.__file__).resolve().parents[1]
    if (root / ".git").exists():
        try:
            commit = _git(root, "rev-parse", "HEAD").strip()
            folders = ("agents", "benchmarks", "hpo_envs", "tables")
            changed = _git(root, "status", "--porcelain", "--untracked-files=all", "--", *folders).splitlines()
        except (OSError, subprocess.SubprocessError):
            return {}
        return {"commit": commit, "uncommitted": [line[3:] for line in changed]}
    record = next(root.glob("hpo_envs-*.dist-info/RECORD"), None)
    return {} if record is None else {"record": _digest(record.read_bytes())}


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout  # noqa: S603 (our own)


def imprecise(sources: Mapping[str, str]) -> list[str]:
    """Return the names of digests that cover a whole file or compiled code, so that any change of it counts."""
    return [name for name in sources if name.endswith((WHOLE, COMPILED))]


def closure(names: Sequence[str], own: str = "") -> tuple[dict[str, str], set[str]]:
    """Return the digests by name of the user's modules among `names` and their imports, and the names of ours there.

    Ours are those of this package, whose imports are not followed. Modules of Python and of installed packages are left
    out, except those of the package `own`.
    """
    found, ours, todo = dict[str, str](), set[str](), [*names]
    while todo:
        name = todo.pop()
        if name.partition(".")[0] == "hpo_envs":
            ours.add(name)
        elif name not in found and (path := _file(name, own)) is not None:
            state = _on_disk(path).stat()
            found[name], reached = _read(name, path, state.st_mtime_ns, state.st_size)
            todo.extend(reached)
    return dict(sorted(found.items())), ours


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:LENGTH]


def _definitions(thing: Any) -> list[Any]:
    """The function or class of a callable, then those that it wraps, closes over or is given as fixed arguments."""
    todo, found = [thing], dict[int, Any]()
    while todo:
        part = todo.pop()
        if isinstance(part, functools.partial):
            todo += [*filter(callable, (*part.args, *part.keywords.values())), part.func]
            continue
        part = part.__self__ if inspect.ismethod(part) else part
        known = part if isinstance(part, type) or inspect.isroutine(part) else type(part)
        if id(known) in found:
            continue
        found[id(known)] = known
        cells = [c.cell_contents for c in getattr(known, "__closure__", None) or () if c != CellType()]
        todo += [c for c in cells if isinstance(c, (type, functools.partial)) or inspect.isroutine(c)]
        if callable(wrapped := inspect.getattr_static(part, "__wrapped__", None)):
            todo.append(wrapped)
    return [*found.values()]


ENTRIES, SAMPLED = 1_000_000, 1_000
"""Most entries of an array or list, and ten times the rows of a table, that are all compared; size of a sample."""


def data_of(function: Callable[..., Any]) -> dict[str, str]:
    """Return the digests of a function's data by name: of globals, closures, defaults, fixed arguments, attributes.

    They tell a search that resumes with other data, of which the code is the same. Numbers, texts, arrays, tables, and
    collections of these count by value, from a sample if they are large, other objects only by type.
    """
    todo: list[Any] = [function]
    named: dict[str, Any] = {}
    while todo:
        part = todo.pop()
        if inspect.ismethod(part):
            todo += [part.__func__, part.__self__]
            continue
        if isinstance(part, functools.partial):
            todo.append(part.func)
            values = {str(place): value for place, value in enumerate(part.args)} | part.keywords
        elif inspect.isfunction(part):
            cells = zip(part.__code__.co_freevars, part.__closure__ or (), strict=True)
            values = {name: cell.cell_contents for name, cell in cells if cell != CellType()}
            parameters = inspect.signature(part, follow_wrapped=False).parameters
            values |= {name: p.default for name, p in parameters.items() if p.default is not p.empty}
            values |= _globals(part)
        else:
            values = {} if isinstance(part, type) else getattr(part, "__dict__", {})
        owner = getattr(part, "__name__", type(part).__name__)
        for name, value in values.items():
            label = f"{owner}.{name}"
            if isinstance(value, functools.partial) or inspect.isroutine(value):
                if label not in named:  # functions may close over themselves
                    todo.append(value)
                value = ""
            named.setdefault(label, value)
    found = dict[str, str]()
    for name, value in sorted(named.items()):
        with contextlib.suppress(Exception):  # of a user's object, or of one that contains itself
            found[name] = _digest(_plain(value).encode())
    return found


def _globals(function: FunctionType) -> dict[str, Any]:
    """Return the globals that a function names and does not assign, without modules, classes, others' functions."""
    codes = [function.__code__]
    for code in codes:  # which grows
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    own = {i.argval for code in codes for i in dis.get_instructions(code) if i.opname == "STORE_GLOBAL"}
    names = {name: function.__globals__.get(name) for code in codes for name in code.co_names if name not in own}
    return {
        name: value
        for name, value in names.items()
        if value is not None and not isinstance(value, (ModuleType, type))
        and (not inspect.isroutine(value) or _module(value) == function.__module__)
    }  # fmt: skip


def _module(thing: Any) -> str:
    return str(getattr(thing, "__module__", None) or "")


def _functions(thing: Any) -> list[FunctionType]:
    """The function itself, or the functions of a class and of its bases in the same module; none for other objects."""
    if not isinstance(thing, type):
        return [thing] if inspect.isfunction(thing) else []
    classes = [c for c in thing.__mro__ if _module(c) == _module(thing)]
    return [f for c in classes for f in vars(c).values() if inspect.isfunction(f)]


def _of_script(parts: Sequence[Any]) -> dict[str, str]:
    """Digest by name of the code that parts of the running script or notebook need; empty without parts."""
    if not parts:
        return {}
    from hpo_envs.benchmarks.runs.needed import needed  # few runs are of a script's own code

    functions = [f for part in parts for f in _functions(part)]
    cells, last = _cells(_module(parts[0]), [f.__code__.co_filename for f in functions])
    tops = {part.__qualname__.partition(".")[0] for part in parts}
    lines = {f.__code__.co_firstlineno for f in functions if f.__qualname__.startswith("<lambda>")}
    text = needed(cells, tops - {"<lambda>"}, lines, last)
    if text is not None:
        return {MAIN[0]: _digest(text.encode())}
    return {
        f"{MAIN[0]}{WHOLE if cells else COMPILED}": _digest("\n".join([*cells, *map(_compiled, functions)]).encode())
    }


def _of_loose(parts: Sequence[Any]) -> dict[str, str]:
    """Digest by name of functions and classes without a module, such as those of `exec`; empty without any."""
    text = "\n".join(_compiled(f) for part in parts for f in _functions(part))
    return {f"exec{COMPILED}": _digest(text.encode())} if parts else {}


def _cells(module: str, files: Sequence[str]) -> tuple[list[str], bool]:
    """Source of a script, empty if unknown, or of the cells of a notebook; and whether it is a notebook."""
    names = vars(sys.modules[module])
    file = str(names.get("__file__") or next(iter(files), ""))
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file, names))
    if "get_ipython" in names and isinstance(names.get("In"), list):
        return [*map(str, names["In"]), text], True
    return [text] if text else [], False


def _compiled(function: FunctionType) -> str:
    """Compiled code of a function, and of the globals of its module that it uses."""
    todo, names, found = [function.__code__], set[str](), list[Any]()
    while todo:
        code = todo.pop()
        inner = [c for c in code.co_consts if isinstance(c, CodeType)]
        plain = [_plain(c) for c in code.co_consts if not isinstance(c, CodeType)]
        found.append((code.co_name, code.co_code, code.co_names, plain))
        todo += inner
        for name in (n for n in code.co_names if n not in names and n in function.__globals__):
            names.add(name)
            value = function.__globals__[name]
            if _module(value) == _module(function):
                todo += [f.__code__ for f in _functions(value)]
            elif isinstance(value, bool | int | float | str | tuple | frozenset | None):
                found.append((name, _plain(value)))
    return repr(found)


def _some(size: int, most: int) -> Any:
    """Return the indices of an even sample of `SAMPLED` of more than `most` entries; None for fewer."""
    return None if size <= most else np.linspace(0, size - 1, SAMPLED).astype(np.intp)


def _plain(value: Any) -> str:
    """Data as text, without the order of sets; arrays as digests, records by their fields, other objects by type."""
    kind = type(value).__name__
    exact = bool, int, float, complex, str, bytes, type(None), type(...), np.generic, PurePath, Enum, date
    if isinstance(value, exact):
        return repr(value)
    if isinstance(value, (Namespace, SimpleNamespace)) or (is_dataclass(value) and not isinstance(value, type)):
        return f"{kind}({_plain(vars(value))})"
    if isinstance(value, np.ndarray):
        shape, some = value.shape, _some(value.size, ENTRIES)
        value = value if some is None else value[np.unravel_index(some, shape)]  # also if it is larger than the memory
        if value.dtype.kind == "O":
            return f"{kind}({_plain(value.tolist())})"
        return f"{value.dtype}{shape}{_digest(np.ascontiguousarray(value).tobytes())}"
    if hasattr(value, "to_numpy") and not isinstance(value, type):  # a table
        rows = _some(len(value), ENTRIES // 10) if hasattr(value, "iloc") else None
        part = value if rows is None else value.iloc[rows]
        return f"{kind}({len(value)}, {_plain(part.to_numpy())}, {_plain([*getattr(value, 'columns', ())])})"
    if not isinstance(value, (set, frozenset, tuple, list, dict)):
        return kind
    if isinstance(value, (tuple, list)) and (some := _some(len(value), ENTRIES)) is not None:
        value = [len(value), *(value[i] for i in some)]
    parts = [f"{_plain(k)}: {_plain(v)}" for k, v in value.items()] if isinstance(value, dict) else map(_plain, value)
    return f"{kind}({', '.join(sorted(parts) if isinstance(value, (set, frozenset)) else parts)})"


@functools.cache
def _read(name: str, path: Path, changed: int, size: int) -> tuple[str, tuple[str, ...]]:
    """Return the digest of a module and the sorted names that it imports; cached until the file changes."""
    file = _on_disk(path)
    source = path.read_bytes() if file == path else zipimporter(str(file)).get_data(str(path))
    from hpo_envs.benchmarks.runs.needed import syntax  # few runs are of code from outside

    try:
        names = tuple(sorted(set(imports(ast.parse(source), name, path))))
        return _digest(syntax(source).encode()), names
    except (SyntaxError, ValueError, RecursionError):  # a compiled module
        return _digest(source), ()


def imports(tree: ast.Module, name: str, path: Path) -> Iterator[str]:
    """Names that a module imports, with the packages that contain them; they may be functions or classes."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    if name in MAIN:  # of a program begun by `python -m`, which may import relatively
        package = vars(sys.modules[name])["__package__"] or ""
    yield from _parents(package or name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join(filter(None, [*parts, node.module]))
            yield from _parents(base)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _parents(name: str) -> Iterator[str]:
    """The packages that contain a module, outermost first, which are imported before it; then the module."""
    return itertools.accumulate(name.split("."), "{}.{}".format)


@functools.cache
def _file(name: str, own: str) -> Path | None:
    """The file of a user's module; None for any other name."""
    top = name.partition(".")[0]
    if not top:
        return None
    module = sys.modules.get(name)
    if module is not None and getattr(module, "__spec__", None) is None:  # a script
        file = getattr(module, "__file__", None)
    else:
        try:
            spec = _spec(name)
        except (ImportError, AttributeError, ValueError):  # no module: a function or a class
            return None
        file = spec.origin if spec is not None and spec.has_location else None
    path = Path(file) if file else None
    return path if path and _on_disk(path).is_file() and (top == own or not _installed(path)) else None


def _on_disk(path: Path) -> Path:
    """The file of a module, or the zip archive that contains it."""
    return next((p for p in (path, *path.parents) if p.is_file()), path)


def _spec(name: str) -> ModuleSpec | None:
    """Return the spec of a module, or None; unlike `importlib.util.find_spec`, import no package that contains it."""
    top, *inner = _parents(name)
    spec = importlib.util.find_spec(top)
    for part in inner:
        if spec is None or spec.submodule_search_locations is None:
            return None
        places = spec.submodule_search_locations
        spec = next((s for finder in sys.meta_path if (s := finder.find_spec(part, places)) is not None), None)
    return spec


def _installed(path: Path) -> bool:
    """Return whether a file belongs to Python or to an installed package, for all users or for one."""
    path = path.resolve()
    return not PACKAGES.isdisjoint(path.parts) or any(path.is_relative_to(folder) for folder in _folders())


@functools.cache
def _folders() -> list[Path]:
    paths = sysconfig.get_paths()
    return [Path(paths[key]).resolve() for key in ("stdlib", "platstdlib", "purelib", "platlib")]
