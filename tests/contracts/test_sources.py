"""What the project's own text may not contain: imports across layers, circles of imports, and global randomness."""

import ast
import functools
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import pytest

from tests.helpers import ROOT, sources

LAYERS = ("tables", "agents", "benchmarks")
MODULES = sources()
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


@dataclass(frozen=True)
class Room:
    """A row of the tables in docs/architecture.md.

    Attributes:
        names: Paths of its modules or of its folder; `agents/*`: the modules directly in a folder.
        allowed: Rooms or layers that it may import.
    """

    names: tuple[str, ...]
    allowed: tuple[str, ...]


def rooms(page: str) -> list[Room]:
    """The rooms of the page, from the ground up."""
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| `")]
    return [Room(tuple(re.findall(r"`(.+?)`", c[0])), tuple(re.findall(r"`(.+?)`", c[2]))) for c in rows]


PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOMS = rooms(PAGE)


def inside(module: str, name: str) -> bool:
    """Whether a module, as `tables/files/cache.py`, is one that a room's name means."""
    path = module.removesuffix(".py")
    path = path if path.startswith(LAYERS) else f"hpo_envs/{path}"
    return path.rpartition("/")[0] == name[:-2] if name.endswith("/*") else f"{path}/".startswith(f"{name}/")


@functools.cache
def room_of(module: str) -> Room:
    """The room that a module is in."""
    found = [r for r in ROOMS if any(inside(module, name) for name in r.names)]
    assert len(found) == 1, f"{module} must be in one room of docs/architecture.md, is in {[r.names for r in found]}"
    return found[0]


def means(name: str, module: str) -> bool:
    """Whether a name in a room's last column lets it import a module: one of the room with that name, or below it."""
    return inside(module, name) or name in room_of(module).names


@functools.cache
def module_of(name: str) -> str:
    """The module that is imported under a dotted name, or that has it: `hpo_envs.tables.table.Table`."""
    parts = name.split(".")[1:]
    for end in range(len(parts), -1, -1):
        path = "/".join(parts[:end])
        for module in (f"{path}.py", f"{path}/__init__.py".lstrip("/")):
            if module in MODULES:
                return module
    raise AssertionError("the package has an __init__.py")


def imports(tree: ast.AST) -> Iterator[str]:
    """Dotted names of everything that a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and _name(node.func).endswith(("import_module", "__import__")):
            if node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def _name(node: ast.AST) -> str:
    """`a.b.c` of an attribute or a name, or the empty string."""
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def breaches(module: str, tree: ast.AST) -> list[str]:
    """What a module imports that it must not."""
    bad = []
    for name in imports(tree):
        top = name.split(".")[0]
        if name.startswith(".") or top in LAYERS:
            bad.append(f"{name}: import it as hpo_envs.{name.lstrip('.')}")
        elif top == "torch" and module.startswith("tables/"):
            bad.append(f"{name}: tables train nothing")
        elif top == "hpo_envs":
            room = room_of(module)
            if not any(means(n, module_of(name)) for n in (*ROOMS[0].names, *room.names, *room.allowed)):
                bad.append(f"{name}: docs/architecture.md lets {module} import {', '.join(room.allowed) or 'nothing'}")
    return bad


def globally_random(name: str, tree: ast.AST) -> list[str]:
    """Where a module draws from a global generator.

    The contract checks (`testing/`) seed these to see that nobody draws from them. Other packages draw from them:
    `agents/external/packages.py` gives each agent its own.
    """
    if name.startswith("testing/") or name == "agents/external/packages.py":
        return []
    bad = [found for found in imports(tree) if found.split(".")[0] == "random"]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            call = _name(node.func)
            if re.fullmatch(r"(np|numpy)\.random\.\w+", call) and call.split(".")[-1] not in GENERATORS:
                bad.append(f"line {node.lineno}: {call}(")
    return bad


GENERATORS = {"default_rng", "Generator", "SeedSequence", "PCG64", "Philox", "SFC64", "RandomState"}
"""Generators with a seed of their own; the last one is what other packages take."""


def test_all_modules_of_the_package_are_read() -> None:
    assert {name.split("/")[0] for name in MODULES} >= {*LAYERS, "core", "families", "commands"}
    assert len(MODULES) == len({p.resolve() for p in MODULES.values()}) > 200


def test_every_module_is_in_one_room_and_every_room_has_modules() -> None:
    full = {id(room_of(name)) for name in MODULES}  # raises where a module is in none, or in two
    assert [r.names for r in ROOMS if id(r) not in full] == []


def test_page_has_index_of_modules() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "_site" / "modules.py"))
    assert script["written"](PAGE) == PAGE, "modules or their first lines changed: run python docs/_site/modules.py"
    index = PAGE.partition("<!-- modules -->")[2]
    assert index.count("\n- `") + index.count("\n`") == sum(not m.endswith("__main__.py") for m in MODULES)


def test_rooms_import_only_those_above_them() -> None:
    above: set[str] = set()
    for room in ROOMS:
        for name in room.allowed:
            meant = {m for m in MODULES if means(name, m)}
            assert meant, f"{room.names} may import {name}, where nothing is"
            below = {m for m in meant - above if room_of(m) is not room}
            assert not below, f"{room.names} may import {name}, but these stand below it: {sorted(below)}"
        above |= {m for m in MODULES if room_of(m) is room}


def test_no_folder_has_more_than_fifteen_entries() -> None:
    none = {"__pycache__", "py.typed"}  # a marker for type checkers
    # Links are for type checkers and editors, too: what they lead to is in folders of its own. Clones may lack them.
    links = {ROOT / "hpo_envs" / layer for layer in LAYERS}
    folders = {p.parent for p in MODULES.values()}
    entries = {f: len({p.name for p in f.iterdir() if p not in links} - none) for f in folders}
    datasets = ROOT / "tables" / "datasets"
    lists = {ROOT / "hpo_envs" / "families", datasets, datasets / "textmini" / "tasks"}  # they grow with the data
    assert {folder: count for folder, count in entries.items() if count > 15 and folder not in lists} == {}


def test_layers_import_only_what_they_may() -> None:
    assert {name: bad for name in MODULES if (bad := breaches(name, TREES[name]))} == {}


def test_no_one_draws_from_global_generators() -> None:
    assert {name: bad for name in MODULES if (bad := globally_random(name, TREES[name]))} == {}


@pytest.mark.hostile
def test_commands_of_benchmarks_print_nothing_that_terminal_would_obey() -> None:
    bare = []
    for name, tree in TREES.items():
        mains = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "main"]
        if name.startswith("benchmarks") and any(isinstance(n, ast.If) for n in tree.body):
            bare += [name for m in mains if not any(ast.unparse(d) == "screen.on()" for d in m.decorator_list)]
    assert bare == []


def test_tests_use_nested_names() -> None:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        tops = {n.split(".")[0] for n in imports(ast.parse(path.read_text(encoding="utf-8")))}
        assert not tops & set(LAYERS), path


@pytest.mark.parametrize(
    "module, code",
    [
        ("registry.py", "import tables"),
        ("tables/table.py", "from . import draws"),
        ("tables/table.py", "def f():\n    from hpo_envs.core import env"),
        ("tables/table.py", "import importlib\nimportlib.import_module('hpo_envs.agents.base')"),
        ("tables/table.py", "from hpo_envs.tables import store"),
        ("tables/files/atomic.py", "import hpo_envs.tables.store"),
        ("tables/table.py", "import torch"),
        ("agents/base.py", "from hpo_envs.tables import store"),
        ("core/env.py", "from hpo_envs.core.engines.lookup.scalar import LookupEnv"),
        ("benchmarks/runs/loop.py", "from hpo_envs.benchmarks.study import store"),
    ],
)
def test_the_check_of_layers_finds_violations(module: str, code: str) -> None:
    assert breaches(module, ast.parse(code))


@pytest.mark.parametrize("code", ["import random", "np.random.rand(3)", "numpy.random.seed(0)"])
def test_the_check_of_generators_finds_violations(code: str) -> None:
    assert globally_random("tables/store.py", ast.parse(code))


def test_the_checks_accept_good_code() -> None:
    good = "import numpy as np\nfrom hpo_envs.tables import store\nrng = np.random.default_rng(0)\nrng.random()"
    assert breaches("core/loading.py", ast.parse(good)) == globally_random("core/loading.py", ast.parse(good)) == []


IMPORT = """
import json, os, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event in ("open", "os.listdir") else None)
import gymnasium, numpy
before = set(sys.modules)
opened.clear()
import hpo_envs
new = sorted({m.split(".")[0] for m in set(sys.modules) - before})
print(json.dumps({"modules": sorted({m.split(".")[0] for m in sys.modules}), "new": new, "opened": opened}))
"""


def test_importing_is_light_and_reads_no_data(tmp_path: Path) -> None:
    env = {**os.environ, "HPO_ENVS_DATA": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", IMPORT], env=env, capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    heavy = {"scipy", "sklearn", "pandas", "networkx", "matplotlib", "pooch", "requests", "tqdm", "platformdirs"}
    assert not heavy & set(seen["modules"])
    assert set(seen["new"]) - set(sys.stdlib_module_names) == {"hpo_envs"}
    source = re.compile(
        r"\.(py|so|pth|pyc(\.\d+)?)$|(dist|egg)-info/(entry_points\.txt|METADATA|PKG-INFO)$|python\d+\.zip$"
    )
    assert [f for f in seen["opened"] if not source.search(f) and not Path(f).is_dir()] == []
    assert not [f for f in seen["opened"] if f.startswith(str(tmp_path))]
    assert list(tmp_path.iterdir()) == []
    # As users have it, the folder of saved tables is platformdirs' to know; only the names in it are read.
    (tmp_path / "hpo_envs" / "tables").mkdir(parents=True)
    (tmp_path / "hpo_envs" / "tables" / "mine.npz").write_text("no table")
    env = {**env, "XDG_DATA_HOME": str(tmp_path)}
    del env["HPO_ENVS_TABLES"]
    done = subprocess.run([sys.executable, "-c", IMPORT], env=env, capture_output=True, text=True, check=True)
    own = json.loads(done.stdout)
    assert set(own["new"]) - set(sys.stdlib_module_names) == {"hpo_envs", "platformdirs"}
    assert not [f for f in own["opened"] if f.endswith("mine.npz")]


def dotted(path: str) -> str:
    """The module of a path in the package."""
    return "hpo_envs." + path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


NAMES = {dotted(path): tree for path, tree in TREES.items() if path != "__init__.py"}


def imported(tree: ast.AST, modules: Mapping[str, object]) -> Iterator[str]:
    """Modules among `modules` that a tree imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else str(node.module) for name in names]
        else:
            continue
        yield from (name for name in names if name in modules)


def circles(trees: Mapping[str, ast.AST]) -> set[frozenset[str]]:
    """Sets of modules that import each other, directly or through others."""
    graph = nx.DiGraph()
    graph.add_edges_from((m, other) for m, tree in trees.items() for other in imported(tree, trees) if other != m)
    return {frozenset(c) for c in nx.strongly_connected_components(graph) if len(c) > 1}


def is_fit(module: str) -> bool:
    """Whether a module fits what is shipped."""
    last = module.rpartition(".")[2]
    return module.startswith("hpo_envs.tables.datasets.") and (last == "fit" or last.startswith("fit_"))


def test_no_module_imports_itself_through_others() -> None:
    assert circles(NAMES) == set()


def test_only_fitting_scripts_import_fitting_scripts() -> None:
    others = [m for m in NAMES if not is_fit(m)]
    assert {m: found for m in others if (found := [n for n in imported(NAMES[m], NAMES) if is_fit(n)])} == {}


def test_the_mixer_of_draws_is_defined_once() -> None:
    found = [name for name, p in sources().items() if "0xBF58476D1CE4E5B9" in p.read_text(encoding="utf-8")]
    assert found == ["tables/draws.py"]
