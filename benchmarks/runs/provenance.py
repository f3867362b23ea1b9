"""Provenance of a run: sha256 of the source of every module that an agent or an environment imports.

Imports are read from the sources, wherever in a module they stand; nothing is imported for it. Modules of Python and of
installed packages are left out, except the package of the agent itself, and so are modules that only load tables, whose
content has its own sha256. Not covered: modules imported by computed names, data files of a user's agent, and what a
process changes after its imports.
"""

import ast
import dis
import functools
import hashlib
import importlib.util
import inspect
import itertools
import json
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType
from typing import Any

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

BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.ExceptHandler)
"""Statements of a script that contain others."""

PACKAGES = frozenset({"site-packages", "dist-packages"})
"""Names of the folders that packages are installed in, of which there may be several."""


def of_agent(agent: str | Callable[..., Any]) -> dict[str, str]:
    """Digests by module of the code of an agent, or of any other callable.

    For a registered name, its fixed hyperparameters have a digest, too, and its weights (`data/MODULE.*` next to the
    module). For a function or class of a script, the digest is of what it needs, not of the whole script.

    Args:
        agent: Registered name, `module:factory`, or a callable.
    """
    if isinstance(agent, str) and ":" not in agent:
        return closure((f"agent:{agent}",))
    if isinstance(agent, str):
        module = agent.partition(":")[0]
    else:
        while isinstance(agent, functools.partial):
            agent = agent.func
        known: Any = agent.__self__ if inspect.ismethod(agent) else agent
        agent = known if isinstance(known, type) or inspect.isroutine(known) else type(known)
        module = agent.__module__
    found = closure((module,), module.partition(".")[0])
    if module in ("__main__", "__mp_main__") and callable(agent):  # the latter as multiprocessing calls it
        found.pop(module, None)
        return {"__main__": _digest(_source(agent)), **found}
    return found


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
            todo.append(entry.target.partition(":")[0])
        elif (path := _file(name, own)) is not None:
            state = path.stat()
            found[name], reached = _read(name, path, state.st_mtime_ns, state.st_size)
            todo.extend(reached)
            if name.startswith("hpo_envs.agents."):
                weights = sorted(path.parent.glob(f"data/{path.stem}.*"))
                found |= {f"{name}/data/{w.name}": _digest(w.read_bytes()) for w in weights}
    return dict(sorted(found.items()))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:LENGTH]


def _source(thing: Any) -> bytes:
    """Source of a function or class of a script, and of the statements of the script that it needs.

    Compiled code where there is no source, as for classes of a notebook, and of a lambda, whose line may have more.
    """
    functions = [f for f in (vars(thing).values() if isinstance(thing, type) else [thing]) if inspect.isfunction(f)]
    codes = [f.__code__ for f in functions]
    try:
        own = repr([*map(_compiled, codes)]) if thing.__name__ == "<lambda>" else inspect.getsource(thing)
    except (OSError, TypeError):
        own = repr([*map(_compiled, codes)])
    try:
        script = ast.parse(Path(sys.modules[thing.__module__].__file__ or "").read_bytes())
    except (OSError, SyntaxError, AttributeError):
        return own.encode()
    statements = [*_statements(script.body)]
    needed, todo = set[int](), {thing.__qualname__.partition(".")[0], *(n for c in codes for n in _names(c)[1])}
    while todo:
        found = {i for i, (_, bound, _) in enumerate(statements) if not todo.isdisjoint(bound)} - needed
        needed |= found
        todo = {name for i in found for name in statements[i][2]}
    return "\n".join([own, *(statements[i][0] for i in sorted(needed))]).encode()


def _compiled(code: CodeType) -> tuple[Any, ...]:
    constants = [_compiled(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return code.co_name, code.co_code, code.co_names, constants


def _statements(body: Iterable[ast.AST]) -> Iterator[tuple[str, set[str], set[str]]]:
    """Statements of a script, those of its blocks one by one: source, global names that it binds, and that it uses."""
    for node in body:
        if isinstance(node, BLOCKS):
            yield from _statements(n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt | ast.ExceptHandler))
        elif isinstance(node, ast.stmt):
            yield ast.unparse(node), *_names(compile(ast.Module([node], []), "", "exec"))


def _names(code: CodeType) -> tuple[set[str], set[str]]:
    """Global names that code binds, and those that it or functions within it use."""
    steps = [*dis.get_instructions(code)]
    bound = {i.argval for i in steps if i.opname in ("STORE_NAME", "STORE_GLOBAL")}
    used = {i.argval for i in steps if i.opname in ("LOAD_NAME", "LOAD_GLOBAL")}
    inner = [_names(c)[1] for c in code.co_consts if isinstance(c, CodeType)]
    return bound, used.union(*inner)


@functools.cache
def _read(name: str, path: Path, changed: int, size: int) -> tuple[str, tuple[str, ...]]:
    """Digest of a module, and the names that it imports; read again once the file has changed."""
    source = path.read_bytes()
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
    return path if path and path.is_file() and (top == own or not _installed(path)) else None


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
