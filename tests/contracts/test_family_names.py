"""Facts on a family are in its record and on its page; no other code uses its name as a key."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hpo_envs
from hpo_envs.families.registry import FAMILIES
from hpo_envs.testing import check_family
from tests.helpers import ROOT

FOLDERS = {family.entry_point.split(".")[2] for family in FAMILIES.values()}
COVERS = tuple(f"hpo_envs.families.{folder}" for folder in sorted(FOLDERS))
"""Records that every test in this file exercises."""

NAMES = {f.name for f in FAMILIES.values()} | {f.dataset for f in FAMILIES.values() if not f.user_levels}
# Each of these is about families that it chose: stories, tests of papers, and the agents that were trained on two.
ABOUT = (
    "docs/stories/", "hpo_envs/benchmarks/learned/", "hpo_envs/benchmarks/tasks/verdict/",
    "tests/agents/transfer/test_learned.py", "tests/benchmarks/learned/", "tests/benchmarks/papers/",
    "tests/benchmarks/tasks/verdict/", "tests/docs/test_stories.py", "tests/regression/recompute.py",
)  # fmt: skip


def sources() -> Iterator[tuple[str, Path]]:
    """Python files of package, docs and tests by path, without those of a family."""
    roots = {"hpo_envs": Path(hpo_envs.__file__).parent, "docs": ROOT / "docs", "tests": ROOT / "tests"}
    for name, root in roots.items():
        folders = [root, *(p.resolve() for p in root.iterdir() if p.is_symlink())]
        for folder in folders:
            base = Path(name) if folder == root else Path(name) / folder.name
            for path in folder.rglob("*.py"):
                label = (base / path.relative_to(folder)).as_posix()
                if not label.startswith(ABOUT) and not any(word in label for word in FOLDERS):
                    yield label, path


def named(node: ast.AST) -> set[str]:
    """Family names among the string constants of an expression."""
    values = {c.value for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
    return values & NAMES


def keyed(tree: ast.AST, *, starts: bool = True) -> Iterator[tuple[int, str]]:
    """(line, name) of family names that are keys of a dictionary, or compared with outside of an assertion.

    With `starts`, comparisons with the start of an id count; tests may choose ids by it.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Assert):
            continue
        if isinstance(node, ast.Dict):
            for key in node.keys:
                yield from ((key.lineno, name) for name in (named(key) if isinstance(key, ast.Constant) else ()))
        elif isinstance(node, ast.Compare | ast.MatchValue):
            yield from ((node.lineno, name) for name in named(node))
        elif starts and isinstance(node, ast.Call):
            yield from ((node.lineno, start) for start in _starts(node))
        yield from keyed(node, starts=starts)


def _starts(node: ast.Call) -> set[str]:
    """Starts of family names among the arguments of a call of `startswith`."""
    if not (isinstance(node.func, ast.Attribute) and node.func.attr == "startswith"):
        return set()
    values = (c.value for a in node.args for c in ast.walk(a) if isinstance(c, ast.Constant))
    prefixes = {v.rstrip("-/") for v in values if isinstance(v, str)}
    return {p for p in prefixes if len(p) > 2 and any(name.startswith(p) for name in NAMES)}


def test_nothing_is_keyed_by_name_of_family() -> None:
    files = dict(sources())
    assert len(files) > 200
    wrong = []
    for label, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        wrong += [f"{label}:{line} {name}" for line, name in keyed(tree, starts=not label.startswith("tests/"))]
    assert not wrong, f"belongs into the record of the family: {', '.join(wrong)}"


def test_records_name_known_data_sets_and_their_tables() -> None:
    from hpo_envs.tables import catalogue

    for family in FAMILIES.values():
        assert catalogue.dataset(family.dataset).name == family.dataset
        for spec in family.ids:
            assert spec.family == family.name
            if not family.example:  # candidates of a function are no table of a data set
                assert {t.partition("/")[0] for t in spec.tables} == {family.dataset}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_keeps_the_contract(family: str) -> None:
    check_family(FAMILIES[family], environments=False)
