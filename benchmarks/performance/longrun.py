"""Whether memory, files and processes stay what they are over ten million evaluations.

    python -m hpo_envs.benchmarks.performance.longrun                       everything, minutes
    python -m hpo_envs.benchmarks.performance.longrun --share 0.01          a hundredth of it

Prints a table: what was done how often, seconds, and how resident memory and open files grew from one tenth of the work
to its end. What the first tenth allocates (tables, caches) is not growth.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym

import hpo_envs
from hpo_envs.benchmarks.study import study
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.store import Store
from hpo_envs.core import screen
from hpo_envs.registry import SPECS


@dataclass(frozen=True)
class Row:
    """What a piece of work cost.

    Attributes:
        name: What was done.
        count: How often.
        seconds: How long it took.
        megabytes: Growth of resident memory after the first tenth.
        files: Growth of the number of open files after the first tenth.
    """

    name: str
    count: int
    seconds: float
    megabytes: float
    files: int


def resident() -> float:
    """Resident memory of this process in MB; its largest so far where the system does not tell the present one."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, ValueError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def open_files() -> int:
    """Number of open files of this process, 0 where the system does not tell."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        if os.path.isdir(folder):
            return len(os.listdir(folder))
    return 0


class Meter:
    """Measures a piece of work while it goes on.

    Args:
        name: What to call it.
        total: How much there is to do.
    """

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done = name, total, 0
        self._start, self._base = time.perf_counter(), (0.0, 0)

    def to(self, done: int) -> None:
        """So much is done now."""
        before, self.done = self.done, done
        if before < self.total / 10 <= done:
            gc.collect()
            self._base = resident(), open_files()

    def row(self) -> Row:
        """The measurements at the end."""
        gc.collect()
        spent = time.perf_counter() - self._start
        return Row(self.name, self.done, spent, resident() - self._base[0], open_files() - self._base[1])


def watch(name: str, work: Iterator[int], total: int) -> Row:
    """Does a piece of work to the end.

    Args:
        name: What to call it.
        work: Yields how much it has done since the last time.
        total: When to stop.
    """
    meter = Meter(name, total)
    for amount in work:
        meter.to(meter.done + amount)
        if meter.done >= total:
            break
    return meter.row()


def whole_study(agent: str, env_id: str, total: int, budget: int = 50) -> Row:
    """A study as `hpo-envs compare` makes it: the run loop, and the store on the disk.

    Raises:
        RuntimeError: Not every run was stored.
    """
    plan = study.from_data(
        {"environments": [env_id], "agents": [agent], "seeds": -(-total // budget), "budget": budget}
        | {"table": "surrogate"}
    )
    meter = Meter(f"evaluations of {env_id}, a study of {agent} on the disk", total)
    with tempfile.TemporaryDirectory() as folder:
        conduct(plan, folder, watch=lambda done, of, left: meter.to(done * budget))
        row = meter.row()
        if len(Store(folder).seeds(env_id, agent)) != len(plan.seeds):
            raise RuntimeError(f"{len(plan.seeds)} runs must be stored, got {len(Store(folder).seeds(env_id, agent))}")
    return row


def evaluations(env_id: str, num_envs: int = 1000) -> Iterator[int]:
    """Random evaluations in a batched environment, episode after episode."""
    envs: Any = gym.make_vec(env_id, num_envs=num_envs, table="surrogate")
    envs.reset(seed=0)
    envs.action_space.seed(0)
    batches = [envs.action_space.sample() for _ in range(50)]
    while True:
        for batch in batches:
            envs.step(batch)
        yield len(batches) * num_envs


def resets(env_id: str) -> Iterator[int]:
    """Resets of one environment, with a step after each."""
    env = gym.make(env_id, table="surrogate")
    env.action_space.seed(0)
    action = env.action_space.sample()
    seed = 0
    while True:
        env.reset(seed=seed)
        env.step(action)
        seed += 1
        yield 1


def makes(ids: Sequence[str], vector: bool) -> Iterator[int]:
    """Environments made, reset and closed, of one id after the other; tables are loaded before the first counts."""
    for env_id in ids:
        gym.make(env_id, table="surrogate").reset(seed=0)
    while True:
        for env_id in ids:
            env: Any = (
                gym.make_vec(env_id, num_envs=2, table="surrogate") if vector else gym.make(env_id, table="surrogate")
            )
            env.reset(seed=0)
            env.close()
            yield 1


def trajectory(env_id: str) -> list[float]:
    """Rewards of a short episode; for processes that must agree."""
    env: Any = gym.make(env_id, table="surrogate")
    env.reset(seed=3)
    env.action_space.seed(3)
    return [float(env.step(env.action_space.sample())[1]) for _ in range(3)]


def processes(method: str, env_id: str, count: int) -> Row:
    """Whether processes started by a method see what this one sees.

    Raises:
        RuntimeError: They do not.
    """
    start, expected = time.perf_counter(), trajectory(env_id)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking where threads run: it is what is tried here
        with multiprocessing.get_context(method).Pool(2) as pool:
            found = pool.map(trajectory, [env_id] * count)
    if any(f != expected for f in found):
        raise RuntimeError(f"processes started by {method} must see what their parent sees, got {found[0]}")
    return Row(f"{method}: episodes in 2 processes", count, time.perf_counter() - start, 0.0, 0)


def table(
    share: float = 1.0,
    ids: Sequence[str] = tuple(SPECS),
    methods: Sequence[str] = tuple(multiprocessing.get_all_start_methods()),
    show: Callable[[Row], object] = lambda row: None,
) -> list[Row]:
    """All pieces of work.

    Args:
        share: Of the whole counts.
        ids: Environments to make; default: every registered one.
        methods: How to start other processes; default: every one that the system has.
        show: Called with each row as it is there.
    """
    one = "NMTHPO-swen-v0"
    plan: list[tuple[str, Iterator[int], int]] = [
        (f"evaluations of {one}, batched", evaluations(one), 10_000_000),
        ("evaluations of FIESTA-tdsa8-v0, batched", evaluations("FIESTA-tdsa8-v0"), 10_000_000),
        (f"resets of {one}", resets(one), 100_000),
        (f"makes of {one}", makes([one], False), 100_000),
        (f"makes of {len(ids)} ids in turn", makes(ids, False), 3_000),
        (f"batched makes of {len(ids)} ids in turn", makes(ids, True), 3_000),
    ]
    rows = [whole_study("random", one, max(int(10_000_000 * share), 5_000))]
    show(rows[-1])
    for name, work, total in plan:
        rows.append(watch(name, work, max(int(total * share), 10)))
        show(rows[-1])
    for method in methods:
        rows.append(processes(method, one, 8))
        show(rows[-1])
    return rows


@screen.on()
def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0, help="of the whole counts (default: 1)")
    args = parser.parse_args()
    print(f"hpo_envs {hpo_envs.__version__}, Python {sys.version.split()[0]}, gymnasium {gym.__version__}\n")
    print(f"| {'work':64} | {'count':>10} | {'s':>6} | {'MB':>6} | {'files':>5} |")
    print(f"|{'-' * 66}|-----------:|-------:|-------:|------:|")
    table(args.share, show=lambda r: print(_line(r), flush=True))


def _line(row: Row) -> str:
    return f"| {row.name:64} | {row.count:10,} | {row.seconds:6.0f} | {row.megabytes:+6.1f} | {row.files:+5} |"


if __name__ == "__main__":
    main()
