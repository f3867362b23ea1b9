"""Provenance of a run: sha256 of the source of every module that an agent or an environment imports.

Imports are read from the sources, wherever in a module they stand; nothing is imported for it. Modules of Python and of
installed packages are left out, except the package of the agent itself, and so are modules that only load tables, whose
content has its own sha256. Not covered: modules imported by computed names, data files of a user's agent, and what a
process changes after its imports.
"""

import ast
import functools
import hashlib
import importlib.util
import inspect
import itertools
import json
import linecache
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any
from zipimport import zipimporter

from hpo_envs import agents

LENGTH = 16
"""Hexadecimal digits kept of each sha256."""

CHOOSES = "hpo_envs.agents.transfer.auto"
"""The module of ours that makes agents by name."""

WITHOUT_NUMBERS = (
    "hpo_envs.core.figures",
    "hpo_envs.core.rendering",
    "hpo_envs.core.family",
    "hpo_envs.families.registry",
    "hpo_envs.families",
    "hpo_envs.agents",
    "hpo_envs.agents.registry",
    "hpo_envs.benchmarks",
    "hpo_envs.benchmarks.plots",
    "hpo_envs.benchmarks.runs.frame",
    "hpo_envs.benchmarks.analysis.regret",
    "hpo_envs.tables",
    "hpo_envs.tables.checks",
    "hpo_envs.tables.frames",
    "hpo_envs",
)
"""Modules that draw, make frames, check arguments or list what exists: no number of a run depends on them."""

BEHIND_A_HASH = ("hpo_envs.tables.files", "hpo_envs.tables.store", "hpo_envs.tables.catalogue", "hpo_envs.tables.user")
"""Modules that only load a table, whose content is known by its sha256."""

LOOP = ("hpo_envs.benchmarks.runs", "hpo_envs.benchmarks.runs.episodes", "hpo_envs.benchmarks.runs.pool")
"""Modules of the run loop, which count for every environment."""

MAIN = ("__main__", "__mp_main__")
"""Names of the script that runs; the latter as multiprocessing calls it."""

WHOLE, COMPILED = " (whole file)", " (compiled code)"
"""Ends of the names of digests where what a function needs could not be found."""

PACKAGES = frozenset({"site-packages", "dist-packages"})
"""Names of the folders that packages are installed in, of which there may be several."""


def of_agent(agent: str | Callable[..., Any]) -> dict[str, str]:
    """Digests by module of the code of an agent, or of any other callable.

    For a registered name, its fixed hyperparameters have a digest, too, and its weights (`data/MODULE.*` next to the
    module). For a function or class of a script or notebook, the digest is of what it needs, see `needed`; where that
    cannot be found, of the whole file, or without a source of the compiled code, and its name then ends with WHOLE or
    COMPILED.

    Args:
        agent: Registered name, `module:factory`, or a callable.
    """
    if isinstance(agent, str):
        module = agent.partition(":")[0]
        return closure((module,), module.partition(".")[0]) if ":" in agent else closure((f"agent:{agent}",))
    parts = [(_module(part), part) for part in _definitions(agent)]
    found = closure([name for name, _ in parts], parts[0][0].partition(".")[0])
    script = [part for name, part in parts if name in MAIN]
    loose = [part for name, part in parts if name not in sys.modules and _functions(part)]
    for name in MAIN:
        found.pop(name, None)
    return dict(sorted({**found, **_of_script(script), **_of_loose(loose)}.items()))


def imprecise(sources: Mapping[str, str]) -> list[str]:
    """Names of digests that cover more than what is needed: any change of that file, or of compiled code, counts."""
    return [name for name in sources if name.endswith((WHOLE, COMPILED))]


