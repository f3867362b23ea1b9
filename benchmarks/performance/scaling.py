"""What studies cost beyond environments and agents, and how they would do on many workers.

    python -m hpo_envs.benchmarks.performance.scaling --json scaling.json

Measures (1) the run loop and the store against the environment alone, by evaluation; (2) what an executor and the
coordinator add to a task; (3) the same study on one process and on two; and computes (4) efficiency on up to 1,000
workers: a task keeps a worker for its length and the executor's overhead, and the coordinator, which stores what comes
back, for a part's time; whichever is slower sets the pace, and the last tasks leave workers idle.
"""

from __future__ import annotations

import concurrent.futures
import heapq
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs.agents import Agent
from hpo_envs.benchmarks import runs
from hpo_envs.benchmarks.performance.speed import json_option, seconds_of, write
from hpo_envs.benchmarks.study import executors, scheduler, store, study
from hpo_envs.benchmarks.study import task as work
from hpo_envs.core import screen
from hpo_envs.tables.store import EmbeddedTableWarning

SURROGATE = {"table": "surrogate"}
WORKERS = (1, 2, 10, 100, 1000)


class Idle(Agent):
    """Costs nothing: always suggests the first row or arm."""

    def __init__(self, problem: Any, seed: int) -> None:
        self._action = 0

    def ask(self) -> Any:
        """Returns the action."""
        return self._action

    def tell(self, action: Any, reward: Any, info: Any) -> None:
        """Forgets it."""

    def recommend(self) -> Any:
        """Returns the action."""
        return self._action


def harness(env_id: str, episodes: int, steps: int, rounds: int = 5) -> dict[str, float]:
    """Microseconds of processor time by evaluation: the environment alone, and what loop and store add to it."""
    seeds = range(episodes)
    kwargs: dict[str, Any] = {**SURROGATE, "budget": steps}
    envs: Any = gym.make_vec(env_id, num_envs=episodes, **kwargs)
    actions = np.stack([np.asarray(envs.single_action_space.sample())] * episodes)

    def bare() -> None:
        envs.reset(seed=0)
        for _ in range(steps):
            envs.step(actions)

    found: list[runs.Run] = []

    def loop() -> None:
        found[:] = runs.run(Idle, env_id, seeds, env_kwargs=kwargs)

    with tempfile.TemporaryDirectory() as folder:
        stores = (store.Store(Path(folder) / str(i)) for i in range(rounds))
        loop()
        timed = {"env": bare, "loop": loop, "store": lambda: next(stores).write(found)}
        best = {k: min(seconds_of(f, time.process_time) for _ in range(rounds)) for k, f in timed.items()}
    each = {k: 1e6 * v / (episodes * steps) for k, v in best.items()}
    return {"env": each["env"], "run loop": each["loop"] - each["env"], "store": each["store"]}


def overheads(executor: executors.Executor, tasks: int) -> dict[str, float]:
    """Seconds that a task takes beyond its own work: of the executor, and of the coordinator for storing one part."""
    environment, agent = (
        study.Environment("NMTHPO-zhen-v0", {**SURROGATE, "budget": 20}),
        study.Contestant("r", "random"),
    )
    todo = [work.Task(environment, agent, tuple(range(20 * i, 20 * i + 20)), 60.0) for i in range(tasks)]
    for task in todo[: executor.workers * 4]:
        executor.submit(work.perform, task)
    for _ in todo[: executor.workers * 4]:
        executor.next()
    start = time.perf_counter()
    for task in todo:
        executor.submit(work.perform, task)
    done = [executor.next() for _ in todo]
    wall = time.perf_counter() - start
    inside = sum(d.seconds for d in done)
    with tempfile.TemporaryDirectory() as folder:
        kept = store.Store(folder)
        parts = [seconds_of(lambda d=d: kept.write(d.runs)) for d in done]  # type: ignore[misc]
    return {
        "task": inside / tasks,
        "executor": max(0.0, wall * executor.workers - inside) / tasks,
        "coordinator": statistics.median(parts),
    }


def two_processes(seeds: int) -> dict[str, Any]:
    """The same study on one process and on two, without starting them; results must be the same."""
    data = {"seeds": seeds, **SURROGATE, "environments": ["NMTHPO-swen-v0"], "agents": ["bo-ei-rbf", "graph-ei-rbf"]}
    plan = study.from_data({**data, "budget": 60})
    seconds: dict[Any, float] = {}
    digests = {}
    with tempfile.TemporaryDirectory() as folder:
        for jobs in (1, 2):
            with executors.Processes(jobs) as executor:
                warm = study.from_data({**data, "seeds": 2 * jobs, "budget": 2})
                scheduler.conduct(warm, Path(folder) / f"warm{jobs}", executor, seconds=0.0)
                out = Path(folder) / str(jobs)
                seconds[jobs] = seconds_of(lambda o=out, e=executor: scheduler.conduct(plan, o, e, seconds=1.0))  # type: ignore[misc]
            digests[jobs] = store.digest(store.read(out))
    machine = bare_speedup()
    return {"speedup": seconds[1] / seconds[2], "of bare loops": machine, "same": digests[1] == digests[2], **seconds}


def bare_speedup(steps: int = 20_000_000) -> float:
    """How much more two processes that share nothing do than one: what the machine gives, were executors free."""
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_burn, [1, 1]))
        one = seconds_of(lambda: _burn(steps))
        two = seconds_of(lambda: list(pool.map(_burn, [steps, steps])))
    return 2 * one / two


def _burn(steps: int) -> int:
    return sum(range(steps))


def efficiency(workers: int, tasks: int, task: float, executor: float, coordinator: float) -> float:
    """Share of the workers' time that is work, by going through the tasks one by one.

    Args:
        workers: Workers.
        tasks: Number of tasks, all there from the start.
        task: Seconds of work in a task; lengths vary between half and one and a half times that.
        executor: Seconds that it keeps its worker beyond that.
        coordinator: Seconds that the coordinator, one for all, needs for a finished task.
    """
    lengths = task * np.random.default_rng(0).uniform(0.5, 1.5, tasks)
    free = [0.0] * workers
    ends = []
    for length in lengths:
        end = heapq.heappop(free) + length + executor
        heapq.heappush(free, end)
        ends.append(end)
    stored = 0.0
    for end in sorted(ends):
        stored = max(stored, end) + coordinator
    return float(lengths.sum() / (workers * stored))


def report() -> dict[str, Any]:
    """Everything that the module's docstring names."""
    ids = ("NMTHPO-swen-v0", "NMTHPO-swen-mo-v0", "FIESTA-tdsa12-v0")
    result: dict[str, Any] = {"harness, microseconds": {f"{i}, 100 seeds": harness(i, 100, 20) for i in ids}}
    result["executors, seconds"] = {}
    makers: dict[str, Callable[[], executors.Executor]] = {"processes": lambda: executors.Processes(2)}
    makers["dask"] = lambda: executors.Dask("local", 2)
    for name, make in makers.items():
        with make() as executor:
            result["executors, seconds"][name] = overheads(executor, 100)
    result["two processes"] = two_processes(400)
    dask = result["executors, seconds"]["dask"]
    result["efficiency, 100 tasks a worker"] = {
        n: efficiency(n, 100 * n, scheduler.task_seconds(n), dask["executor"], dask["coordinator"]) for n in WORKERS
    }
    return result


@screen.on()
def main() -> int:
    """Prints the figures as JSON."""
    args = json_option(__doc__).parse_args()
    warnings.simplefilter("ignore", EmbeddedTableWarning)
    result = report()
    print(json.dumps(result, indent=1))
    write(args.json, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
