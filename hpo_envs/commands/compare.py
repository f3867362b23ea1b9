"""`hpo-envs compare`: agents against each other on one id."""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

EPILOG = """examples:
  hpo-envs compare --env NMTHPO-swen-v0 --agents random --seeds 100 --budget 20 --out runs/
  hpo-envs compare --env NMTHPO-soen-mo-v0 --agents random --seeds 20
  hpo-envs compare --env NMTHPO-jaen-v0 --agents random --table measured --budget all

scores, counted in evaluations (Zhang and Duh 2020, section 4):
  best  best reward of the run                     fb   how far it stays below the best of the table
  ftb   evaluations until the table's best         ftc  evaluations until within --tolerance of it
  fbp, fto, fta (several objectives): points of the Pareto front found, evaluations until one, until all
A target that some runs never met has no mean; the table says how many runs met it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--env", default="NMTHPO-swen-v0", help="id of the environment (default: %(default)s)")
    parser.add_argument("--agents", default="random", help="names, separated by commas (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=100, help="number of seeds, 0 to N-1 (default: %(default)s)")
    parser.add_argument("--budget", help="a number in the id's cost unit, or 'all' (default: the id's own)")
    parser.add_argument("--table", default="auto", help="auto, measured or surrogate (default: %(default)s)")
    parser.add_argument("--objective", help="rewarded metric(s), separated by commas (default: the id's own)")
    parser.add_argument("--cost", help="evaluations, or a metric that counts as cost")
    parser.add_argument("--tolerance", type=float, default=0.5, help="of ftc, in reward units (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder for runs, table and plot")


def run(args: argparse.Namespace) -> int:
    """Runs the comparison, prints the table and saves runs, summary and plot."""
    from hpo_envs import agents
    from hpo_envs.benchmarks import compare as c
    from hpo_envs.benchmarks import plots

    if args.seeds < 1:
        raise ValueError(f"--seeds must be an int >= 1, got {args.seeds}")
    names = [name.strip() for name in args.agents.split(",") if name.strip()]
    for name in names:
        agents.entry(name)
    kwargs = {"table": args.table}
    if args.objective:
        metrics = tuple(args.objective.split(","))
        kwargs["objective"] = metrics if len(metrics) > 1 else metrics[0]
    if args.cost:
        kwargs["cost"] = args.cost
    budget = None
    if args.budget == "all":
        kwargs["budget"] = None
    elif args.budget is not None:
        try:
            budget = float(args.budget)
        except ValueError:
            raise ValueError(f"--budget must be a number or 'all', got {args.budget!r}") from None
    start = time.perf_counter()
    runs = c.compare(args.env, names, range(args.seeds), budget=budget, env_kwargs=kwargs, out=args.out, progress=True)
    seconds = time.perf_counter() - start
    records = c.summarise(runs, args.tolerance)
    header = runs[names[0]][0].header
    folder = args.out / args.env
    with open(folder / "summary.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ["agent", "score", "n", "reached", "mean", "std", "low", "high"])
        writer.writeheader()
        writer.writerows(records)
    print(f"\n{args.env}: {header['kind']} table {header['table']}, sha256 {header['sha256'][:12]}")
    print(f"{args.seeds} seeds, budget {header['budget']:g} {header['cost_unit']}, {seconds:.1f} s")
    print("mean ± standard deviation over runs [95 % bootstrap interval of the mean]\n")
    print(c.format_table(records))
    print(f"\nruns and summary: {folder}/")
    if runs[names[0]][0].rewards.ndim == 1:
        label = f"best {' '.join(header['objectives'])} so far"
        try:
            files = plots.best(runs, folder / "best", label)
        except ModuleNotFoundError as error:
            print(error)
        else:
            print(f"plot: {files[0]}")
    return 0
