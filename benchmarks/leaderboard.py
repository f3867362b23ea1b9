"""The suite's own comparison: every reference agent on every environment that it fits, on the measured tables.

    python -m hpo_envs.benchmarks.leaderboard --runs runs/ --seeds 100

continues where it stopped; the summary that is committed is `benchmarks/leaderboard.json`.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym

from hpo_envs.agents import AGENTS, Problem
from hpo_envs.benchmarks import runs, store, summary
from hpo_envs.registry import SPECS, Spec
from hpo_envs.tables import store as tables

SUMMARY = Path(__file__).with_name("leaderboard.json")

EXTERNAL = ("optuna",)
"""Extras whose agents are slow wrappers of other libraries: they get `--external-seeds`."""

BATCH = 20
"""Seeds of one task: what an interruption loses at most."""


def stage_of(spec: Spec, problem: Problem) -> str:
    """What kind of action an environment takes, in the words of `Entry.supports`."""
    if spec.family == "FIESTA":
        return "arms"
    if problem.mutate is not None:
        return "cells"
    if problem.levels is not None:
        return "levels"
    return {"Discrete": "rows", "MultiDiscrete": "grid", "Box": "box"}[type(problem.action_space).__name__]


def fits(name: str, spec: Spec, problem: Problem) -> bool:
    """Whether an agent can work on a problem."""
    supports = AGENTS[name].supports
    stage = stage_of(spec, problem)
    if "features" in supports and problem.features is None and stage != "grid":
        return False
    if problem.objectives > 1:
        # Those made for several objectives alone name nothing else; they work on rows.
        return "objectives" in supports and (stage in supports or (stage == "rows" and supports == ("objectives",)))
    return stage in supports


def plan(only: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """(id, agent) of everything that fits, aliases left out, and ids whose measured table is not installed.

    Args:
        only: Parts of ids or families; all if empty.
    """
    for spec in SPECS.values():
        if only and not any(text.lower() in f"{spec.family} {spec.id}".lower() for text in only):
            continue
        if _arguments(spec) and any(tables.missing(t) for t in spec.tables):
            warnings.warn(f"{spec.id} is left out: its measured table is not installed", stacklevel=2)
            continue
        envs = gym.make_vec(spec.id, num_envs=1, **_arguments(spec))
        problem = runs.problem_of(envs)
        envs.close()
        for name, entry in AGENTS.items():
            if entry.alias_of is None and fits(name, spec, problem):
                yield spec.id, name


def _arguments(spec: Spec) -> dict[str, Any]:
    """The measured table wherever something was measured."""
    measured = not spec.surrogate_only and all(tables.measurable(t) for t in spec.tables)
    return {"table": "measured"} if measured else {}


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of runs (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=100, help="seeds of our agents (default: %(default)s)")
    parser.add_argument("--external-seeds", type=int, default=20, help="seeds of others' (default: %(default)s)")
    parser.add_argument("--only", nargs="*", default=[], help="parts of ids or families (default: all)")
    parser.add_argument("--shard", default="1/1", help="i/n: every n-th task from the i-th (default: %(default)s)")
    parser.add_argument("--times", type=Path, help="append seconds per task to this CSV file")
    parser.add_argument("--out", type=Path, help=f"write the summary, e.g. to {SUMMARY.name}; runs nothing")
    args = parser.parse_args(argv)
    if args.out:
        command = f"python -m hpo_envs.benchmarks.leaderboard --seeds {args.seeds}"
        result = summary.of_runs(
            store.read(args.runs), title="hpo_envs leaderboard", command=command, with_fronts=False
        )
        args.out.write_text(json.dumps(result, separators=(",", ":")) + "\n", encoding="utf-8")
        return
    folder = store.Store(args.runs)
    shard, shards = (int(n) for n in args.shard.split("/"))
    tasks = []
    for env, name in plan(args.only):
        seeds = args.external_seeds if AGENTS[name].extra in EXTERNAL else args.seeds
        tasks += [(env, name, range(k, min(k + BATCH, seeds))) for k in range(0, seeds, BATCH)]
    for env, name, seeds in tasks[shard - 1 :: shards]:
        missing = sorted(set(seeds) - folder.seeds(env, name))
        if missing:
            start = time.perf_counter(), time.process_time()
            try:
                done = runs.run(name, env, missing, env_kwargs=_arguments(SPECS[env]))
            except Exception as error:
                warnings.warn(f"{name} on {env}: {type(error).__name__}: {error}", stacklevel=1)
                continue
            folder.write(done)
            seconds = time.perf_counter() - start[0], time.process_time() - start[1]
            line = f"{env},{name},{len(missing)},{sum(map(len, done))},{seconds[0]:.2f},{seconds[1]:.2f}"
            print(line, flush=True)
            if args.times:
                with args.times.open("a", encoding="utf-8") as stream:
                    stream.write(line + "\n")


if __name__ == "__main__":
    main()
