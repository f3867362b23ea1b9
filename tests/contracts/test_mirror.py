"""Given a module, its test is found by name: the tests mirror the tree, or a contract names the modules it covers."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from tests.helpers import ROOT, sources

CONTRACTS = sorted(p for name in ("contracts", "robustness", "docs") for p in (ROOT / "tests" / name).glob("test_*.py"))


def dotted(module: str) -> str:
    """The name that a file of the package is imported by."""
    return ".".join(["hpo_envs", *Path(module).with_suffix("").parts]).removesuffix(".__init__")


def mirrored(module: str) -> Path:
    """Where the test of a file of the package belongs; that of a package itself has the package's name."""
    path = Path(module)
    inside = Path() if path.parts[0] in ("agents", "benchmarks", "tables") else Path("hpo_envs")
    name = path.parent.name if path.name == "__init__.py" else path.stem
    return ROOT / "tests" / inside / path.parent / f"test_{name or 'package'}.py"


def has_code(path: Path) -> bool:
    """Whether a file defines functions: constants, records without methods and imports need no test."""
    return any(
        isinstance(node, ast.FunctionDef | ast.Lambda) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def covers(path: Path) -> tuple[str, ...]:
    """The modules that a contract promises to exercise."""
    if "\nCOVERS = " not in path.read_text(encoding="utf-8"):
        return ()
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)).COVERS


def reached(path: Path) -> set[str]:
    """Modules of the package that a test imports, by name or through a package that hands on what they define."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hpo_envs"):
            source = importlib.import_module(str(node.module))
            names.add(source.__name__)
            for alias in node.names:
                names |= {f"{node.module}.{alias.name}", getattr(getattr(source, alias.name, None), "__module__", "")}
    return names


def spelled_out(path: Path) -> set[str]:
    """The modules that stand in a contract's COVERS as such; the others are those of a registry's entries."""
    (value,) = (
        node.value
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COVERS"
    )
    return {n.value for n in ast.walk(value) if isinstance(n, ast.Constant) and isinstance(n.value, str)} & set(MODULES)


MODULES = {dotted(name): name for name, path in sources().items() if has_code(path)}
COVERED = {name for path in CONTRACTS for name in covers(path)}


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_test_of_its_name(module: str) -> None:
    test = mirrored(MODULES[module])
    found = test.is_file() or module in COVERED
    assert found, f"{module} must have {test.relative_to(ROOT)} or be in a COVERS"


@pytest.mark.parametrize("path", [p for p in CONTRACTS if covers(p)], ids=lambda p: p.stem)
def test_contracts_exercise_what_they_name(path: Path) -> None:
    assert set(covers(path)) <= set(MODULES) | {dotted(name) for name in sources()}
    assert spelled_out(path) <= reached(path)
