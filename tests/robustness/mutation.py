"""Mutation check: `python tests/robustness/mutation.py [GROUP ...]`, needs `pip install -r .ci/mutation.txt`.

Changes one operator, number, name or text of a module at a time and looks whether the module's tests notice. mutmut
cannot see through symbolic links, so it works on a copy of the package in which they are folders. Each mutant runs in
a process of its own in which nothing was computed before. Prints one line a module: mutants there are, mutants tested
(`--sample 100` tests that many of each module, drawn at random), killed (a test failed), timeouts (the tests took far
longer than usual: noticed too), survived (no test failed, or none reaches the code), of those that survived how many
are known to be equivalent (mutation_equivalents.tsv says why), the share noticed, and the same share
of those that are not equivalent.

With `--work FOLDER` the copies stay: `verdicts.txt` of each group lists the mutants tested, `survivors.diff` what each
survivor changed. Another run in the same folder tests again what survived or timed out (which may have been the fault
of a busy machine), what was not tested, and what is in functions that changed.
"""

import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENTS = Path(__file__).with_name("mutation_equivalents.tsv")

GROUPS: dict[str, tuple[str, str]] = {
    "table": ("tables/table.py", "tables/test_table.py tables/test_frames.py"),
    "env": (
        "core/env.py core/params.py core/subsample.py core/infos.py tables/draws.py "
        "core/engines/lookup/params.py core/engines/lookup/scalar.py core/engines/lookup/batched.py",
        "hpo_envs/core/engines/lookup/test_*.py hpo_envs/core/engines/test_forms.py hpo_envs/core/test_[eis]*.py "
        "hpo_envs/core/test_params.py tables/test_draws.py benchmarks/runs/test_episodes.py contracts/test_memory.py",
    ),
    "curves": (
        "core/engines/curves/params.py core/engines/curves/scalar.py core/engines/curves/batched.py "
        "core/engines/workers.py",
        "hpo_envs/core/engines/curves/test_*.py hpo_envs/core/engines/test_forms.py "
        "hpo_envs/core/engines/test_workers.py benchmarks/runs/test_episodes.py",
    ),
    "bandit": (
        "core/engines/bandit/arms.py core/engines/bandit/params.py core/engines/bandit/scalar.py "
        "core/engines/bandit/batched.py",
        "hpo_envs/core/engines/bandit/test_*.py hpo_envs/core/engines/test_forms.py benchmarks/runs/test_episodes.py",
    ),
    "scores": (
        "benchmarks/comparison/targets.py benchmarks/analysis/statistics.py benchmarks/analysis/regret.py",
        "benchmarks/analysis/test_regret.py benchmarks/comparison/test_targets.py "
        "benchmarks/analysis/test_statistics.py",
    ),
    "gp": (
        "agents/models/gp/kernels.py agents/models/gp/conditioning.py agents/search/bo.py agents/models/acquisition.py",
        "agents/search/test_bo.py agents/models/gp/test_kernels.py agents/models/test_acquisition.py",
    ),
    "belief": (
        "agents/bandits/best_arm.py agents/bandits/quadrature.py agents/bandits/glr.py agents/bandits/base.py",
        "agents/bandits/test_best_arm.py agents/bandits/test_base.py",
    ),
    "graph": ("agents/models/similarity_graph.py", "agents/models/test_similarity_graph.py"),
}
"""Group -> modules below the package, and files or patterns below `tests` that should detect their mutants."""

CONFIG = """
[tool.mutmut]
source_paths = ["hpo_envs"]
only_mutate = {modules}
also_copy = ["README.md"]
pytest_add_cli_args = ["-p", "no:cacheprovider", "-p", "no:xdist", "-q", "-x", "--tb=no", "--assert=plain"]
pytest_add_cli_args_test_selection = {tests}
use_git_change_detection = false
track_dependencies = false
process_isolation = "forkserver"
timeout_constant = 20.0
timeout_multiplier = 15.0
"""

