"""The first hour of somebody with nothing but Python, timed: the README's two commands, sizes, imports.

    python tests/robustness/install_check.py                        install and compare, sizes, import time: minutes
    python tests/robustness/install_check.py --tests                also the README's test command

Everything happens in a fresh clone, with a home folder of its own and no cache of pip's; only its settings (an index, a
certificate) are those of this machine. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]

EXTRAS = ("", "plots", "optuna", "mt", "dask", "fast", "test")
"""What the table of sizes has; those with PyTorch are a hundred times larger than all else."""

IMPORTS = {
    "import gymnasium": "import gymnasium",
    "import gymnasium, hpo_envs": "import gymnasium, hpo_envs",
    "the same + the first make": "import gymnasium, hpo_envs; gymnasium.make('NMTHPO-swen-v0')",
}


def commands(readme: str) -> tuple[str, str]:
    """The README's two commands: install and compare, install and test."""
    blocks = re.findall(r"```sh\n(.*?)```", readme, re.S)
    found = [b.strip() for b in blocks if b.startswith("python3 -m venv")]
    if len(found) != 2:
        raise ValueError(f"README.md must have two commands that make an environment, got {len(found)}")
    return found[0], found[1]


def surroundings(home: Path, python: str) -> dict[str, str]:
    """Environment variables of a user whose python3 is the given one and who has nothing else."""
    keep = {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_", "REQUESTS_", "http", "HTTP", "LANG"))}
    (home / "bin").mkdir(parents=True, exist_ok=True)
    link = home / "bin" / "python3"
    if not link.exists():
        link.symlink_to(python)
    return {**keep, "HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin", "PIP_NO_CACHE_DIR": "1"}


def size(folder: Path) -> float:
    """MB of the files in a folder."""
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and not p.is_symlink()) / 1e6


def timed(command: list[str] | str, env: dict[str, str], cwd: Path) -> float:
    """Seconds that a command takes; it must succeed."""
    start = time.perf_counter()
    done = subprocess.run(command, shell=isinstance(command, str), env=env, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command} must succeed, got {done.returncode}: {done.stdout[-2000:]}{done.stderr[-3000:]}")
    return time.perf_counter() - start


def clone(target: Path) -> Path:
    """A fresh copy of what is committed."""
    subprocess.run(["git", "clone", "-q", str(ROOT), str(target)], check=True)
    return target


def readme(work: Path, python: str, tests: bool) -> None:
    """Runs the README's commands."""
    first, second = commands((ROOT / "README.md").read_text("utf-8"))
    print("| README's command | seconds |\n|---|---:|", flush=True)
    for name, command, wanted in (("install and compare", first, True), ("install and test", second, tests)):
        if wanted:
            here = clone(work / name.replace(" ", "-"))
            print(f"| {name} | {timed(command, surroundings(work / 'home', python), here):.0f} |", flush=True)
            shutil.rmtree(here)


def sizes(work: Path, python: str, extras: list[str]) -> Path:
    """Installs the wheel with each extra into an environment of its own; returns the one without."""
    env = surroundings(work / "home", python)
    repository = clone(work / "repository")
    subprocess.run(
        [python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(work), str(repository)], check=True, env=env
    )
    (wheel,) = work.glob("hpo_envs-*.whl")
    print(f"\nwheel: {wheel.stat().st_size / 1e6:.2f} MB\n")
    print("| pip install | seconds | MB | packages |\n|---|---:|---:|---:|")
    for extra in extras:
        venv = work / f"venv-{extra}"
        subprocess.run([python, "-m", "venv", str(venv)], check=True, env=env)
        (site,) = venv.glob("lib/python*/site-packages")
        bare, before = size(site), len(list(site.glob("*.dist-info")))
        what = f"{wheel}[{extra}]" if extra else str(wheel)
        seconds = timed([str(venv / "bin/pip"), "install", "-q", what], env, work)
        packages = len(list(site.glob("*.dist-info"))) - before
        shown = f"hpo_envs[{extra}]" if extra else "hpo_envs"
        print(f"| `{shown}` | {seconds:.0f} | {size(site) - bare:.0f} | {packages} |", flush=True)
        if extra:
            shutil.rmtree(venv)
    return work / "venv-"


def imports(venv: Path, rounds: int = 5) -> None:
    """Best of several times of importing, in fresh processes, with compiled files in place."""
    print("\n| statement | seconds | ratio |\n|---|---:|---:|")
    base = 0.0
    for name, code in IMPORTS.items():
        timed_code = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
        command = [str(venv / "bin/python"), "-c", timed_code]
        best = min(float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(rounds + 1))
        base = base or best
        print(f"| `{name}` | {best:.2f} | {best / base:.2f} |", flush=True)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="interpreter (default: this one)")
    parser.add_argument("--tests", action="store_true", help="also run the README's test command")
    parser.add_argument(
        "--extras", nargs="*", default=list(EXTRAS), help="of the table of sizes (default: %(default)s)"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hpo-envs-install-") as folder:
        version = subprocess.run([args.python, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        print(f"{version}, {os.cpu_count()} cores\n")
        readme(Path(folder), args.python, args.tests)
        imports(sizes(Path(folder), args.python, args.extras))


if __name__ == "__main__":
    main()
