"""`hpo-envs reproduce`: a paper's tables and figures again, with a verdict on every published number."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from hpo_envs.tables.table import nearest

PAPERS: dict[str, tuple[str, str]] = {
    "nmt": ("papers.nmthpo", "Zhang and Duh 2020: hyperparameter optimisation of neural machine translation"),
    "nmtlc": (
        "papers.nmtlc",
        "Zhang and Duh 2020, data repository: early stopping on learning curves of machine translation",
    ),
    "char": (
        "papers.charhpo",
        "Wiemerslage, Gorman and von der Wense 2024: hyperparameter sensitivity in character transduction",
    ),
    "fiesta": ("papers.fiesta", "Moss, Moore, Leslie and Rayson 2019: model selection with adaptive bandit algorithms"),
    "nasbenchnlp": ("papers.nasbenchnlp", "Klyuchnikov et al. 2020: architecture search among recurrent cells"),
    "cushlepor": ("papers.cushlepor", "Han, Sorokina, Erofeev and Gladkoff 2021: tuning hLEPOR towards human scores"),
    "learned": (
        "learned",
        "no paper: the learned optimiser, trained on all tables but those of one language, tested on these",
    ),
}
"""Name -> folder below `benchmarks`, and the paper. `hpo_envs.benchmarks.<folder>.reproduce` has
`main(out, *, trials, jobs, seed, only) -> int` and `PARTS`, functions by the names that `only` may take."""

EPILOG = """examples:
  hpo-envs reproduce char                        every table, figure and claim of the paper, then the optimisers
  hpo-envs reproduce char --only tables          without the optimisers: seconds
  hpo-envs reproduce char --only optimisers --trials 5 --out /tmp/char
  hpo-envs reproduce fiesta                      every table and figure of the paper
  hpo-envs reproduce fiesta --only table2        one part; a wrong name lists them

papers:
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.epilog = EPILOG + "\n".join(f"  {name:12} {title}" for name, (_, title) in PAPERS.items())
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("paper", help="which paper, see below")
    parser.add_argument("--out", type=Path, help="folder for tables and figures (default: runs/reproduce-PAPER)")
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
    module = importlib.import_module(f"hpo_envs.benchmarks.{PAPERS[args.paper][0]}.reproduce")
    if args.only is not None and args.only not in module.PARTS:
        raise ValueError(f"--only must be one of {', '.join(module.PARTS)}, got {args.only!r}")
    out = args.out or Path("runs") / f"reproduce-{args.paper}"
    out.mkdir(parents=True, exist_ok=True)
    return int(module.main(out, trials=args.trials, jobs=args.jobs, seed=args.seed, only=args.only))
