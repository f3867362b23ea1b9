"""Runs are the same however they are made: every agent on every id that it fits, two seeds, the same sha256.

    python tests/regression/determinism.py FOLDER

Each way of making the runs is a study in a folder of its own below FOLDER, so that the same command goes on after a
kill; the first way is what the others are compared with: batch size, engine, hash seed and number of threads change.
The exit status is 1 if any of them makes a difference. What another processor changes is a command of `digests.py`.
"""

import argparse
import dataclasses
import hashlib
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpo_envs.benchmarks.runs import run
from hpo_envs.benchmarks.study import executors, store
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import from_data
from hpo_envs.benchmarks.study.task import Done, Task
from hpo_envs.families.registry import SPECS, installed

SEEDS = (0, 1)


@dataclass(frozen=True)
class Way:
    """How runs are made.

    Attributes:
        engine: `together` (both seeds in one batch, in a pool of processes) or `processes` (a pool, one seed after the
            other).
        variables: Of the environment; they hold from the start of each interpreter.
    """

    engine: str
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)


def _threads(count: int) -> dict[str, str]:
    return dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(count))


_PLAIN = {**_threads(1), "PYTHONHASHSEED": "0"}

BASE = {"together": Way("together", _PLAIN)}
WAYS = {**BASE, "processes": Way("processes", {**_threads(2), "PYTHONHASHSEED": "1"})}


class Together(executors.Processes):
    """Processes that make all runs of a task in one batch."""

    def submit(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Takes a task of a study."""
        super().submit(_together, argument)


def _together(task: Task) -> Done:
    begin, agent = time.perf_counter(), task.agent
    where = task.environment
    try:
        runs = run(agent.algorithm, where.id, task.seeds, env_kwargs=where.kwargs, **agent.hyperparameters)
    except Exception as error:  # as in `perform`, it stops this agent on this id
        return Done(task, (), time.perf_counter() - begin, repr(error))
    described = tuple(dataclasses.replace(r, header=agent.describe(r.header)) for r in runs)
    return Done(task, described, time.perf_counter() - begin)


def work(folder: Path, engine: str, ids: Sequence[str], agents: Sequence[str], jobs: int) -> None:
    """Makes what is missing of one way's runs, and says which agents failed; they must do so in every way."""
    warnings.simplefilter("ignore")
    make = {"together": Together, "processes": executors.Processes}
    with make[engine](jobs) as executor:
        known = [*ids] or [i for i, spec in SPECS.items() if installed(spec)]
        study = from_data({"environments": known, "agents": list(agents), "seeds": [*SEEDS]})
        outcome = conduct(study, folder, executor)
        for (env, agent), error in outcome.errors.items():
            print(f"{agent} on {env}: {error.strip().splitlines()[-1]}")
        print(f"{outcome.found} runs found, {outcome.made} made, {len(outcome.errors)} agents failed")


def digests(folder: Path) -> dict[str, str]:
    """The sha256 of each run of a way, by id, agent and seed."""
    return {"/".join(map(str, store.key_of(r))): store.digest([r]) for r in store.read(folder)}


def compare(folder: Path, ways: Sequence[str]) -> dict[str, list[str]]:
    """Prints how ways compare with the first of them; returns the runs that differ or are missing, by way."""
    first, *others = ways
    base, differ = digests(folder / first), {}
    for way in others:
        now = digests(folder / way)
        differ[way] = sorted(key for key in base.keys() | now.keys() if base.get(key) != now.get(key))
    print(*table(differ, base), sep="\n")
    total = hashlib.sha256("\n".join(f"{key} {base[key]}" for key in sorted(base)).encode()).hexdigest()
    ids, agents = (len({key.split("/")[i] for key in base}) for i in (0, 1))
    count = len({key for keys in differ.values() for key in keys})
    print(f"{len(base)} runs of {agents} agents on {ids} ids, {len(ways)} ways: {count} differ, sha256 {total}")
    return differ


def table(differ: Mapping[str, Sequence[str]], base: Mapping[str, str]) -> Iterator[str]:
    """Lines of Markdown: of each agent that differs anywhere, how many of its runs do, by way."""
    yield f"| agent | runs | {' | '.join(differ)} |"
    yield f"|---|{'---:|' * (1 + len(differ))}"
    for agent in sorted({key.split("/")[1] for keys in differ.values() for key in keys}):
        counts = [sum(key.split("/")[1] == agent for key in keys) for keys in (base, *differ.values())]
        yield f"| `{agent}` | {' | '.join(map(str, counts))} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the runs in all ways, each in an interpreter of its own, and compares them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the runs are kept")
    parser.add_argument("--ways", default="", help="some of the ways, separated by commas")
    parser.add_argument("--ids", default="", help="some ids, separated by commas")
    parser.add_argument("--agents", default="all", help="some agents, separated by commas")
    parser.add_argument("--jobs", type=int, default=2, help="processes side by side (default: %(default)s)")
    parser.add_argument("--work", metavar="WAY", help="only make the runs of this way, in this interpreter")
    args = parser.parse_args(arguments)
    if args.work:
        ids = [i for i in args.ids.split(",") if i]
        agents = args.agents.split(",")
        work(args.folder / args.work, WAYS[args.work].engine, ids, agents, args.jobs)
        return 0
    chosen = [way for way in WAYS if way in BASE or not args.ways or way in args.ways.split(",")]
    status = 0
    for way in chosen:
        begin = time.monotonic()
        same = arguments if arguments is not None else sys.argv[1:]
        command = [sys.executable, "-W", "ignore", __file__, *same, "--work", way]
        # Agents given as module:factory may be those of the tests.
        path = os.pathsep.join([str(Path(__file__).resolve().parents[2]), *filter(None, [os.getenv("PYTHONPATH")])])
        variables = {**os.environ, "PYTHONPATH": path, **WAYS[way].variables}
        status |= subprocess.run(command, env=variables, check=False).returncode
        print(f"{way}: {time.monotonic() - begin:.0f} s", flush=True)
    differ = compare(args.folder, chosen)
    return 1 if status or any(differ.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