# What `mutmut run` does first, and by itself: write the mutants.
GENERATE = """
from mutmut import __main__ as m
m.set_mutant_under_test("mutant_generation")
m.makedirs(m.Path("mutants"), exist_ok=True)
m.copy_src_dir(); m.copy_also_copy_files(); m.setup_source_paths(); m.store_lines_covered_by_tests()
m.create_mutants(1)
"""

# `mutmut results --all true`, with mutants not tested yet.
RESULTS = """
from mutmut import __main__ as m
for path in m.walk_mutatable_files():
    data = m.SourceFileMutationData(path=path)
    data.load()
    for name, code in data.exit_code_by_key.items():
        print(name + ": " + (m.status_by_exit_code[code] if code is not None else "untested"))
"""

# `mutmut show` of every mutant named on stdin.
SHOW = """
import sys
from mutmut import __main__ as m
for name in sys.stdin.read().split():
    print("# " + name)
    print(m.get_diff_for_mutant(name, path=m.find_mutant(name).path))
"""


def copy(folder: Path, group: str) -> None:
    """The package without links, its tests and the settings of mutmut."""
    modules, patterns = (words.split() for words in GROUPS[group])
    tests = [p.relative_to(ROOT).as_posix() for t in patterns for p in sorted((ROOT / "tests").glob(t))]
    linked = ("agents", "benchmarks", "tables")

    def waste(place: str, names: list[str]) -> set[str]:
        return {"__pycache__", *(linked if Path(place) == ROOT / "hpo_envs" else ())}

    shutil.copytree(ROOT / "hpo_envs", folder / "hpo_envs", ignore=waste, dirs_exist_ok=True)
    for name in linked:
        shutil.copytree(ROOT / name, folder / "hpo_envs" / name, ignore=waste, dirs_exist_ok=True)
    (folder / "tests").mkdir(parents=True, exist_ok=True)
    shared = (p for name in ("helpers.py", "model.py", "conftest.py") for p in (ROOT / "tests").rglob(name))
    helpers = [p.relative_to(ROOT).as_posix() for p in shared]
    inits = {f"{p.as_posix()}/__init__.py" for t in (*tests, *helpers) for p in Path(t).parents[:-1]}
    for name in (*helpers, *sorted(inits), *tests, "pyproject.toml", "README.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    with open(folder / "pyproject.toml", "a", encoding="utf-8") as stream:
        stream.write(CONFIG.format(modules=[f"hpo_envs/{m}" for m in modules], tests=tests))


def python(folder: Path, *args: str, stdin: str = "") -> str:
    """Run Python in a folder; return its output.

    Raises:
        RuntimeError: The process failed, for example because a test fails without mutants.
    """
    env = {k: v for k, v in os.environ.items() if k != "HPO_ENVS_DATA"}
    env |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    command = [sys.executable, *args]
    done = subprocess.run(command, cwd=folder, env=env, input=stdin, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{args[:3]} failed in {folder}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def verdicts(folder: Path) -> dict[str, str]:
    """Mutant -> killed, timeout, survived, no tests, untested or the like."""
    lines = (line.strip().rpartition(": ") for line in python(folder, "-c", RESULTS).splitlines())
    return {name: verdict for name, _, verdict in lines}


def diffs(folder: Path, names: list[str]) -> dict[str, str]:
    """Mutant -> its change."""
    found: dict[str, str] = {}
    for part in python(folder, "-c", SHOW, stdin="\n".join(names)).split("\n# hpo_envs."):
        name, _, diff = part.removeprefix("# hpo_envs.").partition("\n")
        found["hpo_envs." + name] = diff
    return {name: found[name] for name in names}


def module_of(name: str) -> str:
    """The module of a mutant, as in `GROUPS`."""
    return name.removeprefix("hpo_envs.").rpartition(".")[0].replace(".", "/") + ".py"


def chosen(found: dict[str, str], sample: int | None) -> list[str]:
    """The mutants to test: all, or a sample of each module, drawn with seed 0."""
    by_module: dict[str, list[str]] = {}
    for name in found:
        by_module.setdefault(module_of(name), []).append(name)
    out: list[str] = []
    for names in by_module.values():
        few = sample is not None and sample < len(names)
        out += random.Random(0).sample(names, sample) if few else names  # type: ignore[arg-type]
    return out


def check(group: str, folder: Path, processes: int, sample: int | None) -> tuple[dict[str, str], set[str]]:
    """Run mutmut on a group; return the verdicts, and which survivors are equivalent."""
    copy(folder, group)
    python(folder, "-c", GENERATE)
    # Tests may have changed since the last run: their timings and reach are taken anew.
    (folder / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)
    shutil.copytree(folder / "tests", folder / "mutants" / "tests", dirs_exist_ok=True)
    before = verdicts(folder)
    mutants = chosen(before, sample)
    todo = [name for name in mutants if before[name] not in ("killed", "segfault")]
    if todo:
        python(folder, "-m", "mutmut", "run", "--max-children", str(processes), *todo)
    found = verdicts(folder)
    (folder / "verdicts.txt").write_text("".join(f"{n}: {found[n]}\n" for n in mutants), encoding="utf-8")
    lived = diffs(folder, [name for name in mutants if not noticed(found[name])])
    same = {name for name, diff in lived.items() if equivalent(name, diff)}
    text = "".join(f"# {name}: {found[name]}\n{diff}\n" for name, diff in lived.items() if name not in same)
    (folder / "survivors.diff").write_text(text, encoding="utf-8")
    return {name: found[name] if name in mutants else "untested" for name in found}, same


def noticed(verdict: str) -> bool:
    """Return whether a verdict means that the tests detected the change."""
    return verdict in ("killed", "timeout", "segfault")


def equivalent(name: str, diff: str) -> bool:
    """Return whether no test can detect a mutant; lines of the file are function, changed line and reason."""
    became = next((line[1:].strip() for line in diff.splitlines() if re.match(r"\+(?!\+\+)", line)), "")
    function = name.rpartition("__mutmut_")[0]
    rows = (line.split("\t") for line in EQUIVALENTS.read_text(encoding="utf-8").splitlines())
    return any(row[0] == function and row[1] == became for row in rows if len(row) == 3)


def main() -> None:
    """Check the groups and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", choices=[[], *GROUPS], help=f"of {', '.join(GROUPS)} (default: all)")
    parser.add_argument("--processes", type=int, default=1, help="mutants tested side by side (default: 1)")
    parser.add_argument("--sample", type=int, help="mutants to test of each module (default: all)")
    parser.add_argument("--work", type=Path, help="folder to keep, with verdicts.txt and survivors.diff of each group")
    args = parser.parse_args()
    heads = ("mutants", "tested", "killed", "timeouts", "survived", "equivalent")
    print(f"| {'module':26} | {' | '.join(heads)} | score | without equivalent |", flush=True)
    print(f"|{'-' * 28}|{'-------:|' * 8}", flush=True)
    whole: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for group in args.groups or GROUPS:
            found, same = check(group, Path(args.work or scratch) / group, args.processes, args.sample)
            for module in GROUPS[group][0].split():
                counts = count({n: v for n, v in found.items() if module_of(n) == module}, same)
                print(row_of(module, counts), flush=True)
                whole += counts
    print(row_of("all", whole))


def count(found: dict[str, str], same: set[str]) -> collections.Counter[str]:
    """Verdicts by kind."""
    tested = [verdict for verdict in found.values() if verdict != "untested"]
    seen, late = sum(map(noticed, tested)), tested.count("timeout")
    numbers = {"mutants": len(found), "tested": len(tested), "killed": seen - late, "timeouts": late}
    return collections.Counter(**numbers, survived=len(tested) - seen, equivalent=len(same & found.keys()))


def row_of(name: str, c: collections.Counter[str]) -> str:
    """A row of the table."""
    numbers = [c[k] for k in ("mutants", "tested", "killed", "timeouts", "survived", "equivalent")]
    seen = c["killed"] + c["timeouts"]
    shares = [seen / n if n else float("nan") for n in (c["tested"], c["tested"] - c["equivalent"])]
    return f"| {name:26} | {' | '.join(map(str, numbers))} | {shares[0]:.1%} | {shares[1]:.1%} |"


if __name__ == "__main__":
    main()
