"""`tune` and `join`: defaults of arguments, the loop over workers, progress lines, number of threads of each worker."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from threadpoolctl import threadpool_limits

from hpo_envs.agents import Agent
from hpo_envs.agents.base import whole
from hpo_envs.benchmarks.runs.executors import Calls, WorkerLost
from hpo_envs.core.engines.function.calls import Outcome
from hpo_envs.tuning.execution.program import Program
from hpo_envs.tuning.execution.workers import Job, JobResult, check_main, executor_of, perform
from hpo_envs.tuning.mistakes import cause, named
from hpo_envs.tuning.record import Evaluation, SearchRecord, points_of
from hpo_envs.tuning.search import Search
from hpo_envs.tuning.tuned import Tuned


def tune(
    function: Any,
    space: Any,
    *,
    agent: str | Callable[..., Agent] | None = None,
    budget: float = 50,
    budget_unit: str | None = None,
    workers: int = 1,
    out: str | Path | None = None,
    executor: Any = "auto",
    objective: str | tuple[str, ...] = "score",
    goal: str | tuple[str, ...] = "max",
    bounds: Any = None,
    best: float | tuple[float, ...] | None = None,
    reference: float | tuple[float, ...] | None = None,
    epochs: int | None = None,
    candidates: int | None = None,
    seconds: float | None = None,
    timeout: float | None = None,
    seed: int = 0,
    sources: Iterable[Any] = (),
    points: Iterable[Mapping[str, Any]] = (),
    constraints: Mapping[str, tuple[str, float]] | None = None,
    identical_failures: int = 5,
    confirm: int = 0,
    join: bool = False,
    log: str | None = None,
    tolerate: bool = False,
    progress: bool | None = None,
    accept_changed: bool | str = False,
    **hyperparameters: Any,
) -> Tuned:
    """Tune a function.

    Each result is on disk before the agent observes it. Calling `tune` again with the same folder resumes a search that
    was killed, stopped or given a larger budget: the agent observes finished evaluations in their order, and unfinished
    ones are repeated and count once.

    An evaluation fails if the function raises an exception, its process dies or its time limit is exceeded; it diverges
    if a score is not finite. The error is stored, and the evaluation counts towards the budget.

    Args:
        function: `train(config)` that returns a score, or a mapping with it; `train(config, trial)`, which may report
            scores; or, with `epochs`, a generator that yields scores, or `train(config, resume_from, epochs)`; see the
            pages of `FunctionHPO-v0` and `FunctionLC-v0`. It may be given as `module:name`.
        space: Search space, as in `FunctionHPO-v0`.
        agent: Registered name, or a factory `(problem, seed, **hyperparameters) -> Agent`, which chooses from
            candidates; default: `auto`.
        budget: Total budget, in `budget_unit`.
        budget_unit: `evaluations`, `cost`, or with `epochs` also `epochs`; default: `epochs` if `epochs` is given, else
            `evaluations`.
        workers: Largest number of concurrent evaluations.
        out: Folder of the search; None: a temporary folder.
        executor: `serial`, `processes`, `threads` or `auto`; or any `concurrent.futures.Executor` (Dask's, loky's,
            mpi4py's, ...), or a factory of one, which replaces a broken pool. `workers` is the number of evaluations
            that it gets at once.
        objective: Name of the score, or a tuple of names.
        goal: `max` or `min`, or a tuple with one of them per objective.
        bounds: Range of the scores, as in `FunctionHPO-v0`.
        best: Best known score; with `reference`, `hpo-envs report` compares searches by normalised regret, else by raw
            scores. A resumed search keeps its scale.
        reference: Median score, see `best`.
        epochs: Largest number of epochs of a training.
        candidates: Number of candidates, as in `FunctionHPO-v0`.
        seconds: Time limit of an evaluation; None: no limit.
        timeout: Seconds from the call after which no evaluation begins; running ones are finished and kept.
        seed: Seed of the agent and of the candidates.
        sources: Earlier knowledge: tables, frames, Optuna studies, earlier searches or their folders. If the agent
            searches the whole space, their best configurations, clipped to it, are evaluated first; transfer agents
            learn from their evaluations in the space.
        points: Start points, for agents that search the whole space, as the default one usually does.
        constraints: Metric -> (`<=` or `>=`, bound): numbers that the function must return besides the objectives. The
            best evaluation satisfies all of them; agents that do not model constraints observe infeasible evaluations
            as failed.
        identical_failures: Number of failures in a row with one cause that stop the search; all
            evaluations are kept.
        confirm: Number of times that each of the three configurations with the best predicted mean is evaluated again
            at the end, within the budget; for noisy scores, see `recommended`.
        join: Whether several processes, also on other machines that share the folder, tune in it at the same time, each
            with this call. Evaluations of dead processes are taken over. The largest budget and `confirm` count: a
            smaller one, as of a call that is repeated after another has raised it, is warned of.
        log: `mlflow` or `wandb`: each evaluation also becomes a run there, with its configuration, metrics and reports.
        tolerate: Whether to continue after `identical_failures`, and if the first evaluations (as many as there are
            workers) all fail because of the same mistake: a NameError, TypeError, KeyError or the like, or no score.
            Otherwise the search stops, and after such a mistake, which `join` does not check, no evaluation is kept.
        progress: Whether to show a bar with the incumbent, and failures; None: a bar on a terminal, elsewhere a line
            for each evaluation.
        accept_changed: What to do if code or a version has changed: False refuses to resume; True begins or resumes a
            search in a subfolder of `out` that is named by the code; `keep` continues with the old evaluations, which
            the record and the page state. After a change of the space, both use a subfolder, and learn from `out`.
        **hyperparameters: Arguments of the agent.

    Returns:
        The result, with `.best`, `.to_frame()` and `.plot()`.

    Raises:
        ValueError: An argument is invalid, the agent does not support the problem, the folder holds another search or
            one with other code, or is in use; or the function has a mistake, see `tolerate`, or
            `identical_failures` stop the search before any feasible evaluation.
        FileNotFoundError: A folder in `sources` holds no search.
        ModuleNotFoundError: The package of `log` is not installed.
        RuntimeError: A worker imports a program that lacks `if __name__ == "__main__":`.
    """
    check_main()
    workers = whole("workers", workers, 1)
    search = Search(
        space, function=function, agent=agent, budget=budget, budget_unit=budget_unit, workers=workers, out=out,
        objective=objective, goal=goal, bounds=bounds, best=best, reference=reference, epochs=epochs,
        candidates=candidates, seconds=seconds, timeout=timeout, seed=seed, sources=sources, points=points,
        constraints=constraints, identical_failures=identical_failures, confirm=confirm, join=join, log=log,
        tolerate=tolerate, accept_changed=accept_changed, **hyperparameters,
    )  # fmt: skip
    with search:
        if join or not search.done:
            with _inner_threads(workers), executor_of(executor, workers, search.function) as pool:
                _run(search, pool, workers, _Progress(search, progress))
        return search.result


def join(folder: Path, workers: int = 1, executor: Any = "auto", seconds: float | None = None) -> Tuned:
    """Join the search in a folder with the settings of its record; return the result.

    A Python function is imported by its name. Other arguments are those of `tune`.

    Raises:
        FileNotFoundError: The folder holds no search.
        ValueError: See `tune`, for instance after a change of code.
    """
    h = SearchRecord(folder).header
    if h.get("objects"):
        raise ValueError(
            f"out must be a search whose choices can be read, got {folder}, where "
            f"those of {', '.join(h['objects'])} are objects of a program: call tune(..., join=True) in it instead"
        )
    names, goals = h["objectives"], h["goals"]
    given = dict(
        agent=h["agent"], budget=h["budget"], workers=workers, out=folder, executor=executor,
        budget_unit="cost" if h["budget_unit"] == h["cost_unit"] else h["budget_unit"],
        objective=names[0] if len(names) == 1 else tuple(names),
        goal=goals[0] if len(names) == 1 else tuple(goals), bounds=h.get("bounds"), confirm=h["confirm"],
        epochs=h["epochs"], candidates=None if h.get("actions") == "box" else h["candidates"], seconds=seconds,
        seed=h["seed"], constraints=h.get("constraints"), join=True,
    )  # fmt: skip
    function = Program(**h["program"]) if "program" in h else h["function"]
    return tune(function, points_of(h).space, **{**h["hyperparameters"], **given})


def _run(search: Search, pool: Calls, workers: int, progress: "_Progress") -> None:
    """Evaluate until the search is done; ValueError if repeated failures stop it without a feasible evaluation."""
    most, out = min(workers, pool.workers), 0
    search.first = most
    with progress:
        while True:
            while out < most and (trial := search.begin()) is not None:
                pool.submit(perform, search.job(trial))
                out += 1
            if not out:
                if search.waits():
                    continue
                break
            try:
                done: JobResult = pool.next()
            except WorkerLost as lost:
                job: Job = lost.argument
                done = JobResult(job.number, ((job.epoch, Outcome("failed", error=str(lost))),), 0.0, "")
            out -= 1
            progress.show(search.finish(done))
    if search.stuck and search.record.best is None:
        raise ValueError(search.stuck)
    progress.close()


class _Progress:
    """Progress of a search: a bar with the incumbent or a line per evaluation, failures, and a summary of mistakes."""

    def __init__(self, search: Search, wanted: bool | None) -> None:
        from tqdm.auto import tqdm

        self._search, self._record, header = search, search.record, search.record.header
        if sys.stderr is None:
            from hpo_envs.tables import screen

            screen.open_closed()
        hide = not (sys.stderr.isatty() if wanted is None else wanted)
        self._lines, self._failures = wanted is None and hide, wanted is not False
        name, unit = str(header["function"]).partition(":")[2], f" {header['budget_unit']}"
        self._bar = tqdm(total=header["budget"], unit=unit, disable=hide, desc=name)

    def __enter__(self) -> Self:
        self._advance()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def show(self, evaluation: Evaluation) -> None:
        """Advance the bar; print a line for the evaluation if lines are shown, or if it failed and failures are."""
        if self._lines or (self._failures and evaluation.rewards is None):
            with contextlib.suppress(OSError):  # a log on a full disk ends no search
                self._bar.write(self._line(evaluation), file=sys.stderr)
        self._advance()

    def close(self) -> None:
        """Print mistakes, and what ended the search before its budget, unless `progress` is False."""
        if self._failures:
            with contextlib.suppress(OSError):
                for line in filter(None, [*named(self._record.ended), self._search.ending]):
                    print(line, file=sys.stderr)

    def _advance(self) -> None:
        if self._bar.disable:
            return
        best, failed = self._record.best, self._record.failed
        said = [self._metrics(best) if best else "", f"{failed} failed" if failed else ""]
        self._bar.set_postfix_str(", ".join(filter(None, said)), refresh=False)
        self._bar.update(round(self._record.spent - self._bar.n, 3))

    def _metrics(self, evaluation: Evaluation) -> str:
        return ", ".join(f"{name} {evaluation.metrics[name]:.5g}" for name in self._record.header["objectives"])

    def _line(self, evaluation: Evaluation) -> str:
        """Return the progress line of an evaluation, with the incumbent's score if that is another evaluation."""
        best = self._record.best
        came = cause(evaluation.error) if evaluation.rewards is None else self._metrics(evaluation)
        said = [f"{self._record.spent:g}/{self._record.header['budget']:g} {evaluation.status}: {came}"]
        said += [f"best {self._metrics(best)}"] if best and best is not evaluation else []
        return "; ".join([*said, f"{evaluation.seconds:.3g} s", str(evaluation.config)])


@contextlib.contextmanager
def _inner_threads(workers: int) -> Iterator[None]:
    """Divide the cores among several workers: limit BLAS and OpenMP threads, in this process and its children."""
    if workers == 1:
        yield
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    each = max(1, cores // workers)
    names = [f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL") if f"{name}_NUM_THREADS" not in os.environ]
    os.environ.update(dict.fromkeys(names, str(each)))
    try:
        with threadpool_limits(each):
            yield
    finally:
        for name in names:
            del os.environ[name]
