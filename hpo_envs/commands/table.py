"""Build environments from your data: a file or folder of runs, or an Optuna study."""

import argparse
import json
from pathlib import Path
from typing import Any

from hpo_envs.commands import words
from hpo_envs.families import registry
from hpo_envs.tables import user
from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.table import Table

EPILOG = """\
examples:
  hpo-envs table from-csv sweep.csv --score accuracy --goal max --cost seconds
  hpo-envs table from-csv sweep.csv --dry-run                                  the inferred columns
  hpo-envs table from-csv sweep.csv --score accuracy,latency --goal max,min --drop comment
  hpo-envs table from-csv curves.csv --score loss --level epoch --repeat seed --name my-curves
  hpo-envs table from-csv wandb_export.csv --score val_accuracy                Weights & Biases, MLflow
  hpo-envs table from-csv trials.parquet --goal min                            Optuna's trials_dataframe
  hpo-envs table from-csv ~/ray_results/sweep --score accuracy                 a folder: Ray Tune, Syne Tune, Hydra
  hpo-envs table from-optuna my-study --storage sqlite:///optuna.db

sweep.csv has one run per line, with a header:

  lr,layers,optimiser,accuracy,seconds
  0.001,2,adam,0.812,340
  0.01,4,sgd,OOM,

from-csv also takes TSV, Parquet, Arrow, JSON, JSON lines, .gz and .zip, Optuna's storages and folders of runs.
Columns that are no score, cost, fidelity or repeat are hyperparameters, except names, dates, notes, constants and other
measurements; every inference is printed, with the option that changes it (--ask stops at uncertain ones).
An empty score, OOM or failed is a failed run, nan or diverged a
diverged one; unfinished runs are left out. The saved table is an environment: TableHPO-NAME-v0, with fidelities also
TableLC-NAME-v0, which `hpo-envs list table` and `hpo-envs describe` show."""

SAME_OPTIONS = ("cost", "level", "repeat", "status", "name", "licence", "citation", "decimal", "ask")
"""Options that are arguments of these names."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("what", choices=("from-csv", "from-optuna"), help="action")
    add("source", help="file or folder, or name of the study")
    add("--score", help="column(s) of the score(s), by commas; the first is the reward (default: guessed)")
    add("--goal", help="max or min, one for each score (default: inferred from the name)")
    add("--cost", help="column of the cost of a run, or 'evaluations' (default: the tool's column, else these)")
    add("--level", help="column of the fidelity, if a run has several lines (default: guessed)")
    add("--repeat", help="column that distinguishes repeats of a configuration, such as a seed")
    add("--status", help="column of the status of a run (default: the column 'status')")
    add("--hyperparameters", help="columns of the hyperparameters, separated by commas (default: all others)")
    add("--drop", default="", help="columns to leave out, separated by commas")
    add("--categorical", default="", help="numeric columns without an order, separated by commas")
    add("--log", default="", help="columns on a logarithmic scale, separated by commas")
    add("--decay", default="", help="columns on a logarithmic scale of 1 - x, such as beta2, separated by commas")
    add("--linear", default="", help="columns on a linear scale, separated by commas")
    add("--fill", nargs="+", default=[], metavar="COLUMN=VALUE", help="value of empty and none in a column")
    add("--duplicates", choices=("one", "repeats"), help="meaning of equal lines (default: inferred)")
    add("--max-bytes", type=int, help="largest file, unpacked (default: 2 GB, of compressed ones 50 times theirs)")
    add("--bounds", nargs="+", default=[], metavar="SCORE=LOW:HIGH", help="bounds of a score")
    add("--storage", help="storage of the Optuna study, such as sqlite:///optuna.db")
    add("--name", help="name of the table (default: the file's or study's)")
    add("--licence", default="not stated", help="licence of the data (default: %(default)s)")
    add("--citation", default="", help="citation of the data")
    add("--out", type=Path, metavar="FILE.npz", help="save here instead (then: table=FILE.npz)")
    add("--replace", action="store_true", help="replace the table saved under this name")
    add("--decimal", choices=(".", ","), help="decimal separator (default: inferred from the whole file)")
    add("--ask", action="store_true", help="stop at an uncertain decision, and name the option that settles it")
    add("--dry-run", action="store_true", help="show the inferred columns, save nothing")
    add("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Build and show the table; save it, unless with `--dry-run`."""
    table = _from_csv(args) if args.what == "from-csv" else _from_optuna(args)
    path = None if args.dry_run else user.save(table, args.out, replace=args.replace)
    _show(table, args.json, path)
    return 0


