"""Whose code made a run: the sha256 of every module that an agent or an environment imports, not of the whole package.

Imports are read from the source, wherever in a module they stand, so that the answer does not depend on what else a
process has imported. In a user's modules, text counts, too, that names a module, a registered agent or a file beside
the module. What tables are built by is left out: the table's own sha256 says what came of it.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.util
import inspect
import itertools
import json
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import hpo_envs
from hpo_envs import agents
from hpo_envs.benchmarks.runs import loaded

LENGTH = 16
"""Hexadecimal digits kept of each sha256."""

CHOOSES = "hpo_envs.agents.transfer.auto"
"""The module of ours that makes agents by name."""

LONGEST = 200
"""Characters of a text that may name something."""

NAME = r"\.*\w+([.-]\w+)*(:[\w.]+)?"
"""What a text is that may name a module, or something in it, or an agent."""

PICTURES_AND_LISTS = (
    "hpo_envs.core.figures",
    "hpo_envs.core.recorder",
    "hpo_envs.core.rendering",
    "hpo_envs.core.family",
    "hpo_envs.registry",
    "hpo_envs.families",
    "hpo_envs.agents",
    "hpo_envs.agents.registry",
    "hpo_envs.benchmarks",
    "hpo_envs.benchmarks.plots",
    "hpo_envs.benchmarks.runs.frame",
    "hpo_envs.benchmarks.analysis.regret",
    "hpo_envs.tables.frames",
    "hpo_envs",
)
"""Modules that draw, make frames of what was run, or list what there is: no number of a run depends on them."""

LOOP = ("hpo_envs.benchmarks.runs", "hpo_envs.benchmarks.runs.episodes", "hpo_envs.benchmarks.runs.actions")
"""What every run goes through."""

PACKAGES = frozenset({"site-packages", "dist-packages"})
"""Names of the folders that packages are installed in, of which there may be several."""

BEHIND_A_HASH = ("hpo_envs.tables.files", "hpo_envs.tables.store", "hpo_envs.tables.catalogue", "hpo_envs.tables.user")
"""Modules that only bring a table here, whose content is known by its sha256."""


def of_agent(agent: str | Callable[..., Any]) -> dict[str, str]:
    """Digests by module of an agent's code; of a user's agent those of all their modules that it imports.

    A registered name has a digest of the hyperparameters that it fixes, too; a module that reads files beside it, of
    these files; what stands in a script, of the statements that it needs, and not of others that may say how long it
    is to run; what was typed into an interpreter, or has no name in its script, of its compiled code.

    Args:
        agent: Registered name, `module:factory`, or a factory; or any other callable.

    Raises:
        ValueError: A module that was imported is not what its source says now.
    """
    if isinstance(agent, str) and ":" not in agent:
        return closure((f"agent:{agent}",))
    while isinstance(agent, functools.partial):
        agent = agent.func
    if isinstance(agent, str):
        module, _, name = agent.partition(":")
    else:
        known: Any = agent.__self__ if inspect.ismethod(agent) else agent
        agent = known if isinstance(known, type) or inspect.isroutine(known) else type(known)
        module, name = agent.__module__, agent.__qualname__
    module = "__main__" if module == "__mp_main__" else module  # as multiprocessing calls it
    if module == "__main__":
        if "<" not in name and _binds(_file(module), top := name.partition(".")[0]):
            return closure((f"{module}:{top}",))
        code, named = loaded.typed(agent)
        used = [f"agent:{n}" if n in agents.AGENTS else n for n in sorted(named) if re.fullmatch(NAME, n)]
        return closure(used) | {module: _digest(code)}
    return closure((module,), frozenset({module.partition(".")[0]}))


def of_environment(entry_point: str, arguments: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Digests by module of an environment's code, and of the loop that runs agents on it.

    Args:
        entry_point: `module:Class`.
        arguments: Of the environment; the code of functions among them counts, also of those named `module:function`.
    """
    found = closure((entry_point.partition(":")[0], *LOOP))
    for value in (arguments or {}).values():
        if callable(value) or (isinstance(value, str) and ":" in value):
            found |= of_agent(value)
    return found


