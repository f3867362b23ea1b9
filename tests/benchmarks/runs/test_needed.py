# ruff: noqa: E501
"""What a function of a script needs: over Python's own modules, those of packages, and generated programs."""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import re
import sysconfig
import tokenize
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpo_envs.benchmarks.runs.needed import needed
from tests.helpers import WIDE, here_and_elsewhere

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
PACKAGES = ("numpy", "scipy", "pandas", "networkx", "sklearn")
SMALL = 5000
"""Largest size in bytes of the files that are read; larger ones add nothing and take longer."""
EVERY = 1 if WIDE else 20
"""One in this many files is read."""


@functools.cache
def sources() -> list[str]:
    """Sources of modules with at least one definition, in order."""
    found = []
    library = Path(sysconfig.get_paths()["stdlib"])
    packages = [Path(importlib.util.find_spec(p).submodule_search_locations[0]) for p in PACKAGES]  # type: ignore
    files = [p for folder in (library, *packages) for p in sorted(folder.rglob("*.py"))]
    for file in files[::EVERY]:
        inside = file.relative_to(library).parts if file.is_relative_to(library) else ()
        if file.stat().st_size <= SMALL and "site-packages" not in inside and "dist-packages" not in inside:
            with contextlib.suppress(SyntaxError, UnicodeDecodeError):  # broken on purpose, to test parsers
                with tokenize.open(file) as stream:
                    source = stream.read()
                if re.search(r"^(def|class|async def) ", source, re.M) and ast.parse(source):
                    found.append(source)
    return found


def digest(source: str, name: str) -> str:
    text = needed([source], [name])
    assert text is not None
    return hashlib.sha256(text.encode()).hexdigest()


def first(source: str) -> str:
    return str(next(node.name for node in ast.parse(source).body if isinstance(node, DEFINITIONS)))


