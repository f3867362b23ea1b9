"""Provenance of a run: number versions, and digests of outside modules, computed from their sources."""

import argparse
import ast
import dataclasses
import hashlib
import importlib
import math
import os
import py_compile
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hpo_envs.agents import AGENTS
from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks.runs import provenance
from hpo_envs.families.registry import FAMILIES, SPECS, find

VERSIONS = provenance._versions()


def test_code_of_this_package_is_known_by_its_number_versions() -> None:
    assert provenance.of_agent("bo") == ({"bo": VERSIONS["agent", "bo"]}, {})
    assert provenance.of_agent("BO_EI_M") == provenance.of_agent("bo-ei-matern52")
    assert provenance.of_agent(RandomSearch) == provenance.of_agent("random")
    assert provenance.of_agent("hpo_envs.agents.random:RandomSearch") == provenance.of_agent("random")
    assert provenance.of_environment(SPECS["NMTHPO-swen-v0"]) == ({"NMTHPO": VERSIONS["family", "NMTHPO"]}, {})
    for name, entry in AGENTS.items():
        assert all(("agent", n) in VERSIONS for n in (entry.alias_of or name, *entry.picks)), name
    assert {("family", name) for name in FAMILIES} <= VERSIONS.keys()


def test_commit_and_uncommitted_files_are_known_in_a_clone_and_record_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance.hpo_envs, "__file__", str(tmp_path / "hpo_envs" / "__init__.py"))
    suite = provenance.suite.__wrapped__
    assert suite() == {}
    (tmp_path / "hpo_envs-0.dist-info").mkdir()
    (tmp_path / "hpo_envs-0.dist-info" / "RECORD").write_text("hpo_envs/__init__.py,sha256=0,0\n")
    assert suite() == {"record": hashlib.sha256(b"hpo_envs/__init__.py,sha256=0,0\n").hexdigest()[: provenance.LENGTH]}
    said = {"rev-parse": "abc\n", "status": " M agents/a.py\n?? tables/b c.py\n"}
    monkeypatch.setattr(provenance, "_git", lambda root, command, *more: said[command])
    (tmp_path / ".git").mkdir()
    assert suite() == {"commit": "abc", "uncommitted": ["agents/a.py", "tables/b c.py"]}


def test_users_agent_is_every_module_of_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "agent.py").write_text(
        "import numpy\nfrom . import tools\nfrom hpo_envs.agents.random import RandomSearch\n"
    )
    (folder / "tools.py").write_text("def late():\n    from theirs.deep import value\n    return value\n")
    (folder / "deep.py").write_text("value = 1\n")
    (folder / "other.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    numbers, before = provenance.of_agent("theirs.agent:Agent")
    assert before.keys() == {"theirs", "theirs.agent", "theirs.tools", "theirs.deep"}
    same = (
        'def late():\n    """Late."""\n    from theirs.deep import (value)  # why\n    print(value)\n    return value\n'
    )
    (folder / "tools.py").write_text(same)
    assert provenance.of_agent("theirs.agent:Agent").outside == before
    assert numbers == provenance.of_agent("random").numbers
    (folder / "deep.py").write_text("value = 2\n")
    os.utime(folder / "deep.py", (0, 0))
    after = provenance.of_agent("theirs.agent:Agent").outside
    assert {name for name in before if before[name] != after[name]} == {"theirs.deep"}


def test_installed_agent_is_its_package_and_not_what_it_depends_on() -> None:
    found = provenance.of_agent("pytest:main").outside
    assert "pytest" in found
    assert not any(name.startswith("pluggy") for name in found)


def test_code_of_function_that_is_optimised_counts() -> None:
    spec = find("FunctionHPO-v0")
    assert spec is not None
    assert __name__ not in provenance.of_environment(spec).outside
    for function in (
        test_installed_agent_is_its_package_and_not_what_it_depends_on,
        f"{__name__}:test_installed_agent_is_its_package_and_not_what_it_depends_on",
        Callable(),
        Callable().method,
    ):
        assert __name__ in provenance.of_environment(spec, {"function": function, "budget": 3}).outside


class Callable:
    """A callable object that is not a function."""

    def __call__(self) -> None: ...

    def method(self) -> None: ...


SCRIPT = """
from hpo_envs.benchmarks.runs import provenance
import helper
for k in range(3):
    if k == 1:
        break
    continue
try:
    SCALE = {scale}
except NameError:
    SCALE = 0
class Model:
    def fit(self):
        return SCALE
def build(config):
    return Model(), config["x"] * {factor}
def train(config):
    tuned = build(config)
    return tuned[1]
def unused():
    return {unused}
if __name__ == "__main__":
    tuned = print({budget})
    print(sorted(provenance.of_agent({function}).outside.items()))
"""
"""A script whose function calls a function, which makes an object, which reads a constant."""


@pytest.mark.parametrize("function", ["train", "lambda config: train(config)"])
def test_function_of_script_is_what_it_needs(tmp_path: Path, function: str) -> None:
    """Other statements of the script, such as its budget, may change."""
    (tmp_path / "helper.py").write_text("")

    def said(**changed: int) -> dict[str, str]:
        script = tmp_path / "script.py"
        values = {"scale": 1, "factor": 1, "unused": 1, "budget": 3, **changed}
        script.write_text(SCRIPT.format(function=function, **values))
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
        return dict(ast.literal_eval(done.stdout.splitlines()[-1]))

    first = said()
    assert {"__main__", "helper"} <= first.keys()
    assert said(budget=40) == said(unused=2) == first
    for changed in ({"factor": 2}, {"scale": 2}):
        assert {n for n, digest in said(**changed).items() if first[n] != digest} == {"__main__"}


@pytest.mark.parametrize("run", ["inner.program", "inner"])
def test_program_of_package_may_import_relatively(tmp_path: Path, run: str) -> None:
    (tmp_path / "inner").mkdir()
    program = "from hpo_envs.benchmarks.runs import provenance\nfrom . import helper\ndef f(c): return helper.k\n"
    files = {"__init__": "", "helper": "k = 2", "program": program + "print(provenance.of_agent(f).outside)"}
    for name, text in (files | {"__main__": files["program"]}).items():
        (tmp_path / "inner" / f"{name}.py").write_text(text)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-m", run], env=environment, capture_output=True, text=True, check=True)
    assert {"__main__", "inner", "inner.helper"} == ast.literal_eval(done.stdout).keys()


ANYTHING = """
import ast, functools, math, operator, sys
import numpy as np
from hpo_envs.benchmarks.runs import provenance
SCALE = {scale}
def helper(c): return c in {{"a", "b", SCALE}}
def decorated(f):
    def inner(c): return f(c)
    return inner
@decorated
def train(c): return helper(c)
@functools.lru_cache
def cached(c): return helper(c)
class C:
    def __call__(self, c): return helper(c)
    def method(self, c): return helper(c)
made, module = type("made", (C,), {{}}), {{}}
exec("def alone(c): return c", module)
exec("def nowhere(c): return helper(c)")
named = lambda c: helper(c)
ours = [train, cached, C, C(), C().method, made, made(), named, lambda c: helper(c), functools.partial(max, key=helper)]
others = [nowhere, module["alone"], math.sqrt, len, np.sum, np.tanh, operator.itemgetter(1), str.upper, "x".upper, dict]
print([provenance.of_agent(thing).outside for thing in [*ours, *others]])
"""


@pytest.mark.parametrize("form", ["script", "code", "zip", "compiled"])
def test_anything_that_can_be_called_has_digests(tmp_path: Path, form: str) -> None:
    def said(scale: int, seed: str = "1") -> list[dict[str, str]]:
        script = tmp_path / f"scale_{scale}.py"
        script.write_text(ANYTHING.format(scale=scale))
        if form == "zip":
            with zipfile.ZipFile(script.with_suffix(".zip"), "w") as archive:
                archive.write(script, "__main__.py")
        if form == "compiled":
            py_compile.compile(str(script), str(script.with_suffix(".pyc")), doraise=True)
        what = {"code": ["-c", script.read_text()], "zip": [script.with_suffix(".zip")]}
        run = what.get(form, [script.with_suffix(".pyc") if form == "compiled" else script])
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, *run], env=environment, capture_output=True, text=True, check=True)
        return list(ast.literal_eval(done.stdout))

    first, changed = said(1), said(2)
    assert len(first) == 20
    assert form != "script" or said(1, "2") == first
    for k in range(10):
        (before,) = {n: d for n, d in first[k].items() if n.startswith("__main__")}.items()
        assert dict([before]).items() <= first[k].items()
        assert changed[k] != first[k], k
        # Without a source there is compiled code.
        assert (before[0] == "__main__") is (form in ("script", "zip")) or sys.version_info >= (3, 13)
    assert provenance.imprecise(first[10])
    assert [*first[11]] == ["exec (compiled code)"]
    assert first[11:] == changed[11:]


