"""Agents, tables and families of other packages, by entry points; the example plugin as its readers install it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT

PLUGIN = ROOT / "docs" / "examples" / "plugin"

POINTS = {
    "hpo_envs.agents": {"best-neighbour": "hpo_envs_example:BestNeighbour", "broken": "no_such_module:Agent",
                        "exits": "broken_plugin:Agent", "anywhere": "kinds:Anywhere", "nowhere": "kinds:Nowhere",
                        "bo": "kinds:Anywhere", "all": "kinds:Anywhere"},
    "hpo_envs.families": {"Neighbours-v0": "hpo_envs_example:FAMILY", "Broken-v0": "hpo_envs_example:BestNeighbour"},
    "hpo_envs.tables": {"iris-neighbours": "hpo_envs_example:neighbours_of_iris", "nothing": "builtins:dict",
                        "wrong": "math:sqrt", "ends": "sys:exit"},
}  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as an installer leaves it, with some broken entry points added."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(PLUGIN / "hpo_envs_example.py", folder)
    (folder / "broken_plugin.py").write_text("raise SystemExit(7)")
    kinds = "from hpo_envs import Agent\nclass Anywhere(Agent): pass\nclass Nowhere(Agent): supports = ('row',)\n"
    (folder / "kinds.py").write_text(kinds)
    info = folder / "hpo_envs_example-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hpo-envs-example\nVersion: 0.1\n")
    lines = (f"[{group}]\n" + "".join(f"{n} = {t}\n" for n, t in points.items()) for group, points in POINTS.items())
    (info / "entry_points.txt").write_text("\n".join(lines))
    return folder


def ran(site: Path, program: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, cwd=site)


PASSES = """
import sys
import gymnasium as gym
import hpo_envs
from hpo_envs import agents
from hpo_envs.families import registry
from hpo_envs.testing import check_agent, check_env, check_family, check_table

