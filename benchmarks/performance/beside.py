"""The same model tuned by this package, Optuna and Syne Tune: lines, processor time per evaluation, result.

    python -m hpo_envs.benchmarks.performance.beside

The programs are those of `docs/examples`, with four workers and 40 evaluations each. What an evaluation costs besides
the model is the processor time, of all processes, of the same programs with a model that does nothing, start and end
included, divided by 40.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hpo_envs.benchmarks.performance.killed import EXAMPLE, ROOT
from hpo_envs.core import screen

PROGRAMS = ("tune_sklearn", "tune_sklearn_optuna", "tune_sklearn_synetune")
EVALUATIONS = 40

BODY = re.compile(r"(?<=three folds.\"\"\"\n).*?(?=\n\n\nSPACE)", re.S)
"""What the model of `tune_sklearn.py` does."""

NOTHING = '    return config["gamma"]'


def lines(program: Path) -> int:
    """Lines of a program that are neither empty nor comments or docstrings of one line."""
    text = [line.strip() for line in program.read_text(encoding="utf-8").splitlines()]
    return sum(bool(line) and not line.startswith(("#", '"""')) for line in text)


def copied(folder: Path, nothing: bool) -> Path:
    """A folder with the programs, whose model does nothing if that is asked for."""
    shutil.copytree(EXAMPLE.parent, folder, dirs_exist_ok=True)
    if nothing:
        model = folder / EXAMPLE.name
        text, count = BODY.subn(NOTHING, model.read_text(encoding="utf-8"))
        assert count == 1
        model.write_text(text, encoding="utf-8")
    return folder


def measure(program: Path, out: Path) -> tuple[float, str]:
    """Processor seconds of a program and its children, and its last line.

    Raises:
        RuntimeError: It fails.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    path = os.pathsep.join([str(ROOT), str(program.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(  # noqa: S603 (a program of this repository)
        [sys.executable, "-W", "ignore", str(program), str(out)],
        env={**os.environ, "PYTHONPATH": path},
        cwd=program.parent,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{program.name} must end well, got {done.stderr[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stdout.strip().rpartition("\n")[2]


def compare(name: str) -> dict[str, Any]:
    """What is known of a program, by its name without suffix."""
    facts: dict[str, Any] = {"program": name, "lines": lines(EXAMPLE.parent / f"{name}.py")}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("nothing", "model"):
            place = copied(Path(folder) / kind, kind == "nothing")
            seconds, facts["result"] = measure(place / f"{name}.py", Path(folder) / f"{kind}-out")
            facts[f"{kind}: processor seconds per evaluation"] = round(seconds / EVALUATIONS, 3)
    return facts


@screen.on()
def main() -> int:
    """Prints a line a program."""
    for program in PROGRAMS:
        print(json.dumps(compare(program)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