def _from_csv(args: argparse.Namespace) -> Table:
    if args.storage is not None:
        raise ValueError(f"--storage is for from-optuna, got {args.storage}")
    return user.from_csv(args.source, max_bytes=args.max_bytes, **_options(args))


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """The options that are arguments of `from_csv` and `from_study` alike."""
    scales = [(words(args.log), True), (words(args.linear), False), (words(args.decay), "decay")]
    log: dict[str, Any] = {}
    for column, scale in ((column, scale) for columns, scale in scales for column in columns):
        if log.setdefault(column, scale) != scale:
            raise ValueError(f"--log, --linear and --decay must name different columns, got {column} twice")
    return {
        "score": words(args.score), "goal": words(args.goal), "hyperparameters": words(args.hyperparameters),
        "drop": words(args.drop), "categorical": words(args.categorical), "log": log,
        "fill": _pairs("--fill", args.fill), "bounds": _bounds(args.bounds),
        "duplicates": None if args.duplicates is None else args.duplicates == "one",
    } | {name: getattr(args, name) for name in SAME_OPTIONS}  # fmt: skip


def _from_optuna(args: argparse.Namespace) -> Table:
    if args.storage is None:
        raise ValueError("--storage must be the location of the study, such as sqlite:///optuna.db, got none")
    if args.max_bytes is not None:
        raise ValueError(f"--max-bytes is for from-csv, got {args.max_bytes}")
    optuna = extra_module("optuna", "optuna", "studies")
    file = args.storage.partition("sqlite:///")[2].partition("?")[0]
    if file and not Path(file).is_file():  # Optuna would make it
        raise ValueError(f"--storage must be that of an existing study, got {args.storage}: there is no file {file}")
    try:
        known = optuna.get_all_study_names(args.storage)
        if args.source not in known:
            raise ValueError(
                f"study must be one of {', '.join(known) or '(none stored)'} in {args.storage}, got {args.source!r}"
            )
        study = optuna.load_study(study_name=args.source, storage=args.storage)
        return user.from_study(study, **_options(args))
    except (ValueError, OSError):
        raise
    except Exception as error:  # the data base's own, as many as there are data bases
        reason = str(error).partition("\n")[0]
        raise ValueError(f"--storage must be a readable Optuna storage, got {reason}") from error


def _show(table: Table, as_json: bool, path: Path | None) -> None:
    facts = _facts(table) | ({"saved": str(path)} if path else {})
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    print(f"{facts['name']}, from {table.provenance.upstream}")
    for note in table.provenance.notes:
        print(f"  {note}")
    print(f"sha256 {table.provenance.sha256}")
    if path is None:
        return
    print(f"saved  {path}")
    if path.parent.resolve() == user.folder().resolve():
        for each in facts["ids"]:
            print(f"try    hpo-envs compare --env {each} --agents random,bo --seeds 20")
    else:
        print(f'try    gymnasium.make("TableHPO-v0", table="{path}")')


def _facts(table: Table) -> dict[str, Any]:
    name = table.name.removeprefix("user/")
    return {
        "name": name, "ids": [spec.id for spec in registry.of_user(name, len(table.levels))], "rows": len(table),
        "repeats": table.repeats, "levels": len(table.levels), "metrics": {m.name: m.goal for m in table.metrics},
        "hyperparameters": [h.name for h in table.space], "cost_unit": table.cost_unit,
        "sha256": table.provenance.sha256, "notes": list(table.provenance.notes),
    }  # fmt: skip


def _pairs(option: str, entries: list[str]) -> dict[str, str]:
    for entry in entries:
        if "=" not in entry:
            raise ValueError(f"{option} must be COLUMN=VALUE, got {entry!r}")
    return {name: value for name, _, value in (entry.partition("=") for entry in entries)}


def _bounds(entries: list[str]) -> dict[str, tuple[float, float]]:
    found = {}
    for name, ends in _pairs("--bounds", entries).items():
        low, _, high = ends.partition(":")
        try:
            found[name] = (float(low), float(high))
        except ValueError:
            raise ValueError(f"--bounds must be SCORE=LOW:HIGH, two numbers, got {name}={ends!r}") from None
    return found
