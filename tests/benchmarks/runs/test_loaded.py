"""Code that is not what its source says is told; code without a source is known by what it does."""

from __future__ import annotations

import functools
import importlib
import os
import py_compile
import sys
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.benchmarks.runs import loaded, sources

AGENT = """
import functools
FACTOR = 2

class Agent:
    scale = 1

    @functools.cached_property
    def size(self): return 3

    @staticmethod
    def ask(): return FACTOR
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that is not imported yet, named after the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / f"mine_{abs(hash(tmp_path)):x}.py"
    path.write_text(AGENT)
    return path


def of(path: Path) -> dict[str, str]:
    return sources.of_agent(f"{path.stem}:Agent")


@pytest.mark.parametrize(
    "change", [("= 2", "= 7"), ("scale = 1", "scale = 7"), ("return 3", "return 7"), ("return FACTOR", "return 1     ")]
)
def test_what_was_imported_counts_until_it_is_imported_again(mine: Path, change: tuple[str, str]) -> None:
    module = importlib.import_module(mine.stem)
    before = of(mine)
    mine.write_text(AGENT.replace(*change))
    os.utime(mine, (0, 0))
    assert of(mine) == before
    importlib.reload(module)
    assert of(mine) != before


def test_functions_are_compared_where_the_import_was_not_seen(mine: Path) -> None:
    module = importlib.import_module(mine.stem)
    mine.write_text(AGENT.replace("return 3", "return 7"))
    os.utime(mine, (0, 0))
    with pytest.raises(ValueError, match=f"{mine.stem} must be what its source says, but .* since it was imported"):
        of(mine)
    mine.write_text(AGENT)
    os.utime(mine, (1, 1))
    importlib.reload(module)
    of(mine)


def test_bytecode_of_another_source_is_refused(mine: Path) -> None:
    state = mine.stat()
    py_compile.compile(str(mine))
    mine.write_text(AGENT.replace("= 2", "= 7"))
    os.utime(mine, ns=(state.st_atime_ns, state.st_mtime_ns))  # as fast as an edit in the same second
    with pytest.raises(ValueError, match=r"must be what its source says, but .*\.pyc is of another source; delete it"):
        of(mine)
    os.utime(mine, (0, 0))  # Python takes no notice of it now
    of(mine)


SESSION = """
import functools, colorsys
from hpo_envs.agents.random import RandomSearch

FACTOR = 2

def helper(x, more=0, log=[]):
    log.append(x)
    return x * FACTOR + more

class Base(RandomSearch):
    limit = 3

class Agent(Base):
    def ask(self):
        return "bo-spread", "colorsys", [helper(x) for x in range(self.limit)]
"""


def typed(text: str, monkeypatch: pytest.MonkeyPatch, file: Path | None = None) -> dict[str, str]:
    """The source of an agent that is typed into an interpreter, or that stands in a script."""
    session: Any = type(sys)("__main__")
    monkeypatch.setitem(sys.modules, "__main__", session)
    sources._file.cache_clear()
    loaded._SEEN.clear()
    if file is not None:
        file.write_text(text)
        session.__file__ = str(file)
    exec(compile(text, str(file), "exec"), vars(session))
    try:
        assert sources.of_agent(functools.partial(session.Agent, 1)) == sources.of_agent(session.Agent)
        return sources.of_agent(session.Agent)
    finally:
        sources._file.cache_clear()


def test_an_agent_of_a_session_is_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = typed(SESSION, monkeypatch)
    assert {"__main__", "hpo_envs.agents.random", "agent:bo-spread"} < plain.keys()
    written = SESSION + "\nhelper(1)\n"  # what a session writes to is no constant of it
    assert typed(written, monkeypatch) == plain
    assert typed("unused = 1\n\n" + SESSION, monkeypatch) == plain
    for change in (
        ("= 2", "= 7"),
        ("x * FACTOR", "x + FACTOR"),
        ("limit = 3", "limit = 7"),
        ("more=0", "more=1"),
        ("range", "reversed"),
    ):
        assert typed(SESSION.replace(*change), monkeypatch)["__main__"] != plain["__main__"]


SCRIPT = (
    SESSION
    + """
LOOK = {"width": 3}
if True:
    LOOK["depth"] = 4

class Looks(Agent):
    def look(self, result=None):
        result = LOOK
        import colorsys
        return result

Agent = Looks
result = [Agent, "budget", 50]

def main():
    return lambda: print(result)

if __name__ == "__main__":
    main()
"""
)


def test_what_stands_in_a_script_is_the_statements_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of(text: str) -> dict[str, str]:
        return typed(text, monkeypatch, tmp_path / "script.py")

    plain = of(SCRIPT)
    assert {"__main__:Looks", "hpo_envs.agents.random", "agent:bo-spread"} < plain.keys()
    for change in (("50", "100"), ("# ", "#"), ("print", "repr"), ("import functools", "import functools, os")):
        assert of(SCRIPT.replace(*change)) == plain
    for change in (
        ("= 2", "= 7"),
        ("x * FACTOR", "x + FACTOR"),
        ('"width": 3', '"width": 7'),
        ('["depth"] = 4', "[1] = 4"),
    ):
        assert of(SCRIPT.replace(*change))["__main__:Looks"] != plain["__main__:Looks"]


def test_what_a_local_function_has_of_its_surroundings_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = """
def make(depth):
    def helper(x):
        import tomllib, hidden_in_a_function
        return x * 2
    def train(config):
        return helper(config["x"]) * depth
    return train
Agent = make(3)
"""
    (tmp_path / "hidden_in_a_function.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    plain = typed(text, monkeypatch)
    assert plain.keys() == {"__main__", "hidden_in_a_function"}
    for change in (("make(3)", "make(4)"), ("x * 2", "x * 3")):
        assert typed(text.replace(*change), monkeypatch)["__main__"] != plain["__main__"]
        assert typed(text.replace(*change), monkeypatch, tmp_path / "script.py")["__main__"] != plain["__main__"]
