"""Mutation check of the core: `python tests/mutation.py [GROUP ...]`, needs `pip install mutmut`.

Changes one operator, number, name or text of a module at a time and looks whether the module's tests notice. mutmut
cannot see through symbolic links, so it works on a copy of the package in which they are folders. Prints one line a
module: mutants, killed (a test failed or ran out of time), survived, not reached by any test, and the share killed.
"""

from __future__ import annotations

import argparse
import collections
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

GROUPS: dict[str, tuple[list[str], list[str]]] = {
    "table": (["tables/table.py"], ["tests/test_core.py", "tests/test_tables.py"]),
    "env": (["env.py", "lookup.py", "prepared.py", "batched_info.py", "noise.py"], ["tests/test_core.py"]),
    "scores": (["benchmarks/scores.py"], ["tests/test_benchmarks.py", "tests/test_core.py"]),
    "gp": (["agents/finite_gp.py"], ["tests/test_gp_agents.py"]),
}
"""Group -> modules below the package, and the files of tests that are to notice."""

CONFIG = """
[tool.mutmut]
source_paths = ["hpo_envs"]
only_mutate = {modules}
also_copy = ["README.md"]
pytest_add_cli_args = ["-p", "no:cacheprovider", "-q", "-x"]
pytest_add_cli_args_test_selection = {tests}
use_git_change_detection = false
track_dependencies = false
"""


def copy(folder: Path) -> None:
    """The package without links, its tests and its settings."""
    waste = shutil.ignore_patterns("__pycache__")
    for name in ("hpo_envs", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=waste)  # follows links
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / name)


def check(group: str, folder: Path, processes: int) -> dict[str, collections.Counter[str]]:
    """Runs mutmut on a group; counts of verdicts by module. Leaves the list of survivors in the folder."""
    modules, tests = GROUPS[group]
    copy(folder)
    with open(folder / "pyproject.toml", "a", encoding="utf-8") as stream:
        stream.write(CONFIG.format(modules=[f"hpo_envs/{m}" for m in modules], tests=tests))
    env = {k: v for k, v in os.environ.items() if k != "HPO_ENVS_DATA"}
    env |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    mutmut = [sys.executable, "-m", "mutmut"]
    command = [*mutmut, "run", "--max-children", str(processes)]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"mutmut failed in {folder}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    listed = subprocess.run(
        [*mutmut, "results", "--all", "true"], cwd=folder, env=env, capture_output=True, text=True, check=True
    ).stdout
    (folder / "verdicts.txt").write_text(listed, encoding="utf-8")
    counts: dict[str, collections.Counter[str]] = {m: collections.Counter() for m in modules}
    for line in listed.splitlines():
        name, _, verdict = line.strip().rpartition(": ")
        module = next((m for m in modules if name.startswith(f"hpo_envs.{m[:-3].replace('/', '.')}.")), None)
        if module:
            counts[module][verdict] += 1
    return counts


def main() -> None:
    """Checks the groups and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", choices=[[], *GROUPS], help=f"of {', '.join(GROUPS)} (default: all)")
    parser.add_argument("--processes", type=int, default=1, help="mutants tested side by side (default: 1)")
    parser.add_argument("--work", type=Path, help="folder to keep, with mutants and verdicts.txt of each group")
    args = parser.parse_args()
    print(f"{'module':24} {'mutants':>7} {'killed':>7} {'survived':>8} {'no test':>7} {'score':>7}", flush=True)
    whole: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for group in args.groups or GROUPS:
            counts = check(group, Path(args.work or scratch) / group, args.processes)
            for module, found in counts.items():
                _line(module, found)
                whole += found
    _line("all", whole)


def _line(name: str, found: collections.Counter[str]) -> None:
    total = sum(found.values())
    killed = found["killed"] + found["timeout"] + found["caught by type check"]
    share = killed / total if total else float("nan")
    print(f"{name:24} {total:7} {killed:7} {found['survived']:8} {found['no tests']:7} {share:7.1%}", flush=True)


if __name__ == "__main__":
    main()