assert "hpo_envs_example" not in sys.modules and "no_such_module" not in sys.modules
assert "best-neighbour" in agents.names()
env = gym.make("Neighbours-v0")
env.reset(seed=0)
assert env.step(3)[1] > 0.9
assert gym.make_vec("Neighbours-v0", num_envs=3).num_envs == 3
assert gym.make("TableHPO-iris-neighbours-v0").unwrapped.table is env.unwrapped.table
check_table(env.unwrapped.table)
assert check_agent("best-neighbour") == ()
assert {word for e in agents.AGENTS.values() for word in e.supports} == {*agents.entry("anywhere").supports}
assert agents.entry("nowhere").supports == () and "all" not in agents.names()
check_family(registry.family_of("Neighbours-v0"))
(run,) = hpo_envs.run("best-neighbour", "Neighbours-v0", [0], budget=5)
assert run.header["agent_versions"] == {"hpo-envs-example": "0.1"}
assert run.header["versions"]["hpo-envs-example"] == "0.1"
assert "hpo_envs_example" in run.header["agent_source"]
assert "hpo_envs_example" in run.header["environment_source"]
"""


def test_example_plugin_is_found_lazily_and_keeps_contracts(site: Path) -> None:
    done = ran(site, PASSES)
    assert done.returncode == 0, done.stderr


def test_each_broken_plugin_is_one_warning_and_nothing_fails(site: Path) -> None:
    done = ran(
        site,
        "from hpo_envs.commands.main import main\n"
        "assert main(['list']) == 0 and main(['list', '--agents']) == 0 and main(['describe', 'best-neighbour']) == 0\n"
        "assert main(['describe', 'Neighbours-v0']) == 0\n"
        "assert main(['compare', '--env', 'Neighbours-v0', '--agents', 'random,best-neighbour', '--seeds', '2']) == 0\n"
        "for args in (['compare', '--env', 'Broken-v0'], ['compare', '--env', 'TableHPO-nothing-v0'],\n"
        "             ['compare', '--env', 'Neighbours-v0', '--agents', 'broken']):\n"
        "    assert main(args) in (1, 2), args\n",
    )
    assert done.returncode == 0, done.stderr
    assert (
        "Neighbours: Choose the number and the weights of nearest neighbours. (plugin: hpo-envs-example)" in done.stdout
    )
    assert done.stderr.count("plugin broken of hpo-envs-example must be importable, got ModuleNotFoundError") >= 1
    assert "supports of plugin nowhere must be among arms, box, box-objectives, cells, " in done.stderr
    assert "plugins must have names of their own, got bo of hpo-envs-example" in done.stderr
    assert "plugin exits of hpo-envs-example must be importable, got SystemExit(7)" in done.stderr
    assert "plugin wrong of hpo-envs-example must return a Table, got TypeError(" in done.stderr
    assert "plugin Broken-v0 of hpo-envs-example must name a Family with this id, got <class" in done.stderr
    assert "plugin nothing of hpo-envs-example must return a Table, got {}" in done.stderr
    assert "plugin ends of hpo-envs-example must return a Table, got SystemExit" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_of_others_neither_break_the_import_nor_replace_what_ships(tmp_path: Path) -> None:
    tables, broken = tmp_path / "tables", tmp_path / "other-1.dist-info"
    for folder in (tables, broken, tmp_path / "late-1.dist-info", tmp_path / "lines-1.dist-info"):
        folder.mkdir()
    (tmp_path / "lines-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: lines\nVersion: 1\n")
    (tmp_path / "lines-1.dist-info" / "entry_points.txt").write_text("[hpo_envs.agents]\nno target\n")
    for name in ("mine (1)", "my table", "one\nline"):
        (tables / f"{name}.npz").write_bytes(b"")
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (broken / "entry_points.txt").write_bytes(b"[hpo_envs.tables]\n\xff = math:sqrt\n")
    points = "[hpo_envs.tables]\nweird name = m:t\n../up = m:t\n[hpo_envs.families]\nnot an id = m:F\na/b-v0 = m:F\n"
    points += "Taken-v0 = late:FAMILY\nHidden-v0 = late:HIDDEN\n"
    (tmp_path / "late-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: late\nVersion: 1\n")
    (tmp_path / "late-1.dist-info" / "entry_points.txt").write_text(points)
    (tmp_path / "late.py").write_text(
        "import dataclasses\nfrom hpo_envs.families.registry import FAMILIES\nold = FAMILIES['NMTHPO']\n"
        "FAMILY = dataclasses.replace(old, name='Taken', ids=(old.ids[0], old.ids[0]._replace(id='Taken-v0')))\n"
        "HIDDEN = dataclasses.replace(old, name='Hidden', ids=(old.ids[0]._replace(id='Hidden-v0'),), listed=False)\n"
    )
    done = ran(
        tmp_path,
        f"import os\nos.environ['HPO_ENVS_TABLES'] = {str(tables)!r}\n"
        "from hpo_envs.commands.main import main\nfrom hpo_envs.families.registry import SPECS\n"
        "from hpo_envs.families.registry import find\nassert find('Hidden-v0').family == 'Hidden'\n"
        "kept = SPECS['NMTHPO-zhen-v0']\nassert main(['list']) == 0\n"
        "assert SPECS['NMTHPO-zhen-v0'] is kept and 'Taken-v0' not in SPECS\n"
        "os.environ['HPO_ENVS_TABLES'] = os.environ['HPO_ENVS_DATA'] = '~nobody-here/x'\n"
        "assert main(['list']) == 2 and main(['fetch', '--list']) == 2\n",
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    for said in ("mine (1).npz is left out", "got 'weird name'", "got '../up'", "got 'not an id'", "got 'a/b-v0'"):
        assert said in done.stderr
    assert "entry points of other must be readable, got 'utf-8' codec" in done.stderr
    assert "entry points of lines must be readable, got" in done.stderr
    assert "plugin Taken-v0 of late must add new names, got NMTHPO-zhen-v0" in done.stderr
    assert "HPO_ENVS_TABLES must be a folder, got '~nobody-here/x'" in done.stderr
    assert "HPO_ENVS_DATA must be a folder, got '~nobody-here/x'" in done.stderr


def test_entry_points_of_example_are_those_tested() -> None:
    import tomllib

    given = tomllib.loads((PLUGIN / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    assert all(points.items() <= POINTS[group].items() for group, points in given.items())
    assert {*given} == {*POINTS}
    lines = sum(len((PLUGIN / name).read_text("utf-8").splitlines()) for name in ("hpo_envs_example.py",))
    assert lines <= 80
