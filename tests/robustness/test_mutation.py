"""The mutation check's own parts: what it mutates exists, and what it reports adds up. It needs mutmut to run."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("module", MODULES)
def test_modules_exist_and_are_checked_once(module: str) -> None:
    assert functions(module)
    assert MODULES.count(module) == 1


def test_the_tests_that_are_to_notice_exist() -> None:
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
    function, became, _ = rows[0].split("\t")
    diff = f"--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n def f():\n-    before\n+    {became}\n"
    assert mutation.equivalent(function + "__mutmut_7", diff)
    assert not mutation.equivalent(function + "__mutmut_7", diff.replace(became, became + "0"))
    assert not mutation.equivalent("hpo_envs.core.env.x_other__mutmut_7", diff)


def test_a_sample_is_of_each_module_and_a_row_adds_up() -> None:
    names = [f"hpo_envs.{m}.x_f__mutmut_{i}" for m in ("core.env", "agents.search.bo") for i in range(9)]
    found = dict.fromkeys(names, "untested")
    assert mutation.chosen(found, None) == names
    few = mutation.chosen(found, 4)
    assert few == mutation.chosen(found, 4)
    assert [mutation.module_of(n) for n in few] == ["core/env.py"] * 4 + ["agents/search/bo.py"] * 4
    said = ("killed", "killed", "timeout", "survived", "no tests", "segfault", "untested", "untested", "untested")
    counts = mutation.count(dict(zip(names, said, strict=False)), {names[3]})
    assert mutation.row_of("env.py", counts) == f"| {'env.py':26} | 9 | 6 | 3 | 1 | 2 | 1 | 66.7% | 80.0% |"


def test_a_copy_has_folders_for_links(tmp_path: Path) -> None:
    if not (mutation.ROOT / "hpo_envs").is_dir():
        pytest.skip("the sources are not at hand: an installed package is tested")
    mutation.copy(tmp_path, "table")
    assert (tmp_path / "hpo_envs" / "tables" / "table.py").is_file()
    assert not any(p.is_symlink() for p in (tmp_path / "hpo_envs").iterdir())
    assert "only_mutate = ['hpo_envs/tables/table.py']" in (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
