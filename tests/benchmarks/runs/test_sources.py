"""Whose code made a run: the closure of imports, read from the source."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks.runs import sources
from hpo_envs.registry import SPECS


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
    assert not any(".curves" in name or ".charhpo" in name or ".figures" in name for name in one)


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
    assert list(found) == ["unread.inner", "unread.inner.agent", "unread.inner.tools"]
