"""`hpo-envs reproduce`: a paper's tables and figures, with a verdict on every published number."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from pathlib import Path
from typing import Any

from hpo_envs.agents.base import whole
from hpo_envs.benchmarks import papers
from hpo_envs.benchmarks.papers import page
from hpo_envs.tables.checks import nearest

PAPERS = {m.name: f"papers.{m.name}" for m in pkgutil.iter_modules(papers.__path__) if m.ispkg} | {"learned": "learned"}
"""Name -> folder below `benchmarks`. Its docstring says what it is about; its module `reproduce` has
`main(out, *, trials, jobs, seed, only) -> int`, `PARTS`, functions by the names that `only` may take, and `QUICK`, the
trials of `--quick`."""

ALL = "all"
"""Every paper, on one page."""


def _title(paper: str) -> str:
    return str(importlib.import_module(f"hpo_envs.benchmarks.{PAPERS[paper]}").__doc__).rstrip(".\n")


EPILOG = """examples:
  hpo-envs reproduce charhpo                        every table, figure and claim of the paper
  hpo-envs reproduce charhpo --only tables          without the optimisers: seconds
  hpo-envs reproduce nasbenchnlp --only numbers --trials 5 --out /tmp/cells
  hpo-envs reproduce fiesta                      every table and figure of the paper
  hpo-envs reproduce fiesta --only table2        one part; an unknown name lists the parts
  hpo-envs reproduce all --jobs 2 --out papers   every published number and figure on one page; --quick: two minutes

papers:
""" + "\n".join(f"  {name:12} {_title(name)}" for name in PAPERS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("paper", help=f"a paper, see below, or {ALL}")
    parser.add_argument(
        "--out", type=Path, help="folder for tables and figures (default: studies/reproduce-PAPER, or papers for all)"
    )
    parser.add_argument("--trials", type=int, help="seeds per optimiser and task (default: the paper's)")
    parser.add_argument("--quick", action="store_true", help="few trials, for a preview")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (default: %(default)s)")
    parser.add_argument("--only", help="one part instead of all; an unknown name lists the parts")


def run(args: argparse.Namespace) -> int:
    """Reproduce a paper, or all; the exit status is 0 if it ran, whatever the verdicts."""
    if args.paper not in (*PAPERS, ALL):
        known = [*PAPERS, ALL]
        raise ValueError(f"paper must be one of {', '.join(known)}, got {args.paper!r}{nearest(args.paper, known)}")
    for name in ("trials", "jobs"):
        if (value := getattr(args, name)) is not None:
            whole(f"--{name}", value, 1)
    whole("--seed", args.seed, 0)
    if args.quick and args.trials is not None:
        raise ValueError(f"--quick chooses the trials itself: it must not be given with --trials, got {args.trials}")
    if args.paper == ALL:
        if args.only is not None:
            raise ValueError(f"--only needs one paper, got {ALL} and {args.only!r}")
        return _all(args, args.out or Path("papers"))
    module = _module(args.paper)
    if args.only is not None and args.only not in module.PARTS:
        raise ValueError(f"--only must be one of {', '.join(module.PARTS)}, got {args.only!r}")
    return _one(args, module, args.out or Path("studies") / f"reproduce-{args.paper}", only=args.only)


def _module(paper: str) -> Any:
    return importlib.import_module(f"hpo_envs.benchmarks.{PAPERS[paper]}.reproduce")


def _one(args: argparse.Namespace, module: Any, out: Path, **more: Any) -> int:
    out.mkdir(parents=True, exist_ok=True)
    trials = module.QUICK if args.quick else args.trials
    return int(module.main(out, trials=trials, jobs=args.jobs, seed=args.seed, **more))


def _all(args: argparse.Namespace, out: Path) -> int:
    """Every paper that printed numbers, and one page about them."""
    printed = [paper for paper, folder in PAPERS.items() if folder.startswith("papers.")]
    for i, paper in enumerate(printed, start=1):
        print(f"\n[{i} of {len(printed)}] {_title(paper)}", flush=True)
        _one(args, _module(paper), out / paper)
    options = "".join(
        f" {flag}{'' if value is True else f' {value}'}"
        for flag, value in (("--quick", args.quick), ("--trials", args.trials), ("--seed", args.seed))
        if value
    )
    path = page.write(out, {paper: _title(paper) for paper in printed}, f"hpo-envs reproduce {ALL}{options}")
    print(f"\nall numbers and figures on one page: {path}")
    return 0