def test_modules_of_zip_archive_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def digests(value: int) -> dict[str, str]:
        with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as archive:
            archive.writestr("zipped_agent.py", "import zipped_tools\n")
            archive.writestr("zipped_tools.py", f"value = {value}\n")
        importlib.invalidate_caches()
        os.utime(tmp_path / "zipped.zip", (value, value))
        return provenance.closure(("zipped_agent",))[0]

    monkeypatch.syspath_prepend(str(tmp_path / "zipped.zip"))
    first = digests(1)
    assert [*first] == ["zipped_agent", "zipped_tools"]
    assert {n for n, d in digests(2).items() if d != first[n]} == {"zipped_tools"}


def test_looking_at_code_runs_none_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "unread" / "inner"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (folder / "agent.py").write_text("from unread.inner import tools\nraise SystemExit('imported')\n")
    (folder / "tools.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = provenance.of_agent("unread.inner.agent:Agent").outside
    assert list(found) == ["unread", "unread.inner", "unread.inner.agent", "unread.inner.tools"]


SETTINGS: Any = {"k": 2.0}


def scaled(x: float) -> float:
    return SETTINGS["k"] * x


def of_settings(config: dict[str, float]) -> float:
    return scaled(config["x"]) + math.pi


def test_globals_that_a_function_names_are_its_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = provenance.data_of(of_settings)
    assert {*before} == {"of_settings.scaled", "scaled.SETTINGS"}
    monkeypatch.setitem(SETTINGS, "k", 3.0)
    after = provenance.data_of(of_settings)
    large = np.lib.format.open_memmap(tmp_path / "large.npy", "w+", np.uint8, (2**31,))  # of holes
    monkeypatch.setitem(globals(), "SETTINGS", large)
    assert provenance.data_of(of_settings) == provenance.data_of(of_settings)
    for kind in (argparse.Namespace, SimpleNamespace, dataclasses.make_dataclass("Settings", ["k"]), Path):
        given = [kind(k=k) if kind is not Path else Path(str(k)) for k in (2.0, 3.0)]
        found = []
        for value in given:
            monkeypatch.setitem(globals(), "SETTINGS", value)
            found.append(provenance.data_of(of_settings)["scaled.SETTINGS"])
        assert found[0] != found[1]
    assert {name for name in after if after[name] != before[name]} == {"scaled.SETTINGS"}
