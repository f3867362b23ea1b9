"""`hpo-envs reproduce`: a paper's tables and figures again, with a verdict on every published number."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from pathlib import Path

from hpo_envs.benchmarks import papers
from hpo_envs.checks import nearest

PAPERS = {m.name: f"papers.{m.name}" for m in pkgutil.iter_modules(papers.__path__) if m.ispkg} | {"learned": "learned"}
"""Name -> folder below `benchmarks`. Its docstring says what it is about; its module `reproduce` has
`main(out, *, trials, jobs, seed, only) -> int` and `PARTS`, functions by the names that `only` may take."""


def _title(paper: str) -> str:
    return str(importlib.import_module(f"hpo_envs.benchmarks.{PAPERS[paper]}").__doc__).rstrip(".\n")


EPILOG = """examples:
  hpo-envs reproduce charhpo                        every table, figure and claim of the paper, then the optimisers
  hpo-envs reproduce charhpo --only tables          without the optimisers: seconds
  hpo-envs reproduce nasbenchnlp --only numbers --trials 5 --out /tmp/cells
  hpo-envs reproduce fiesta                      every table and figure of the paper
  hpo-envs reproduce fiesta --only table2        one part; a wrong name lists them

papers:
""" + "\n".join(f"  {name:12} {_title(name)}" for name in PAPERS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("paper", help="which paper, see below")
    parser.add_argument("--out", type=Path, help="folder for tables and figures (default: studies/reproduce-PAPER)")
    parser.add_argument("--trials", type=int, help="seeds per optimiser and task (default: the paper's)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (default: %(default)s)")
    parser.add_argument("--only", help="one part instead of all; a wrong name lists them")


def run(args: argparse.Namespace) -> int:
    """Reproduces a paper; the exit status is 0 if it ran, whatever the verdicts."""
    if args.paper not in PAPERS:
        raise ValueError(
            f"paper must be one of {', '.join(PAPERS)}, got {args.paper!r}{nearest(args.paper, [*PAPERS])}"
        )
    for name in ("trials", "jobs"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise ValueError(f"--{name} must be an int >= 1, got {value}")
    if args.seed < 0:
        raise ValueError(f"--seed must be an int >= 0, got {args.seed}")
    module = importlib.import_module(f"hpo_envs.benchmarks.{PAPERS[args.paper]}.reproduce")
    if args.only is not None and args.only not in module.PARTS:
        raise ValueError(f"--only must be one of {', '.join(module.PARTS)}, got {args.only!r}")
    out = args.out or Path("studies") / f"reproduce-{args.paper}"
    out.mkdir(parents=True, exist_ok=True)
    return int(module.main(out, trials=args.trials, jobs=args.jobs, seed=args.seed, only=args.only))
