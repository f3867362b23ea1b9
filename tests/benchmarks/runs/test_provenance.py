"""Provenance of a run: digests of the modules that are imported, read from the sources."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks.runs import provenance
from hpo_envs.families.registry import SPECS, find


def test_agent_is_its_modules_and_not_whole_package() -> None:
    one = provenance.of_agent("bo")
    assert {"hpo_envs.agents.search.bo", "hpo_envs.agents.models.kernels", "hpo_envs.agents.base"} <= one.keys()
    assert not any(name.startswith(("hpo_envs.agents.bandits", "hpo_envs.tables", "hpo_envs.core")) for name in one)
    assert provenance.of_agent(RandomSearch) == provenance.of_agent("random")
    assert all(len(digest) == provenance.LENGTH for digest in one.values())


def test_environment_is_its_engine_its_page_and_loop() -> None:
    one = provenance.of_environment(SPECS["NMTHPO-swen-v0"].vector_entry_point)
    assert {
        "hpo_envs.core.engines.lookup.batched",
        "hpo_envs.core.env",
        "hpo_envs.tables.draws",
        *provenance.LOOP,
    } <= one.keys()
    assert not any(".curves" in name or ".charhpo" in name or ".figures" in name or ".plots" in name for name in one)


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
    before = provenance.closure(("theirs.agent",))
    mine = {name for name in before if name.startswith("theirs")}
    assert mine == {"theirs", "theirs.agent", "theirs.tools", "theirs.deep"}
    assert "hpo_envs.agents.random" in before
    assert not any(name.startswith("numpy") for name in before)
    (folder / "deep.py").write_text("value = 2\n")
    os.utime(folder / "deep.py", (0, 0))
    after = provenance.closure(("theirs.agent",))
    assert {name for name in before if before[name] != after[name]} == {"theirs.deep"}


def test_what_name_fixes_and_weights_beside_module_count() -> None:
    assert provenance.of_agent("bo")["agent:bo"] != provenance.of_agent("bo-spread")["agent:bo-spread"]
    weights = {n for n in provenance.of_agent("learned") if n.startswith("hpo_envs.agents.transfer.learned/data/")}
    assert weights == {"hpo_envs.agents.transfer.learned/data/learned.json"}
    assert not any("/" in name for name in provenance.of_environment(SPECS["NMTHPO-swen-v0"].vector_entry_point))


def test_installed_agent_is_its_package_and_not_what_it_depends_on() -> None:
    found = provenance.of_agent("pytest:main")
    assert "pytest" in found
    assert not any(name.startswith("pluggy") for name in found)


def test_code_of_function_that_is_optimised_counts() -> None:
    spec = find("FunctionHPO-v0")
    assert spec is not None
    point = spec.vector_entry_point
    assert __name__ not in provenance.of_environment(point)
    for function in (
        test_installed_agent_is_its_package_and_not_what_it_depends_on,
        f"{__name__}:test_installed_agent_is_its_package_and_not_what_it_depends_on",
        Callable(),
        Callable().method,
    ):
        assert __name__ in provenance.of_environment(point, {"function": function, "budget": 3})


class Callable:
    """Something that can be called and is no function."""

    def __call__(self) -> None: ...

    def method(self) -> None: ...


SCRIPT = """
from hpo_envs.benchmarks.runs import provenance
import helper
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
    print(sorted(provenance.of_agent({function}).items()))
"""
"""Its function calls a function, which makes an object, which reads a constant."""


@pytest.mark.parametrize("function", ["train", "lambda config: train(config)"])
def test_function_of_script_is_what_it_needs(tmp_path: Path, function: str) -> None:
    """Other statements of the script may say how long it is to run."""
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


def test_looking_at_code_runs_none_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "unread" / "inner"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (folder / "agent.py").write_text("from unread.inner import tools\nraise SystemExit('imported')\n")
    (folder / "tools.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = provenance.of_agent("unread.inner.agent:Agent")
    assert list(found) == ["unread", "unread.inner", "unread.inner.agent", "unread.inner.tools"]
