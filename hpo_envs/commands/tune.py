"""Tune your own function: store every evaluation, and resume a stopped search.

`module:function` is imported, also from the current folder. It gets a dict of hyperparameters and returns its score, or
a mapping with it. The search space is a TOML file, one hyperparameter per line:

    lr = { low = 1e-5, high = 1e-1, log = true }
    layers = { low = 1, high = 6 }
    optimizer = ["sgd", "adam"]
    momentum = { low = 0.0, high = 0.99, if = { optimizer = ["sgd"] } }
"""

import argparse
import contextlib
import functools
import inspect
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from hpo_envs.commands import words
from hpo_envs.tables.checks import distinct, parsed
from hpo_envs.tuning.constraints import parsed_constraints
from hpo_envs.tuning.execution.program import Program
from hpo_envs.tuning.execution.workers import KINDS

EPILOG = """\
examples:
  hpo-envs tune train:train --space space.toml --budget 50 --workers 4 --out mine/
  hpo-envs tune train:train --space space.toml --budget 100 --workers 4 --out mine/       continues to 100
  hpo-envs tune train:train --space space.toml --goal min --seconds 600 --out mine/       at most 10 minutes each
  hpo-envs tune --command "Rscript fit.R {lr} {layers}" --space space.toml --out mine/     any program, see the guide
  hpo-envs tune train:train --space space.toml --join mine/        begins a search that other processes may join,
  hpo-envs tune --join mine/                                       such as this one, on any machine that has the folder
  hpo-envs tune --salvage mine/                                    after a damage: what is valid
  hpo-envs tune train:epochs --space space.toml --epochs 27 --out mine/                   stops trainings early

`hpo-envs report mine/` writes the search as an HTML page."""

TUNE_OPTIONS = (
    "agent", "budget_unit", "workers", "out", "executor", "epochs", "seconds", "timeout", "seed",
    "identical_failures", "confirm", "log", "tolerate", "accept_changed",
)  # fmt: skip
"""Options that are arguments of `tune`."""

JOINED = ("workers", "executor", "seconds", "json")
"""Options that a process has of its own when it joins a search without a function."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from hpo_envs.tuning import tune

    add, defaults = parser.add_argument, {p.name: p.default for p in inspect.signature(tune).parameters.values()}
    parser.set_defaults(**{name: defaults[name] for name in TUNE_OPTIONS if name not in ("out", "agent")})
    add("function", nargs="?", help="the function to tune, as module:function")
    add("--command", dest="command_line", help="a program in place of a function: 'python train.py --lr {lr}'")
    file = "where the program writes its score as JSON (default: the last line of JSON that it prints)"
    add("--score-file", help=file)
    add("--score-pattern", help="regular expression with the score as its group, in what the program prints")
    add("--memory", type=float, metavar="GIB", help="memory limit of the program")
    add("--space", type=Path, metavar="FILE.toml", help="the search space")
    add("--join", type=Path, metavar="DIR", help="share the search in this folder with other processes that join it")
    add("--salvage", type=Path, metavar="DIR", help="tune nothing; keep the valid beginning of a damaged search")
    add("--out", type=Path, default=Path("tuning"), help="folder of the search (default: %(default)s)")
    budget = "budget of the search (default: %(default)s evaluations)"
    add("--budget", type=float, default=defaults["budget"], help=budget)
    add("--budget-unit", help="evaluations, cost or epochs (default: evaluations or epochs)")
    add("--workers", type=int, help="parallel evaluations (default: %(default)s)")
    add("--executor", choices=KINDS, help="(default: %(default)s)")
    add("--agent", help="optimizer (default: auto, chosen by the problem)")
    add("--objective", default=defaults["objective"], help="name(s) of the score, by commas (default: %(default)s)")
    add("--goal", default=defaults["goal"], help="max or min, one for each score (default: %(default)s)")
    add("--best", type=float, nargs="+", help="best known score(s)")
    add("--reference", type=float, nargs="+", help="median score(s): with --best, reports show regret")
    add("--epochs", type=int, help="train epoch by epoch, up to this number")
    add("--seconds", type=float, help="time limit of an evaluation")
    add("--constraint", action="append", default=[], metavar="METRIC<=BOUND", help="of a returned metric; repeatable")
    add("--timeout", type=float, help="seconds after which no evaluation begins")
    add("--identical-failures", type=int, help="stop after so many in a row for one cause (default: %(default)s)")
    add("--confirm", type=int, help="evaluate the three best so many times again, within the budget")
    add("--log", choices=("mlflow", "wandb"), help="also log each evaluation there")
    add("--points", type=Path, metavar="FILE.json", help="initial configurations, a JSON list")
    add("--tolerate", action="store_true", help="continue after repeated failures, and after mistakes in the function")
    add("--seed", type=int, help="seed of agent and candidates (default: %(default)s)")
    changed = "if the code digest differs, restart in a subfolder of --out; keep: continue with the old evaluations"
    add("--accept-changed", nargs="?", const=True, choices=(True, "keep"), metavar="keep", help=changed)
    add("--json", action="store_true", help="print the best evaluation as one JSON object")


def _given(args: argparse.Namespace) -> list[str]:
    """Return the names of the options that have another value than their default."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return [name for name, value in vars(parser.parse_args([])).items() if getattr(args, name) != value]