def closure(names: Sequence[str], theirs: frozenset[str] = frozenset()) -> dict[str, str]:
    """Digests of everything of this project, or of the user's, that is reached from some names.

    Args:
        names: Of modules; of what stands in a script, `__main__:name`; of registered agents, after `agent:`; of files
            beside modules, `module/file`.
        theirs: Packages that are the user's though they are installed.

    Returns:
        Digests by such names.
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
            continue
        module, _, beside = name.partition("/")
        path = _file(module.partition(":")[0], theirs)
        if path is None:
            continue
        path = path.parent / beside if beside else path
        state = path.stat()
        now = _read(name, path, state.st_mtime_ns, state.st_size, theirs)
        found[name], reached = loaded.as_imported(name, path, now)
        todo.extend(reached)
    return dict(sorted(found.items()))


def unnamed(found: Mapping[str, str], imported: Iterable[Sequence[str]]) -> list[str]:
    """Modules of the user's that an agent imported and that no source names.

    Args:
        found: What `of_agent` returned.
        imported: Name and file of each module that was imported meanwhile; those of which the agent's modules hold
            something are looked for here.
    """
    theirs = {name.partition(".")[0] for name in found} - {"hpo_envs"}
    files = {name: file for name, file in imported}
    for module in (sys.modules[n] for n in found if _is_users(n) and n in sys.modules):
        for value in vars(module).copy().values():
            held = value if inspect.ismodule(value) else sys.modules.get(getattr(value, "__module__", None) or "")
            # A package has whatever anybody imported of it.
            if held is None or held.__name__.startswith(f"{module.__name__}."):
                continue
            if file := getattr(held, "__file__", None):
                files[held.__name__] = file
    return sorted(
        name
        for name, file in files.items()
        if name not in found
        and (top := name.partition(".")[0]) not in ("hpo_envs", "__main__", "__mp_main__")
        and os.path.isfile(file)
        and (top in theirs or not _installed(Path(file)))
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:LENGTH]


@functools.cache
def _read(name: str, path: Path, changed: int, size: int, theirs: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """Digest of a file, and what a module names; read again once the file has changed."""
    source = path.read_bytes()
    reached: set[str] = set()
    if path.suffix == ".py" and "/" not in name:
        with contextlib.suppress(SyntaxError):  # what cannot be imported
            tree = ast.parse(source)
            module, _, needed = name.partition(":")
            if needed:
                tree = loaded.part(tree, needed)
                return _digest(ast.unparse(tree).encode()), tuple(
                    sorted(_reached(tree, module, path, theirs) - {module})
                )
            reached = _reached(tree, name, path, theirs)
            if _is_users(name):
                loaded.check_cached(name, path, source)
    return _digest(source), tuple(sorted(reached))


def _binds(path: Path | None, name: str) -> bool:
    """Whether a name is one of a script."""
    with contextlib.suppress(SyntaxError, ValueError):  # an archive, or edited since
        return path is not None and bool(loaded.part(ast.parse(path.read_bytes()), name).body)
    return False


def _is_users(name: str) -> bool:
    return name.partition(".")[0] != "hpo_envs"


def _reached(tree: ast.Module, name: str, path: Path, theirs: frozenset[str]) -> set[str]:
    """What a module names that is there."""
    named = _named(tree, name, path)
    return {n for n in named if n.startswith("agent:") or "/" in n or _file(n, theirs) is not None}


def _named(tree: ast.Module, name: str, path: Path) -> Iterator[str]:
    """What a module imports, with the packages that lie on the way; and what it names as text."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    if name == "__main__":
        package = getattr(sys.modules[name], "__package__", None) or ""
    yield from _parents(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute("." * node.level + (node.module or ""), package)
            yield from _parents(base)
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and 0 < len(node.value) <= LONGEST:
            yield from _files(node.value, name, path)
            if _is_users(name) and re.fullmatch(NAME, node.value) and node.value != "__main__":  # for `import_module`
                yield from _parents(_absolute(node.value.partition(":")[0], package))
            if (_is_users(name) or name == CHOOSES) and node.value in agents.AGENTS:  # for `agents.make`
                yield f"agent:{node.value}"


def _absolute(name: str, package: str) -> str:
    """The name of a module that is named as in a package, with a dot in front for each level."""
    inner = name.lstrip(".")
    level = len(name) - len(inner)
    parts = package.split(".")[: len(package.split(".")) - level + 1] if level else []
    return ".".join(filter(None, [*parts, inner]))


def _parents(name: str) -> Iterator[str]:
    """A module and the packages that it is in, which are imported before it."""
    return itertools.accumulate(name.split("."), "{}.{}".format)


def _files(text: str, name: str, path: Path) -> Iterator[str]:
    """Data that a module names, beside it: a file, or those in a folder."""
    if not _is_users(name) and not name.startswith("hpo_envs.agents."):
        return  # what tables are built from has its hash
    parts = Path(text).parts
    if not parts or ".." in parts or Path(text).is_absolute() or "\0" in text:
        return
    place = path.parent / text
    # Texts may be too long for names, on which pathlib raises.
    for one in sorted(place.iterdir()) if os.path.isdir(place) else [place]:
        if os.path.isfile(one) and one.suffix not in (".py", ".pyc"):
            yield f"{name}/{one.relative_to(path.parent).as_posix()}"


@functools.cache
def _file(name: str, theirs: frozenset[str] = frozenset()) -> Path | None:
    """The file of a module, if it is ours or the user's.

    Args:
        name: Of the module.
        theirs: Packages that are the user's though they are installed.
    """
    top = name.partition(".")[0]
    if name in PICTURES_AND_LISTS or name.startswith(BEHIND_A_HASH) or not top:
        return None
    if top == "hpo_envs":
        ours = Path(hpo_envs.__file__).parent.joinpath(*name.split(".")[1:])
        return next((p for p in (ours.with_suffix(".py"), ours / "__init__.py") if p.is_file()), None)
    path = _origin(name)
    return path if path and path.is_file() and (top in theirs or not _installed(path)) else None


def _origin(name: str) -> Path | None:
    """Where a module comes from: a source, a compiled module, or an archive that has it."""
    module = sys.modules.get(name)
    if getattr(module, "__spec__", None) is None and module is not None:  # a script, or made by hand
        file = getattr(module, "__file__", None)
        return Path(file) if file else None
    try:
        spec = _spec(name)
    except (ImportError, AttributeError, ValueError):  # no module: a function or a class
        return None
    if spec is None or not spec.has_location or spec.origin is None:
        return None
    return Path(getattr(spec.loader, "archive", spec.origin))


def _spec(name: str) -> ModuleSpec | None:
    """Where a module lies; unlike `importlib.util.find_spec` this imports no package that it is in."""
    top, *inner = _parents(name)
    spec = importlib.util.find_spec(top)
    for part in inner:
        if spec is None or spec.submodule_search_locations is None:
            return None
        places = spec.submodule_search_locations
        spec = next((s for finder in sys.meta_path if (s := finder.find_spec(part, places)) is not None), None)
    return spec


def _installed(path: Path) -> bool:
    """Whether a file belongs to Python or to an installed package, for all users or for one."""
    path = path.resolve()
    return not PACKAGES.isdisjoint(path.parts) or any(path.is_relative_to(folder) for folder in _folders())


@functools.cache
def _folders() -> list[Path]:
    paths = sysconfig.get_paths()
    return [Path(paths[key]).resolve() for key in ("stdlib", "platstdlib", "purelib", "platlib")]
