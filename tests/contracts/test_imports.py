"""What imports what: no circles, no fitting script at run time, constants below everything."""

import ast
from collections.abc import Iterator, Mapping

import networkx as nx

from tests.contracts.test_sources import TREES
from tests.helpers import sources


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


def test_mixer_stands_once() -> None:
    found = [name for name, p in sources().items() if "0xBF58476D1CE4E5B9" in p.read_text(encoding="utf-8")]
    assert found == ["tables/draws.py"]