def run(args: argparse.Namespace) -> int:
    """Tune, join or salvage a search, and print a summary of it."""
    if args.salvage is not None:
        return _salvage(args.salvage)
    from hpo_envs.tuning.record import SearchRecord
    from hpo_envs.tuning.tune import join

    if args.join is not None and args.function is None and args.command_line is None:
        if others := [name for name in _given(args) if name not in ("join", *JOINED)]:
            took, got = (", ".join(f"--{n.replace('_', '-')}" for n in names) for names in (JOINED, others))
            raise ValueError(f"--join without a function must have no options but {took}, got {got}")
        sys.path.insert(0, str(Path.cwd()))
        print(f"{args.join} runs {SearchRecord(args.join).header['function']}", file=sys.stderr)
        _show(args, join(args.join, args.workers, args.executor, args.seconds), args.join)
        return 0
    if (args.function is None) == (args.command_line is None):
        raise ValueError("either a function or --command must be given, got both or none")
    if args.space is None:
        raise ValueError("space must be given, got none")
    from hpo_envs.tuning import tune

    sys.path.insert(0, str(Path.cwd()))
    whole = args.budget % 1 == 0 and args.budget_unit != "cost"
    args.out = args.join or args.out
    given = {name: getattr(args, name) for name in TUNE_OPTIONS} | {"join": args.join is not None}
    if args.score_file and (args.workers > 1 or args.join) and "{trial}" not in args.score_file:
        raise ValueError(f"score_file must have {{trial}} in its name with several workers, got {args.score_file!r}")
    memory = None if args.memory is None else args.memory * 2**30
    program = {"file": args.score_file, "pattern": args.score_pattern, "memory": memory}
    if args.function and any(v is not None for v in program.values()):
        raise ValueError("--score-file, --score-pattern and --memory must be used with --command, got a function")
    load = functools.partial(json.loads, object_pairs_hook=distinct)
    try:
        # Also if the function replaces it; with --json, standard output has nothing else.
        with contextlib.redirect_stdout(sys.stderr if args.json else sys.stdout):
            result = tune(
                args.function or Program(args.command_line, **program),
                parsed(args.space, tomllib.loads, "a TOML file"),
                budget=int(args.budget) if whole else args.budget,
                objective=_one_or_more(args.objective),
                goal=_one_or_more(args.goal),
                best=args.best and tuple(args.best),
                reference=args.reference and tuple(args.reference),
                constraints=parsed_constraints(args.constraint) or None,
                points=() if args.points is None else parsed(args.points, load, "a JSON list of configurations"),
                **given,
            )
    except KeyboardInterrupt:
        print(f"\nstopped; finished evaluations are in {args.out}/, the same command resumes", file=sys.stderr)
        raise
    _show(args, result, args.out)
    return 0


def _show(args: argparse.Namespace, result: Any, out: Path) -> None:
    """Print a summary of the result; with `--json`, print the best evaluation or the Pareto front as JSON."""
    several = len(result.header["objectives"]) > 1
    best = result.pareto if several and result.pareto else [result.best]
    if args.json:
        facts: list[dict[str, Any]] = [{"config": e.config, "metrics": e.metrics, "number": e.number} for e in best]
        found = {"pareto": facts} if several else facts[0]
        print(json.dumps(found | {"evaluations": len(result), "folder": str(result.folder)}, indent=2))
        return
    print(repr(result)[1:-1])
    if args.confirm and result.pareto:
        found = result.recommended
        print(f"best predicted mean: {found.mean:.6g}, {found.count} evaluations, at {found.config}")
    print(f"record: {result.folder}; `hpo-envs report {out}` makes a page of it")


def _salvage(folder: Path) -> int:
    from hpo_envs.benchmarks.runs.journal import salvage
    from hpo_envs.tuning.record import NAME, SearchRecord

    lost = salvage(folder / NAME)
    kept = len(SearchRecord(folder).ended)
    said = "nothing is damaged"
    if lost is not None:
        said = f"{lost[0]} lines from the damage on are left out; the damaged file is {lost[1]}"
    print(f"{folder}: {kept} evaluations; {said}")
    return 0


def _one_or_more(text: str) -> str | tuple[str, ...]:
    names = tuple(words(text))
    return names[0] if len(names) == 1 else names
