"""One name for one thing: no type is defined twice in the package, and no constant twice in a folder."""

import ast
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.helpers import sources

CONVENTION = {
    "hpo_envs/wrappers/vector.py": r".*",  # Gymnasium: the vectorized form of a wrapper has the name of the scalar one
    "hpo_envs/commands/": "EPILOG",  # a module per command
    "hpo_envs/families/textmini/training/": "Training",  # a module per model, as in the next line
    "tables/datasets/textmini/spaces/": "[A-Z_]*",
    "tables/datasets/textmini/tasks/": "[A-Z]*",  # a module per task
    "benchmarks/papers/": "Entry|Key",  # reproductions stand alone, under the names that their papers have
}
"""Modules that share names, because each is chosen by its own name -> these names."""

Definition = tuple[str, str, str]
"""Module, name, and right-hand side: the empty string for a class."""


def definitions(module: str, tree: ast.Module) -> Iterator[Definition]:
    """Types and constants at the top level of a module, without aliases such as `Floats = tables.Floats`."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                yield module, name, ""
            case ast.Assign(targets=targets, value=value):
                pairs = [(t, value) for t in targets if isinstance(t, ast.Name)]
                for t in targets:
                    if isinstance(t, ast.Tuple) and isinstance(value, ast.Tuple):
                        pairs += [(n, v) for n, v in zip(t.elts, value.elts, strict=True) if isinstance(n, ast.Name)]
                for name, right in pairs:
                    if not (isinstance(right, ast.Attribute) and right.attr == name.id):
                        yield module, name.id, ast.unparse(right)
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                yield module, name, "" if value is None else ast.unparse(value)


def twice(found: Iterator[Definition]) -> list[str]:
    """Names of types with two definitions, and of constants with two in one folder."""
    places: dict[tuple[str, str], set[str]] = defaultdict(set)
    for module, name, _ in found:
        bare = name.strip("_")
        shared = any(module.startswith(place) and re.fullmatch(names, name) for place, names in CONVENTION.items())
        if bare[:1].isupper() and not shared:
            folder = module.rpartition("/")[0] if bare.isupper() and len(bare) > 1 else ""
            places[name, folder].add(module)
    return [f"{name}: {', '.join(sorted(m))}" for (name, _), m in sorted(places.items()) if len(m) > 1]


def paths() -> Iterator[tuple[str, ast.Module]]:
    for name, path in sources().items():
        folder = "" if name.startswith(("tables/", "agents/", "benchmarks/")) else "hpo_envs/"
        yield folder + name, ast.parse(path.read_text(encoding="utf-8"))


def test_no_type_and_no_sibling_constant_is_defined_twice() -> None:
    assert twice(itertools.chain.from_iterable(itertools.starmap(definitions, paths()))) == []


@pytest.mark.parametrize(
    "first, second, said",
    [
        ("class Run: pass", "class Run: pass", ["Run: a/one.py, a/two.py"]),
        ("class Run: pass", "Run = dict[str, int]", ["Run: a/one.py, a/two.py"]),
        ("KEYS = 1", "KEYS: int = 2", ["KEYS: a/one.py, a/two.py"]),
        ("A, KEYS = 1, 2", "KEYS = 3", ["KEYS: a/one.py, a/two.py"]),
        ("Floats = np.ndarray", "Floats = arrays.Floats", []),
        ("def run(): pass", "run = 3", []),
    ],
)
def test_definitions_are_found(first: str, second: str, said: list[str]) -> None:
    trees = [("a/one.py", ast.parse(first)), ("a/two.py", ast.parse(second))]
    assert twice(itertools.chain.from_iterable(itertools.starmap(definitions, trees))) == said
