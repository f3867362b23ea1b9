"""The test of a public module is found by its name, the tests of a package by their place."""

import ast
import importlib
from pathlib import Path

from hpo_envs.agents import AGENTS
from hpo_envs.families.registry import SPECS
from tests.contracts.test_sources import dotted
from tests.helpers import ROOT, sources

CONTRACTS = sorted(p for name in ("contracts", "robustness", "docs") for p in (ROOT / "tests" / name).glob("test_*.py"))
REFERENCE = ROOT / "docs" / "_site" / "api.py"


def mirrored(module: str) -> Path:
    """Path of the test of a module; that of a package has the package's name."""
    path = Path(module)
    inside = Path() if path.parts[0] in ("agents", "benchmarks", "tables") else Path("hpo_envs")
    name = path.parent.name if path.name == "__init__.py" else path.stem
    return ROOT / "tests" / inside / path.parent / f"test_{name or 'package'}.py"


def has_code(path: Path) -> bool:
    """Return whether a file defines functions; constants, records without methods and imports need no test."""
    return any(
        isinstance(node, ast.FunctionDef | ast.Lambda) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def covers(path: Path) -> tuple[str, ...]:
    """Modules that a contract exercises."""
    if "\nCOVERS = " not in path.read_text(encoding="utf-8"):
        return ()
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)).COVERS


def public() -> set[str]:
    """Modules of the API reference: those listed on its page, and those of the registries."""
    tree = ast.parse(REFERENCE.read_text(encoding="utf-8"))
    (groups,) = (n.value for n in tree.body if isinstance(n, ast.AnnAssign) and ast.unparse(n.target) == "GROUPS")
    listed = {n for values in ast.literal_eval(groups).values() for n in values}
    targets = [e.target for e in AGENTS.values()]
    targets += [p for s in SPECS.values() for p in (s.entry_point, s.vector_entry_point)]
    return listed | {target.partition(":")[0] for target in targets}


MODULES = {dotted(name): name for name, path in sources().items() if has_code(path)}
COVERED = {name for path in CONTRACTS for name in covers(path)}
PACKAGES = sorted({name.rpartition(".")[0] for name in MODULES})


def test_every_public_module_has_a_test_of_its_name() -> None:
    for module in sorted(public() & MODULES.keys()):
        test = mirrored(MODULES[module])
        assert test.is_file() or module in COVERED, f"{module} must have {test.relative_to(ROOT)} or be in a COVERS"


def test_every_package_has_tests_in_its_place() -> None:
    for package in PACKAGES:
        inside = [m for m in MODULES if m.rpartition(".")[0] == package]
        folder = mirrored(MODULES[inside[0]]).parent
        alone = folder.parent / f"test_{folder.name}.py"
        found = alone.is_file() or any(folder.glob("test_*.py")) or COVERED.issuperset(inside)
        assert found, f"{package} must have tests in {folder.relative_to(ROOT)}, or {alone.relative_to(ROOT)}"


def test_contracts_name_modules_that_exist() -> None:
    assert COVERED <= {dotted(name) for name in sources()}
