"""The README's two commands, literally, in a fresh clone with its own home folder.

    python tests/robustness/newcomer.py compare FOLDER   # install and compare: prints what the README shows
    python tests/robustness/newcomer.py test FOLDER      # install and test

FOLDER is created; it keeps the clone with its `.venv`, and the home folder. The interpreter is this one.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def command(readme: str, which: str) -> str:
    """The README's command that makes an environment and compares agents, or tests."""
    blocks = [b for b in re.findall(r"```sh\n(.*?)```", readme, re.S) if b.startswith("python3 -m venv")]
    if len(blocks) != 2:
        raise ValueError(f"README.md must have two commands that make an environment, got {len(blocks)}")
    return str(blocks[which == "test"])


def missing(readme: str, output: str) -> list[str]:
    """Lines that the README shows below its first command and that an output lacks.

    Words must be equal; a number may differ by one unit of the last digit in the README, which shows only digits that
    are the same on all processors.
    """
    found = re.search(r"```sh\npython3 -m venv.*?```\n[^`]*?```text\n(.*?)```", readme, re.S)
    if found is None:
        raise ValueError("README.md must show what its first command prints")
    shown = [line for line in found[1].splitlines() if NUMBER.search(line)]
    return [line for line in shown if not any(_agree(line, other) for other in output.splitlines())]


def _agree(shown: str, line: str) -> bool:
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", line).split():
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(line), strict=True)
    return all(abs(float(a) - float(b)) <= 1.001 * 10.0 ** -len(a.partition(".")[2]) for a, b in pairs)


def surroundings(home: Path) -> dict[str, str]:
    """Environment variables of a user whose python3 is this one and who has only settings of pip and pytest."""
    kept = ("PIP_", "SSL_", "REQUESTS_", "http", "HTTP", "LANG", "PYTEST_", "ONCE", "OPENBLAS_CORETYPE", "NPY_")
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python3").symlink_to(sys.executable)
    variables = {k: v for k, v in os.environ.items() if k.startswith(kept)}
    return {**variables, "HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin"}


def main() -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=("compare", "test"))
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    clone, env = args.folder.resolve() / "clone", surroundings(args.folder.resolve() / "home")
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    readme = (clone / "README.md").read_text(encoding="utf-8")
    stdout = subprocess.PIPE if args.which == "compare" else None
    done = subprocess.run(["bash", "-c", command(readme, args.which)], env=env, cwd=clone, stdout=stdout, text=True)
    if args.which == "test" or done.returncode:
        return done.returncode
    print(done.stdout)
    for line in (lacks := missing(readme, done.stdout)):
        print(f"README.md shows, and the command did not print: {line}")
    return 1 if lacks else 0


if __name__ == "__main__":
    sys.exit(main())
