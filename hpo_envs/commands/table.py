"""`hpo-envs table`: a CSV file of your own becomes an environment."""

from __future__ import annotations

import argparse
from pathlib import Path

EPILOG = """examples:
  hpo-envs table from-csv sweep.csv --score accuracy
  hpo-envs table from-csv sweep.csv --score loss --goal min --cost seconds --drop run_id --name mine

In Python: gym.make("TableHPO-v0", name="mine"), or run("bo", "TableHPO-v0", seeds, env_kwargs={"name": "mine"}).
One line of the file is one evaluation. Every column that is not named below is a hyperparameter: numbers, or texts with
few different values. Lines with the same configuration are repeats of one row; an empty score is a run that failed.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("action", choices=["from-csv"], help="what to make the table from")
    parser.add_argument("file", type=Path, help="CSV file with a header line")
    parser.add_argument("--score", required=True, help="column of the rewarded metric")
    parser.add_argument("--goal", default="max", choices=["max", "min"], help="whether high or low scores are good")
    parser.add_argument("--cost", help="column of what an evaluation costs (default: each costs 1)")
    parser.add_argument("--metrics", default="", help="further measured columns, separated by commas")
    parser.add_argument("--drop", default="", help="columns to leave out, separated by commas")
    parser.add_argument("--name", help="name of the table (default: the file's)")


def run(args: argparse.Namespace) -> int:
    """Makes, installs and explains the table."""
    from hpo_envs.tables.builders import user

    table = user.from_csv(
        args.file,
        score=args.score,
        goal=args.goal,
        cost=args.cost,
        metrics=[m for m in args.metrics.split(",") if m],
        drop=[d for d in args.drop.split(",") if d],
        name=args.name or args.file.stem,
    )
    path = user.save(table)
    short = table.name.partition("/")[2]
    for note in table.provenance.notes:
        print(note)
    print(f"installed: {path}")
    print(f'use: gym.make("TableHPO-v0", name="{short}")')
    return 0