def of_environment(entry_point: str, arguments: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Digests by module of the code of an environment, and of the loop that runs agents on it.

    Args:
        entry_point: `module:Class`.
        arguments: Of the environment; functions among them count, also those named `module:function`.
    """
    found = closure((entry_point.partition(":")[0], *LOOP))
    for value in (arguments or {}).values():
        if callable(value) or (isinstance(value, str) and ":" in value):
            found |= of_agent(value)
    return found


def closure(names: Sequence[str], own: str = "") -> dict[str, str]:
    """Digests of all modules of this project or of the user that are reached by imports.

    Args:
        names: Modules, or registered agents after `agent:`.
        own: Package that counts as the user's even if it is installed.

    Returns:
        Digests by such names; files next to a module are named `module/file`.
    """
    found: dict[str, str] = {}
    todo = [*names]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        if name.startswith("agent:"):
            entry = agents.entry(name.removeprefix("agent:"))
            if entry.kwargs:
                found[name] = _digest(json.dumps(dict(entry.kwargs), sort_keys=True, default=repr).encode())
            module = entry.target.partition(":")[0]
            own = module.partition(".")[0] if entry.package else own
            todo.append(module)
        elif (path := _file(name, own)) is not None:
            state = _on_disk(path).stat()
            found[name], reached = _read(name, path, state.st_mtime_ns, state.st_size)
            todo.extend(reached)
            if name.startswith("hpo_envs.agents."):
                weights = sorted(path.parent.glob(f"data/{path.stem}.*"))
                found |= {f"{name}/data/{w.name}": _digest(w.read_bytes()) for w in weights}
    return dict(sorted(found.items()))


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


def _module(thing: Any) -> str:
    return str(getattr(thing, "__module__", None) or "")


def _functions(thing: Any) -> list[FunctionType]:
    """A function, or those of a class and of its bases in the same module."""
    if not isinstance(thing, type):
        return [thing] if inspect.isfunction(thing) else []
    classes = [c for c in thing.__mro__ if _module(c) == _module(thing)]
    return [f for c in classes for f in vars(c).values() if inspect.isfunction(f)]


def _of_script(parts: Sequence[Any]) -> dict[str, str]:
    """Digest of what functions and classes of the script or notebook that runs need."""
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
    """Digest of functions and classes without a module, such as those of `exec`."""
    text = "\n".join(_compiled(f) for part in parts for f in _functions(part))
    return {f"exec{COMPILED}": _digest(text.encode())} if parts else {}


def _cells(module: str, files: Sequence[str]) -> tuple[list[str], bool]:
    """Source of a script, or sources of the cells of a notebook, and whether it is a notebook.

    The last of these is the cell of the first file.
    """
    names = vars(sys.modules[module])
    file = str(names.get("__file__") or next(iter(files), ""))
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file, names))
    if "get_ipython" in names and isinstance(names.get("In"), list):
        return [*map(str, names["In"]), text], True
    return [text] if text else [], False


def _compiled(function: FunctionType) -> str:
    """Compiled code of a function, and of what it uses among the global names of its module."""
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


def _plain(value: Any) -> str:
    """A constant as text; the order of a set is not part of it."""
    parts = sorted(map(_plain, value)) if isinstance(value, frozenset) else None
    parts = [*map(_plain, value)] if isinstance(value, tuple) else parts
    return repr(value) if parts is None else f"{type(value).__name__}({', '.join(parts)})"


@functools.cache
def _read(name: str, path: Path, changed: int, size: int) -> tuple[str, tuple[str, ...]]:
    """Digest of a module, and the names that it imports; read again once the file has changed."""
    file = _on_disk(path)
    source = path.read_bytes() if file == path else zipimporter(str(file)).get_data(str(path))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # a compiled module
        return _digest(source), ()
    return _digest(source), tuple(sorted(set(_imports(tree, name, path))))


def _imports(tree: ast.Module, name: str, path: Path) -> Iterator[str]:
    """Names that a module imports, with the packages that contain them; they may be functions or classes."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    yield from _parents(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join(filter(None, [*parts, node.module]))
            yield from _parents(base)
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif name == CHOOSES and isinstance(node, ast.Constant) and node.value in agents.AGENTS:
            yield f"agent:{node.value}"


def _parents(name: str) -> Iterator[str]:
    """A module and the packages that contain it, which are imported before it."""
    return itertools.accumulate(name.split("."), "{}.{}".format)


@functools.cache
def _file(name: str, own: str) -> Path | None:
    """The file of a module of this project or of the user; None for all others, and for what is no module."""
    top = name.partition(".")[0]
    if name in WITHOUT_NUMBERS or name.startswith(BEHIND_A_HASH) or not top:
        return None
    if top == "hpo_envs":
        ours = Path(__file__).parents[2].joinpath(*name.split(".")[1:])
        return next((p for p in (ours.with_suffix(".py"), ours / "__init__.py") if p.is_file()), None)
    module = sys.modules.get(name)
    if getattr(module, "__spec__", None) is None and module is not None:  # a script
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
    """The spec of a module; unlike `importlib.util.find_spec`, this imports no package that contains it."""
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
