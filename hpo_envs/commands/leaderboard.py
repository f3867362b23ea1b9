"""Run your agent on the leaderboard's environments, or check its runs before you submit them.

`run` resumes a stopped run. `check` repeats two seeds of each environment with the isolated agent, and reports runs
that are missing, differ, were not isolated, or have rewards that do not match the tables.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hpo_envs.agents.base import whole

if TYPE_CHECKING:
    from hpo_envs.benchmarks.runs import Run
    from hpo_envs.benchmarks.study.study import Study

EPILOG = """\
examples:
  hpo-envs leaderboard run my_agents:Greedy --runs mine/ --jobs 2       every environment, 100 seeds
  hpo-envs leaderboard run my_agents:Greedy --runs mine/ --only FIESTA  one family
  hpo-envs leaderboard check my_agents:Greedy --runs mine/              repeat two seeds of each environment"""

AGAIN = 2
"""Number of seeds that a check repeats on each environment, drawn at random among those that all environments share."""

KEPT = ("env", "agent", "hyperparameters", "env_kwargs", "shuffle", "subsample", "budget", "kind")
"""Keys of a header that must be equal in the repeated run; versions and files may differ between machines."""


def planned(agent: str, seeds: Sequence[int], only: Sequence[str] = ()) -> list[tuple[str, Study]]:
    """Return (folder name, study) for each study of the leaderboard, with this agent alone, on the ids it supports.

    Studies without such an id are left out.

    Args:
        agent: `module:factory` or `policy:FILE`.
        seeds: Seeds of the studies.
        only: Families or ids, with wildcards; empty: all.

    Raises:
        ValueError: The agent has neither form (the leaderboard includes the suite's agents), or cannot be imported; or
            `only` matches no id, or none that the agent supports.
    """
    from hpo_envs.benchmarks import leaderboard
    from hpo_envs.benchmarks.study.study import entrants

    if ":" not in agent:
        raise ValueError(f"agent must be module:factory or policy:FILE, got {agent!r}")
    own = {c.name for c in entrants(agent, isolated=True)}
    plans = []
    for folder, study in leaderboard.studies(1, only, [agent]):
        who = tuple(c for c in study.agents if c.name in own)
        envs = tuple(e for e in study.environments if any(c.fits(e.problem()) for c in who))
        if envs:
            plans.append((folder, dataclasses.replace(study, environments=envs, agents=who, seeds=tuple(seeds))))
    if not plans:
        raise ValueError(f"agent must support one of {', '.join(only) or 'the environments'}, got {agent}")
    return plans


def check(agent: str, folder: Path, only: Sequence[str] = (), jobs: int = 1) -> Iterator[str]:
    """Yield a text for each error found in a submission's runs, which `run` wrote into the folder; none without errors.

    Raises:
        FileNotFoundError: The folder does not exist.
        ValueError: See `planned`; or a stored reward differs from the table.
    """
    from hpo_envs.benchmarks import leaderboard
    from hpo_envs.benchmarks.comparison.replay import Replay
    from hpo_envs.benchmarks.study import store

    if not folder.is_dir():
        raise FileNotFoundError(f"--runs must be a folder of runs, got {folder}")
    for name, study in planned(agent, [0], only):
        given: dict[str, list[Run]] = {env.id: [] for env in study.environments}
        for env, who in itertools.product(study.environments, study.agents) if (folder / name).is_dir() else ():
            given[env.id] = store.read(folder / name, env.id, who.name, check=Replay())
        isolated = {env: all(r.header.get("isolated") for r in runs) for env, runs in given.items()}
        yield from (f"{env}: no run in {folder / name}" for env, runs in given.items() if not runs)
        yield from (f"{env}: not isolated in {folder / name}" for env, every in isolated.items() if not every)
        there = {env: {r.seed: r for r in runs} for env, runs in given.items() if runs}
        common = sorted(set.intersection(*map(set, there.values()))) if there else []
        if len(common) < AGAIN:
            yield f"{AGAIN} seeds must be the same on all environments, got {common} of {', '.join(given)}"
            continue
        drawn = tuple(
            np.random.default_rng().choice(common, AGAIN, replace=False).tolist()
        )  # which nobody can know when the runs are made
        environments = tuple(e for e in study.environments if e.id in there)
        again = dataclasses.replace(study, environments=environments, seeds=drawn)
        with tempfile.TemporaryDirectory() as place:
            leaderboard.run_all(Path(place), [("", again)], jobs)
            for run in store.read(place):
                before = there[run.header["env"]].pop(run.seed)
                if store.digest([_bare(before)]) != store.digest([_bare(run)]):
                    at = f"{run.header['env']}, seed {run.seed}"
                    yield f"{at}: not the run in {folder / name}{_where(before, run)}"
        for id_, left in there.items():
            yield from (
                f"{id_}, seed {seed}: the agent failed, unlike in {folder / name}"
                for seed in again.seeds
                if seed in left
            )


def _bare(run: Run) -> Run:
    """Return a run with only the keys `KEPT` of its header."""
    return dataclasses.replace(run, header={k: run.header.get(k) for k in KEPT})


def _where(before: Run, after: Run) -> str:
    """Return text that names the first evaluation at which two runs differ in their action; empty if none does."""
    pairs = enumerate(zip(before.actions, after.actions, strict=False), 1)
    return next((f", from evaluation {i} on" for i, (a, b) in pairs if (a != b).any()), "")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("what", choices=("run", "check"), help="run the agent, or check its runs")
    parser.add_argument("agent", help="module:factory or policy:FILE; it runs in a separate process")
    parser.add_argument("--runs", type=Path, required=True, help="folder of the agent's runs")
    parser.add_argument("--seeds", type=int, default=100, help="number of seeds (default: %(default)s)")
    parser.add_argument("--only", nargs="*", default=[], help="families or ids, with wildcards (default: all)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Run or check; return 1 if the agent failed or a run is invalid."""
    from hpo_envs.benchmarks import leaderboard

    for name in ("seeds", "jobs"):
        whole(f"--{name}", getattr(args, name), 1)
    sys.path.append(str(Path.cwd()))  # where my_agents.py is
    if args.what == "run":
        plans = planned(args.agent, range(args.seeds), args.only)
        return int(leaderboard.run_all(args.runs, plans, args.jobs) > 0)
    wrong = list(check(args.agent, args.runs, args.only, args.jobs))
    print("\n".join(wrong) or f"{args.agent}: {AGAIN} seeds of each environment are identical to the bit")
    return int(bool(wrong))
