"""The mutation check's own parts: what it mutates exists, and what it reports adds up. It needs mutmut to run."""

import ast
import importlib.util
from pathlib import Path

from tests.helpers import ROOT
from tests.robustness import mutation

MODULES = [m for modules, _ in mutation.GROUPS.values() for m in modules]


def functions(module: str) -> set[str]:
    """Names of a module's functions and methods, as mutmut writes them."""
    spec = importlib.util.find_spec("hpo_envs." + module[:-3].replace("/", "."))
    assert spec is not None
    assert spec.origin is not None
    found = set()
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(f"x_{node.name}")
        elif isinstance(node, ast.ClassDef):
            found |= {f"xǁ{node.name}ǁ{f.name}" for f in node.body if isinstance(f, ast.FunctionDef)}
    return found


def test_modules_and_tests_that_are_to_notice_exist() -> None:
    assert all(map(functions, MODULES))
    assert len(MODULES) == len(set(MODULES))
    for _, tests in mutation.GROUPS.values():
        assert all((ROOT / t).is_file() for t in tests)


def test_equivalent_mutants_are_in_functions_that_exist() -> None:
    head, *rows = mutation.EQUIVALENTS.read_text(encoding="utf-8").splitlines()
    assert head.split("\t") == ["function", "became", "why no test can see it"]
    known = {m: functions(m) for m in MODULES}
    for row in rows:
        function, became, why = row.split("\t")
        assert function.rpartition(".")[2] in known[mutation.module_of(function)], function
        assert became
        assert why