def test_modules_of_python_and_packages_have_a_digest_that_changes_with_what_is_needed() -> None:
    for source in sources():
        tree, lines, name = ast.parse(source), source.splitlines(keepends=True), first(source)
        before = digest(source, name)
        assert digest(f"# a comment\n{source}\nprint('a line')\nbudget_of_another_name = 3\n", name) == before
        functions = {n.name: n for n in tree.body if isinstance(n, DEFINITIONS)}
        inner = [*ast.walk(functions[name])][1:]
        used = {n.id for n in inner if isinstance(n, ast.Name)} & functions.keys()
        local = {n.id for n in inner if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        local |= {getattr(n, "arg", None) or n.name for n in inner if isinstance(n, (ast.arg, *DEFINITIONS))}
        changed = functions[min(used - local, default=name)].body[0]
        # A line of its own, which no decorator and no docstring stands for.
        if lines[changed.lineno - 1][: changed.col_offset].isspace():
            at = getattr(changed, "decorator_list", None) or [changed]
            lines.insert(at[0].lineno - 1, " " * changed.col_offset + "changed = 1\n")
            if "\\\n" not in lines[at[0].lineno - 2]:
                assert digest("".join(lines), name) != before, source
    assert len(sources()) >= 1000 // EVERY


_SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.benchmarks.runs.test_needed import digest, first, sources
print(*(digest(source, first(source)) for source in sources()))
"""


def test_digests_are_the_same_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = here_and_elsewhere(_SCRIPT, monkeypatch)
    assert ours == theirs


def blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    heads = [
        "for k in range(3):", "while True:", "if SCALE:", "try:", "with open('x') as f:", "class C(Base):",
        "def g(x, *, y=SCALE, **z):", "async def h(x):", "match SCALE:\n case [1, *rest] if rest:", "for k in []:",
    ]  # fmt: skip

    def block(head: str, body: list[str]) -> str:
        text = head + "".join(f"\n  {line}" for statement in body for line in statement.splitlines())
        return text + ("\nexcept* OSError as error: pass" if head == "try:" else "")

    return st.builds(block, st.sampled_from(heads), st.lists(inner, min_size=1, max_size=3))


SIMPLE = st.sampled_from([
    "break", "continue", "pass", "return", "yield", "await x", "global SCALE", "del SCALE", "x: int", "x = SCALE",
    "x += 1", "import os.path as p", "from a import b", "(y := helper(SCALE))", "[y := 1 for _ in [helper]]",
    "lambda x: x", "helper.scale = 3", "x[helper] = 1", "f'{helper!r:{SCALE}}'", "assert x", "raise x", "'text'",
])  # fmt: skip
PROGRAM = st.lists(st.recursive(SIMPLE, blocks, max_leaves=8), max_size=5).map("\n".join)


@settings(max_examples=1000 if WIDE else 60)
@given(PROGRAM)
def test_whatever_python_compiles_has_a_digest(program: str) -> None:
    script = f"SCALE = 1\ndef helper(x): return SCALE\n{program}\ndef train(c): return helper(c)\n"
    try:
        compile(script, "script", "exec")
    except SyntaxError:
        return
    before = digest(script, "train")
    assert digest(script.replace("return SCALE", "return -SCALE"), "train") != before
    assert digest(script.replace("SCALE = 1\n", "SCALE = 2\n"), "train") != before


BRANCH = "if d:\n x = 1\nelse:\n x = 2\ndef f(): return x"


@pytest.mark.parametrize(
    "before, after, same",
    [
        ("x = 3\ndef f(): return 1", "x = 4\ndef f(): return 1", True),
        ("x = 3\ndef f(): return x", "x = 4\ndef f(): return x", False),
        ("def f(x): return x\nx = 3", "def f(x): return x\nx = 4", True),
        ("def f(y=x): return y\nx = 3", "def f(y=x): return y\nx = 4", False),
        ("def f():\n global x\n return x\nx = 3", "def f():\n global x\n return x\nx = 4", False),
        ("def f(): return [x for x in y]\nx = 3", "def f(): return [x for x in y]\nx = 4", True),
        ("def f(): return [x for x in x]\nx = 3", "def f(): return [x for x in x]\nx = 4", False),
        ("d = {}\nd['a'] = 1\ndef f(): return d", "d = {}\nd['a'] = 2\ndef f(): return d", False),
        ("l = []\nl.append(1)\ndef f(): return l", "l = []\nl.append(2)\ndef f(): return l", False),
        ("import m\nm.go(1)\ndef f(): return m.x", "import m\nm.go(2)\ndef f(): return m.x", True),
        ("from m import a\ndef f(): return a", "from m import a, b\ndef f(): return a", True),
        ("from m import a\ndef f(): return a", "from n import a\ndef f(): return a", False),
        ("def f():\n 'text'\n print(1)\n return 2", "def f():\n return (2)  # two", True),
        ("def s():\n global x\n x = 1\ndef f(): return x", "def s():\n global x\n x = 2\ndef f(): return x", False),
        ("for k in [1]: pass\ndef f(): return k", "for k in [2]: pass\ndef f(): return k", False),
        ("try: x\nexcept E as e: y = e\ndef f(): return e", "try: x\nexcept D as e: y = e\ndef f(): return e", False),
        ("match a:\n case [x]: pass\ndef f(): return x", "match b:\n case [x]: pass\ndef f(): return x", False),
        ("@d(1)\ndef f(): return 1", "@d(2)\ndef f(): return 1", False),
        ("n = 1\nn += 1\ndef f(): return n", "n = 1\nn += 2\ndef f(): return n", False),
        (f"d = 1\n{BRANCH}", f"d = 0\n{BRANCH}", False),
        (BRANCH, BRANCH.replace("else:\n ", "").replace("if d:", "if not d:"), False),
        (BRANCH, BRANCH.replace("else:\n x = 2", " x = 2"), False),
        ("if 1:\n def f(): return 1", "if 0:\n def f(): return 1", False),
        ("k = []\nwhile len(k) < 3: k.append(1)\ndef f(): return k", "k = []\nwhile len(k) < 4: k.append(1)\ndef f(): return k", False),
        ("for k in range(9):\n if k == 3: break\ndef f(): return k", "for k in range(9):\n if k == 5: break\ndef f(): return k", False),
        ("m = 1\nmatch m:\n case 1: k = 1\ndef f(): return k", "m = 2\nmatch m:\n case 1: k = 1\ndef f(): return k", False),
        ("class B: k = 1\nsetattr(B, 'k', 5)\ndef f(): return B.k", "class B: k = 1\nsetattr(B, 'k', 6)\ndef f(): return B.k", False),
        ("l = []\n_ = l.append(7)\ndef f(): return l", "l = []\n_ = l.append(8)\ndef f(): return l", False),
        ("import random\nrandom.seed(0)\nk = random.random()\ndef f(): return k", "import random\nrandom.seed(1)\nk = random.random()\ndef f(): return k", False),
        ("import cfg\ncfg.lr = 1\ndef f(): return cfg.lr", "import cfg\ncfg.lr = 2\ndef f(): return cfg.lr", False),
        ("k = []\nfill(k)\ndef f(): return k", "k = []\nfill(k, 2)\ndef f(): return k", False),
        ("def f(): return 1\nt = tune(f, budget=2)", "def f(): return 1\nt = tune(f, budget=3)", True),
        ("import h\ndef f(): return h.x\nt = h.tune(f, budget=2)", "import h\ndef f(): return h.x\nt = h.tune(f, budget=3)", True),
        ("print(k := 3)\ndef f(): return k", "print(k := 4)\ndef f(): return k", False),
        ("def print(x): pass\ndef f():\n print(1)", "def print(x): pass\ndef f():\n print(2)", False),
    ],
)  # fmt: skip
def test_change_counts_where_function_needs_it(before: str, after: str, same: bool) -> None:
    assert (digest(before, "f") == digest(after, "f")) is same


def test_names_and_lambdas_that_are_nowhere_have_none() -> None:
    assert needed(["x = 1"], ["f"]) is None
    assert needed(["x = 1\nf = lambda: x"], [], [1]) is None
    assert needed([], ["f"]) is None
    assert needed(["def f(): return " + "(" * 150 + "1" + ")" * 150], ["f"]) is not None
    assert needed(["def f(): return 1" + " + 1" * 5000], ["f"]) is None  # nested too deeply
    assert needed(["def f("], ["f"]) is None


def test_notebook_is_cells_that_were_run_last() -> None:
    cells = ["x = 1", "def f(): return x", "x = 2\nl = []", "def g(): return f(), l", "l.append(1)", "l.append(1)"]
    text = needed(cells, ["g"], last=True)
    assert text == needed(["def f(): return x\nx = 2\nl = []\ndef g(): return f(), l\nl.append(1)"], ["g"])
    assert text == needed(["x = 7", *cells, "l.append(1)"], ["g"], last=True)
    assert text != needed([*cells, "x = 3"], ["g"], last=True)
