"""Compare agents on environments, in one process or many. The same command resumes a stopped comparison."""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpo_envs.agents.base import whole
from hpo_envs.commands import words
from hpo_envs.tables.checks import imported

if TYPE_CHECKING:
    from hpo_envs.benchmarks import Comparison
    from hpo_envs.benchmarks.study.block import Block
    from hpo_envs.benchmarks.study.scheduler import StudyState
    from hpo_envs.benchmarks.study.study import Study

EPILOG = """examples:
  hpo-envs compare --env NMTHPO-swen-v0 --agents random --seeds 100 --budget 20 --out runs/
  hpo-envs compare --env 'NMTHPO-*-mo-v0' --agents random,bo-ehvi-rbf --seeds 20 --jobs 2
  hpo-envs compare --env NMTHPO-jaen-v0 --agents random --budget all
  hpo-envs compare --env NMTHPO-v0 --agents random,policy:ppo.npz   # see docs/guides/training-a-policy.md
  hpo-envs compare study.toml --out runs/ --jobs 2
  hpo-envs compare study.toml --out runs/ --part 3/100      # on one of a hundred machines; --part 100/100 verifies
  hpo-envs compare --archive hpo_envs-2026.zip --agents my_file:MyAgent
  hpo-envs compare study.toml --plan                        # how long, how large

study.toml:
  seeds = 100                                  # 0 to 99; or "100-199", or a list; default: as in --seeds
  budget = 50                                  # optional, like objective, cost, shuffle, subsample, transfer
  isolate = true                               # optional: each agent in its own process; or a path to Python
  environments = ["NMTHPO-*-v0", { id = "NMTLC-swen-v0", cost = "evaluations", budget = 200 }]
  agents = ["random", { name = "wide", algorithm = "bo-ucb", hyperparameters = { beta = 4.0 } }, "my_file:MyAgent"]

Runs are stored as they finish. After Ctrl-C the same command resumes; with more agents or seeds it runs the missing
runs. Runs on another table, with other versions or arguments are refused in the same --out folder.

By default each seed is a replication: it sees a random 80 % of the configurations, the same for all agents.
--subsample 1 gives all seeds the whole table.

The score is normalised regret: 0 is the best known score, 1 the median configuration. The verdict names the best agent
on these tasks (only seeds are random) and across tasks (tasks are random, too). --scores targets also prints the scores
of Zhang and Duh (2020), such as evaluations until the table's best.
"""

LONG = 3600.0
"""Seconds of training beyond which a study must be confirmed by `--yes`."""

