"""Whose code made a run: the sha256 of every module that an agent or an environment imports, not of the whole package.

Imports are read from the source, wherever in a module they stand, so that the answer does not depend on what else a
process has imported. What tables are built by is left out: the table's own sha256 says what came of it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import itertools
import sys
import sysconfig
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import hpo_envs

LENGTH = 16
"""Hexadecimal digits kept of each sha256."""

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
    "hpo_envs",
)
"""Modules that draw, or list what there is: no number depends on them."""

LOOP = ("hpo_envs.benchmarks.runs", "hpo_envs.benchmarks.runs.episodes", "hpo_envs.benchmarks.runs.actions")
"""What every run goes through."""

BEHIND_A_HASH = ("hpo_envs.tables.files", "hpo_envs.tables.store", "hpo_envs.tables.catalogue", "hpo_envs.tables.user")
"""Modules that only bring a table here, whose content is known by its sha256."""


def of_agent(agent: str | Callable[..., Any]) -> dict[str, str]:
    """Digests by module of an agent's code; of a user's agent those of all their modules that it imports."""
    if isinstance(agent, str) and ":" in agent:
        module = agent.partition(":")[0]
    elif isinstance(agent, str):
        from hpo_envs import agents

        module = agents.entry(agent).target.partition(":")[0]
    else:
        module = getattr(agent, "__module__", None) or type(agent).__module__
    return closure((module,))


def of_environment(entry_point: str) -> dict[str, str]:
    """Digests by module of an environment's code, and of the loop that runs agents on it.

    Args:
        entry_point: `module:Class`.
    """
    return closure((entry_point.partition(":")[0], *LOOP))


def closure(modules: tuple[str, ...]) -> dict[str, str]:
    """Digests of modules and of everything of this project, or of the user's, that they import."""
    found: dict[str, str] = {}
    todo = [m for m in modules if _file(m) is not None]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        path = _file(name)
        assert path is not None
        state = path.stat()
        found[name], imported = _read(name, path, state.st_mtime_ns, state.st_size)
        todo.extend(m for m in imported if m not in found)
    return dict(sorted(found.items()))


@functools.cache
def _read(name: str, path: Path, changed: int, size: int) -> tuple[str, tuple[str, ...]]:
    """Digest of a module's source, and what it imports; read again once the file has changed."""
    source = path.read_bytes()
    return hashlib.sha256(source).hexdigest()[:LENGTH], tuple(_imports(source, name, path.name == "__init__.py"))


def _imports(source: bytes, name: str, package: bool) -> Iterator[str]:
    """Modules of the project or of the user that a source imports."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # it was imported, so this is no Python that ast knows
        return
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".")
                parts = parts[: len(parts) - node.level + package]
                base = ".".join([*parts, *filter(None, [base])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for found in names:
            if _file(found) is not None:
                yield found


@functools.cache
def _file(name: str) -> Path | None:
    """The source of a module, if it is ours or the user's."""
    top = name.partition(".")[0]
    if name in PICTURES_AND_LISTS or name.startswith(BEHIND_A_HASH) or top in sys.stdlib_module_names or not top:
        return None
    if top == "hpo_envs":
        ours = Path(hpo_envs.__file__).parent.joinpath(*name.split(".")[1:])
        return next((p for p in (ours.with_suffix(".py"), ours / "__init__.py") if p.is_file()), None)
    if name == "__main__":
        script = getattr(sys.modules["__main__"], "__file__", None)
        return Path(script) if script else None
    try:
        spec = _spec(name)
    except (ImportError, AttributeError, ValueError):  # no module: a function or a class
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    path = Path(spec.origin)
    return path if path.is_file() and not _installed(path) else None


def _spec(name: str) -> ModuleSpec | None:
    """Where a module lies; unlike `importlib.util.find_spec` this imports no package that it is in."""
    top, *inner = itertools.accumulate(name.split("."), "{}.{}".format)
    spec = importlib.util.find_spec(top)
    for part in inner:
        if spec is None or spec.submodule_search_locations is None:
            return None
        places = spec.submodule_search_locations
        spec = next((s for finder in sys.meta_path if (s := finder.find_spec(part, places)) is not None), None)
    return spec


def _installed(path: Path) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    return any(path.resolve().is_relative_to(folder) for folder in _folders())


@functools.cache
def _folders() -> list[Path]:
    paths = sysconfig.get_paths()
    return [Path(paths[key]).resolve() for key in ("stdlib", "platstdlib", "purelib", "platlib")]
