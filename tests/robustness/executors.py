"""Executors: seconds of an empty task, one digest on all, and a worker killed on each.

    python tests/robustness/executors.py [NAME...] [--tasks N]

A name whose package is missing is left out. For MPI: `mpiexec -n 3 python -m mpi4py.futures` and this file, with `mpi`.
"""

import argparse
import concurrent.futures
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hpo_envs.benchmarks.runs.executors import PooledCalls
from hpo_envs.benchmarks.runs.processes import Processes
from hpo_envs.benchmarks.study import store
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import from_data
from tests.benchmarks.study.helpers import MINE, SMALL

WORKERS = 2

TOGETHER = ("threads", "mpi")
"""Executors whose workers cannot die alone."""


def waiting(submit: Callable[..., Callable[[], Any]]) -> concurrent.futures.Executor:
    """A pool of threads that wait for jobs, each of which is a function that waits for its result."""
    pool = concurrent.futures.ThreadPoolExecutor(WORKERS)
    own = pool.submit
    pool.submit = lambda *call: own(lambda: submit(*call)())  # type: ignore[method-assign, assignment]
    return pool


def spawned() -> Any:
    return concurrent.futures.ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn"))


def threads() -> Any:
    return concurrent.futures.ThreadPoolExecutor(WORKERS)


def own() -> Any:
    return Processes(WORKERS)


def loky() -> Any:
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(WORKERS)


def dask() -> Any:
    from distributed import Client

    return Client(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None).get_executor()


def submitit() -> Any:
    import submitit as package

    jobs = package.AutoExecutor(tempfile.mkdtemp(), cluster="local")
    return waiting(lambda *call: jobs.submit(*call).result)


def ray() -> Any:
    import ray as package

    package.init(num_cpus=WORKERS, ignore_reinit_error=True, log_to_driver=False)
    remote = package.remote(lambda function, argument: function(argument)).options(max_retries=0)

    def submit(caught: Any, *call: Any) -> Callable[[], Any]:
        job = remote.remote(lambda both: caught(*both), call)
        return lambda: package.get(job)

    return waiting(submit)


def mpi() -> Any:
    from mpi4py.futures import MPIPoolExecutor

    return MPIPoolExecutor(WORKERS)


FACTORIES = {f.__name__: f for f in (spawned, threads, own, loky, dask, submitit, ray, mpi)}


def seconds(factory: Callable[[], Any], tasks: int) -> float:
    """Seconds of an empty task, once the workers run."""
    with PooledCalls(factory) as calls:
        list(calls.map(abs, range(2 * WORKERS)))
        start = time.perf_counter()
        list(calls.map(abs, range(tasks)))
        return (time.perf_counter() - start) / tasks


def main() -> int:
    """Print a line for each executor; return 1 if a digest differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*FACTORIES, []], default=[*FACTORIES])
    parser.add_argument("--tasks", type=int, default=200, help="empty tasks that are timed (default: %(default)s)")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    (folder / "mine.py").write_text(MINE)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    dies = {"name": "dies", "algorithm": "mine:Dies", "hyperparameters": {"flag": str(folder / "flag")}}
    studies = {kills: from_data({**SMALL, "agents": SMALL["agents"] + [dies] * kills}) for kills in (False, True)}
    (folder / "flag").touch()
    wrong = 0
    for name in args.names:
        try:
            each = seconds(FACTORIES[name], args.tasks if name != "submitit" else 8)
        except ImportError as error:
            print(f"{name}: left out ({error})", flush=True)
            continue
        study = studies[kills := name not in TOGETHER]
        conduct(study, folder / f"here-{kills}")
        if kills:
            (folder / "flag").unlink()
        outcome = conduct(study, folder / name, FACTORIES[name], seconds=0.01)
        here, there = (store.digest(store.read(folder / part)) for part in (f"here-{kills}", name))
        same = here == there and not outcome.errors and (folder / "flag").exists()
        wrong += not same
        said = "one worker killed" if kills else "no worker killed"
        print(f"{name}: {1000 * each:.3g} ms a task; {said}, digest {'same' if same else 'DIFFERENT'}", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    raise SystemExit(main())