DEFAULTS = {"env": "NMTHPO-swen-v0", "agents": "random"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from hpo_envs.benchmarks.runs.limits import RUN_SECONDS
    from hpo_envs.benchmarks.study.study import SEEDS, SLOW_SEEDS, SUBSAMPLE

    add, seeds = parser.add_argument, f"{SEEDS}, or {SLOW_SEEDS} for slow agents"
    add("study", nargs="?", type=Path, help="TOML file that replaces --env, --agents, ...")
    add("--env", help=f"ids, separated by commas, or 'all' (default: {DEFAULTS['env']})")
    add("--agents", help=f"names, separated by commas, or 'all' (default: {DEFAULTS['agents']})")
    add("--seeds", help=f"N for seeds 0 to N-1, or FIRST-LAST (default: {seeds}); replaces those of a study file")
    add("--budget", help="a number in the id's cost unit, or 'all' (default: the id's budget)")
    add("--objective", help="rewarded metric(s), separated by commas (default: the id's reward)")
    add("--cost", help="evaluations, or a metric that counts as cost")
    add("--scores", choices=("regret", "targets"), default="regret", help="what to print (default: %(default)s)")
    shuffle, subsample = "shuffle the configurations of each run (default: yes)", "configurations that each seed sees"
    add("--shuffle", action=argparse.BooleanOptionalAction, help=shuffle)
    add("--subsample", type=float, help=f"{subsample}, a fraction (default: {SUBSAMPLE}; 1: all)")
    transfer = "use source tasks: tables of other languages, of the same family or of the named one (CharHPO, ...)"
    add("--transfer", nargs="?", const="family", help=transfer)
    tolerance = "for ftc: largest distance to the best, in the metric's unit (default: 10 %% of best minus median)"
    add("--tolerance", type=float, help=tolerance)
    add("--out", type=Path, help="folder for runs, tables and plots (default: studies/NAME of the study file or --env)")
    add("--jobs", type=int, default=1, help="processes on this machine (default: %(default)s)")
    archive = "rank --agents against the runs of an archive, which are not repeated"
    add("--archive", type=Path, metavar="FILE", help=archive)
    add("--part", metavar="K/N", help="make only part K of N of the runs, for many machines with one --out; see --plan")
    add("--plan", action="store_true", help="print runs, core hours and bytes by agent, and run nothing")
    add("--executor", metavar="MODULE:FACTORY", help="makes a concurrent.futures.Executor to run on (Dask, Ray, ...)")
    add("--isolate", nargs="?", const=True, metavar="PYTHON", help="run each agent in its own process, without "
        "access to the table; with PYTHON, in the interpreter of another environment, which has the agents' packages",
    )  # fmt: skip
    limit = "limit of a run in seconds, at which its agent stops on that id (default: %(default)g)"
    add("--run-seconds", type=float, default=RUN_SECONDS, help=limit)
    add("--yes", action="store_true", help="confirm trainings (Char- and CellMiniLive-*) of more than an hour")


def run(args: argparse.Namespace) -> int:
    """Run the study and print and save results, or print its plan; return 1 if agents stopped or runs are missing."""
    from hpo_envs.benchmarks import Comparison
    from hpo_envs.benchmarks.runs import executors
    from hpo_envs.benchmarks.study import plan
    from hpo_envs.benchmarks.study.scheduler import conduct, progress

    named = args.archive or args.study
    study, name = _study(args), named.stem if named else args.env or DEFAULTS["env"]
    comparison = Comparison(study, args.out or Path("studies") / re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-"))
    if not args.run_seconds > 0:
        raise ValueError(f"--run-seconds must be a number > 0, got {args.run_seconds}")
    if args.tolerance is not None and not 0 <= args.tolerance < math.inf:
        raise ValueError(f"--tolerance must be a finite number >= 0, got {args.tolerance}")
    if args.plan:
        return _plan(study, comparison.folder)
    part = plan.parsed(args.part) if args.part else None
    most, start = math.inf if args.yes else LONG, time.perf_counter()
    try:
        jobs = whole("--jobs", args.jobs, 1)
        factory = imported("--executor", args.executor) if args.executor else None
        pool = executors.PooledCalls(factory) if factory else executors.of_jobs(jobs)
        with pool as executor, progress() as watch:
            given = {"watch": watch, "run_seconds": args.run_seconds, "most": most, "command": args.typed}
            if part is not None:
                outcome = conduct(study, comparison.folder, executor, part=part, **given)
                return _show_part(outcome, part)
            if args.archive:
                from hpo_envs.benchmarks.comparison import archive

                archive.rank(comparison, args.archive, executor, **given)
            else:
                comparison.run(executor, **given)
    except KeyboardInterrupt:
        print(f"\nstopped; finished runs are in {comparison.folder}/, and the same command resumes", file=sys.stderr)
        raise
    return _show(comparison, args, start)


def _plan(study: Study, folder: Path | None) -> int:
    from hpo_envs.benchmarks.report import terminal
    from hpo_envs.benchmarks.study import plan, scheduler

    print(terminal.aligned(plan.rows(*scheduler.planned(study, folder))))
    print("\nestimated from the seconds per suggestion in the leaderboard")
    return 0


def _show_part(outcome: StudyState, part: tuple[int, int]) -> int:
    """Print the result of a part; after the last part, verify that all runs are stored; return the exit status."""
    from hpo_envs.benchmarks.study import manifest
    from hpo_envs.benchmarks.study.store import Store

    folder = outcome.store.folder
    assert folder is not None
    for said in outcome.stopped():
        print(said)
    print(f"part {part[0]} of {part[1]}: {outcome.made} runs made, {outcome.found} already stored")
    if part[0] < part[1]:
        return 1 if outcome.errors else 0
    stored = Store(folder)
    missing = manifest.missing(folder, {pair: stored.seeds(*pair) for pair in outcome.pairs})
    total = sum(map(len, outcome.pairs.values()))
    print(missing or f"all {total} runs of the study are there: hpo-envs report {folder}")
    return 1 if missing else 0


def _study(args: argparse.Namespace) -> Study:
    from hpo_envs.benchmarks.study import study

    options = ("env", "agents", "seeds", "budget", "objective", "cost", "shuffle", "subsample", "transfer", "isolate")
    given = {k: getattr(args, k) for k in options if getattr(args, k) is not None}
    sys.path.append(str(Path.cwd()))  # where a module:factory of --agents is
    if "seeds" in given and not re.fullmatch(r"\d+-\d+", given["seeds"]):
        try:
            given["seeds"] = whole("--seeds", int(given["seeds"]), 1)
        except ValueError:
            raise ValueError(f"--seeds must be an int >= 1 or FIRST-LAST, got {given['seeds']!r}") from None
    if args.archive is not None:
        if (other := given.keys() - {"agents", "isolate"}) or args.study or "agents" not in given:
            raise ValueError(
                f"--archive must be used with --agents alone, got {', '.join(sorted(other)) or args.study or 'none'}"
            )
        from hpo_envs.benchmarks.comparison import archive

        return archive.challenge(args.archive, words(args.agents), False if args.isolate is None else args.isolate)
    if args.study is not None:
        seeds = given.pop("seeds", None)
        if given:
            option, value = next(iter(given.items()))
            raise ValueError(f"--{option} must be left out with a study file ({args.study}), got {value}")
        found = study.from_file(args.study)
        return found if seeds is None else dataclasses.replace(found, seeds=study.seeds_of(seeds), by_cost=False)
    given = {**DEFAULTS, **given}
    data: dict[str, Any] = {"environments": words(given.pop("env")), **given, "agents": words(given["agents"])}
    if "objective" in data:
        data["objective"] = words(data["objective"])
    if data.get("budget", "all") != "all":
        try:
            data["budget"] = float(data["budget"])
        except ValueError:
            raise ValueError(f"--budget must be a number or 'all', got {data['budget']!r}") from None
    return study.from_data(data)


def _show(comparison: Comparison, args: argparse.Namespace, start: float) -> int:
    """Print and save a comparison; return the exit status: 1 if an agent stopped, else 0."""
    outcome, out = comparison.outcome, comparison.folder
    assert outcome is not None
    assert out is not None
    for env, most in outcome.capped.items():
        print(f"\n{env}: budget reduced to {most} evaluations, the whole table")
    for (env, agent), trace in outcome.errors.items() if args.debug else ():
        print(f"\n{agent} on {env} stopped:\n{trace}", file=sys.stderr)
    for said in comparison.save():
        print(f"\n{said}")
    if args.scores == "targets":
        for env, by_agent in comparison.of_folder.by_environment().items():
            _show_targets(env, by_agent, out, args.tolerance)
    print(f"\n{comparison}")
    if comparison.checked:
        print(f"\n{comparison.checked}")
    if outcome.skipped:
        (env, agent), *_ = outcome.skipped
        pairs = f"{len(outcome.skipped)} pairs, such as {agent} on {env}"
        print(f"\nnot run (unsupported id or train/test overlap): {pairs}")
    if outcome.errors:
        counts = f"{len(outcome.errors)} of {len(outcome.pairs)}"
        print(f"\nstopped (--debug shows tracebacks): {counts} pairs of agent and id")
    seconds = time.perf_counter() - start
    print(f"\n{outcome.made} runs made in {seconds:.1f} s, {outcome.found} already stored; runs and summaries: {out}/")
    print(f"sha256 of all results: {comparison.digest()}")
    return 1 if outcome.errors else 0


def _show_targets(env: str, blocks: dict[str, list[Block]], out: Path, tolerance: float | None) -> None:
    """Print and save the targets of an id, or print why it has none."""
    from hpo_envs.benchmarks.comparison import targets
    from hpo_envs.benchmarks.comparison.comparison import FIGURES
    from hpo_envs.benchmarks.report import terminal
    from hpo_envs.tables.files import atomic

    by_agent = {agent: [run for block in some for run in block.runs()] for agent, some in blocks.items()}
    try:
        records = targets.summarise(by_agent, tolerance)
    except ValueError as error:
        print(f"no targets on {env}: {error}")
        return
    columns = ("agent", "score", "n", "reached", "mean", "std", "low", "high")
    atomic.write_csv(atomic.inside(out, out / FIGURES / f"{env}-targets.csv"), records, columns)
    print(f"\n{terminal.aligned(targets.rows(records))}\n\n{targets.legend(by_agent, tolerance)}")
