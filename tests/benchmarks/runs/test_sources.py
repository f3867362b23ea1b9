"""Whose code made a run: the closure of imports, read from the source."""

from __future__ import annotations

import functools
import importlib
import os
import zipfile
from pathlib import Path

import numpy
import pytest

from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks.runs import sources
from hpo_envs.registry import SPECS, find


def test_an_agent_is_its_modules_and_not_the_whole_package() -> None:
    one = sources.of_agent("bo")
    assert {"hpo_envs.agents.search.bo", "hpo_envs.agents.models.kernels", "hpo_envs.agents.base"} <= one.keys()
    assert not any(name.startswith(("hpo_envs.agents.bandits", "hpo_envs.tables", "hpo_envs.core")) for name in one)
    assert sources.of_agent(RandomSearch) == sources.of_agent("random")
    assert all(len(digest) == sources.LENGTH for digest in one.values())


def test_an_environment_is_its_engine_its_page_and_the_loop() -> None:
    one = sources.of_environment(SPECS["NMTHPO-swen-v0"].vector_entry_point)
    assert {
        "hpo_envs.engines.lookup.batched",
        "hpo_envs.core.env",
        "hpo_envs.tables.draws",
        *sources.LOOP,
    } <= one.keys()
    assert not any(".curves" in name or ".charhpo" in name or ".figures" in name or ".plots" in name for name in one)


def test_a_users_agent_is_every_module_of_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    before = sources.closure(("theirs.agent",))
    mine = {name for name in before if name.startswith("theirs")}
    assert mine == {"theirs", "theirs.agent", "theirs.tools", "theirs.deep"}
    assert "hpo_envs.agents.random" in before
    assert not any(name.startswith("numpy") for name in before)
    (folder / "deep.py").write_text("value = 2\n")
    os.utime(folder / "deep.py", (0, 0))
    after = sources.closure(("theirs.agent",))
    assert {name for name in before if before[name] != after[name]} == {"theirs.deep"}


def test_what_a_name_fixes_and_weights_beside_a_module_count() -> None:
    assert sources.of_agent("bo")["agent:bo"] != sources.of_agent("bo-spread")["agent:bo-spread"]
    weights = {n for n in sources.of_agent("learned") if n.startswith("hpo_envs.agents.transfer.learned/data/")}
    assert weights == {"hpo_envs.agents.transfer.learned/data/learned.json"}
    assert not any("/" in name for name in sources.of_environment(SPECS["NMTHPO-swen-v0"].vector_entry_point))


AGENT = """
import hidden_deep.inner
import importlib
from hpo_envs.agents import make
from . import statistics
NAMES = ["hidden_named", ".tools:Tool", "bo", "weights.json", "numbers", "no_such_module", "../outside.json"]
PROMPT = "譯" * 100  # no name of a file: too long
def ask():
    return importlib.import_module(NAMES[0])
if __name__ == "__main__":
    ask()
"""


def test_names_in_the_text_of_a_users_module_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "hidden/__init__.py": "",
        "hidden/agent.py": AGENT,
        "hidden/statistics.py": "",
        "hidden/tools.py": "",
        "hidden/weights.json": "1",
        "hidden/numbers/one.csv": "1",
        "hidden/unused.json": "1",
        "hidden_named.py": "",
        "hidden_deep/__init__.py": "",
        "hidden_deep/inner.py": "",
        "outside.json": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = sources.of_agent("hidden.agent:Agent")
    assert {"agent:bo", "hpo_envs.agents.search.bo"} < found.keys()
    assert {name for name in found if not name.startswith(("agent:", "hpo_envs."))} == {
        "hidden",
        "hidden.agent",
        "hidden.agent/numbers/one.csv",
        "hidden.agent/weights.json",
        "hidden.statistics",
        "hidden.tools",
        "hidden_deep",
        "hidden_deep.inner",
        "hidden_named",
    }


def test_a_helper_may_have_the_name_of_a_standard_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shadows.py").write_text("import this, colorsys")
    (tmp_path / "this.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert list(sources.of_agent("shadows:Agent")) == ["shadows", "this"]


def test_an_agent_in_an_archive_or_installed_is_somebodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("packed.py", "import packed_too")
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip"))
    assert list(sources.of_agent("packed:Agent")) == ["packed"]
    assert sources.of_agent("packed:Agent")["packed"] == sources._digest((tmp_path / "packed.zip").read_bytes())
    assert "pytest" in sources.of_agent("pytest:main")
    assert not any(name.startswith("pluggy") for name in sources.of_agent("pytest:main"))


def test_packages_may_be_installed_in_several_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = tmp_path / ".local" / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "package_of_one_user.py").write_text("")
    (tmp_path / "uses_it.py").write_text("import package_of_one_user")
    monkeypatch.syspath_prepend(str(packages))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert list(sources.of_agent("uses_it:Agent")) == ["uses_it"]
    assert sources.unnamed({"uses_it": ""}, [("package_of_one_user", str(packages / "package_of_one_user.py"))]) == []


def test_a_partial_is_what_it_calls() -> None:
    assert sources.of_agent(functools.partial(RandomSearch, width=1)) == sources.of_agent("random")


def test_the_code_of_a_function_that_is_optimised_counts() -> None:
    spec = find("FunctionHPO-v0")
    assert spec is not None
    point = spec.vector_entry_point
    assert __name__ not in sources.of_environment(point)
    for function in (
        test_a_partial_is_what_it_calls,
        f"{__name__}:test_a_partial_is_what_it_calls",
        Callable(),
        Callable().method,
    ):
        assert __name__ in sources.of_environment(point, {"function": function, "budget": 3})


class Callable:
    """Something that can be called and is no function."""

    def __call__(self) -> None: ...

    def method(self) -> None: ...


def test_what_no_source_names_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "unnamed.py").write_text("import importlib\nhelper = importlib.import_module('un' + 'seen')\n")
    (tmp_path / "unseen.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("unnamed")
    found = sources.of_agent("unnamed:Agent")
    assert list(found) == ["unnamed"]
    assert sources.unnamed(found, []) == ["unseen"]
    del module.helper
    assert sources.unnamed(found, [("unseen", str(tmp_path / "unseen.py")), ("numpy", str(numpy.__file__))]) == [
        "unseen"
    ]


def test_what_is_no_module_of_anybody_is_left_out() -> None:
    assert sources.closure(("numpy", "json", "no_such_module_at_all")) == {}


def test_looking_at_code_runs_none_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "unread" / "inner"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (folder / "agent.py").write_text("from unread.inner import tools\nraise SystemExit('imported')\n")
    (folder / "tools.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = sources.of_agent("unread.inner.agent:Agent")
    assert list(found) == ["unread", "unread.inner", "unread.inner.agent", "unread.inner.tools"]
