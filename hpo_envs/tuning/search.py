"""The loop between an agent, a record and workers."""

import math
import re
import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hpo_envs.agents import Agent
from hpo_envs.benchmarks.runs.executors import Calls, WorkerLost
from hpo_envs.benchmarks.runs.limits import one_blas_thread
from hpo_envs.core.engines.function.calls import Outcome
from hpo_envs.core.engines.function.params import FunctionParams, reward_of
from hpo_envs.core.params import checker
from hpo_envs.tuning.record import Evaluation, SearchRecord, plain
from hpo_envs.tuning.workers import Job, JobResult, perform

MISTAKES = (
    "AttributeError", "ImportError", "IndentationError", "KeyError", "ModuleNotFoundError", "NameError", "SyntaxError",
    "TypeError", "UnboundLocalError",
)  # fmt: skip
"""Errors that point to a mistake in the program rather than to a bad configuration."""

FRAME = re.compile(r'^ *File "(?P<file>[^"]+)", line (?P<line>\d+), in .*\n(?: +(?P<code>\S.*))?', re.MULTILINE)
"""Pattern of a frame in a traceback."""

SMALL = 10_000
"""Most points of a search space that may be exhausted."""

OURS = ("/core/engines/function/calls.py", "/tuning/workers.py")
"""Files whose frames are left out of tracebacks: they lie above the function's own."""


class Search:
    """A search that runs on a record, new or resumed.

    Args:
        params: The function, its space, and what it is rewarded for.
        agent: Fresh; it is told what the record holds.
        record: What happened so far.
        seconds: How long an evaluation may take.
        progress: Whether to show a bar; None: where there is a terminal, elsewhere a line for each evaluation.
        points: Configurations to evaluate before the agent is asked; those that the record has are not repeated.
        tolerate: Whether to continue after the same mistake in all of the first evaluations.

    Raises:
        ValueError: The agent cannot be brought to where it was.
    """

    def __init__(
        self,
        params: FunctionParams,
        agent: Agent,
        record: SearchRecord,
        seconds: float | None,
        progress: bool | None,
        points: Sequence[Mapping[str, Any]] = (),
        tolerate: bool = False,
    ) -> None:
        self._params, self._agent, self._record, self._seconds = params, agent, record, seconds
        self._check = checker(params.action_space)
        self._reached: dict[int, int] = {}
        self._best: dict[int, float] = {}
        self._hide = not (sys.stderr.isatty() if progress is None else progress)
        self._lines, self._failures = progress is None and self._hide, progress is not False
        self._tolerate = tolerate
        known = [(e.config, e.action) for e in record.evaluations if e.given]
        # 1, 1.0 and True are equal, but may be three choices.
        self._points = [
            p for p in points if not any(plain(p) == c and np.array_equal(params.action_of(p), a) for c, a in known)
        ]
        small = params.kind != "fidelity" and params.points.size <= SMALL
        self._untried = {tuple(row) for row in params.points.grid().tolist()} if small else None
        self._replay()
        for evaluation in record.evaluations:
            self._try(evaluation)

    def _replay(self) -> None:
        """Repeat the recorded calls of ask and tell; once the agent suggests something else, call only tell."""
        follows = True
        for number, ended in self._record.steps:
            evaluation = self._record.evaluations[number]
            try:
                evaluation.given or self._check(evaluation.action)
            except ValueError as error:
                raise ValueError(f"action {number} in {self._record.folder} {error}") from None
            if ended:
                self._note(evaluation)
                self._tell(evaluation)
            elif follows and not evaluation.given:
                asked = self._ask()
                follows = np.array_equal(asked, evaluation.action)
                if not follows and not self._agent.listens:
                    raise ValueError(
                        f"{type(self._agent).__name__} must repeat its suggestions in {self._record.folder}, got "
                        f"{asked} for {evaluation.action}: its code or its budget has changed. Choose another folder"
                    )
                if not follows:
                    warnings.warn(
                        f"the agent suggests other configurations than those in {self._record.folder}: its code or its "
                        "budget has changed; it is told the recorded results, and the search continues",
                        stacklevel=4,
                    )

    @property
    def unfinished(self) -> bool:
        """Whether anything is left to do."""
        return bool(self._record.running) or self._open

    @property
    def _open(self) -> bool:
        """Whether another evaluation may begin."""
        return self._left() > 0 and not self._agent.done and self._untried != set()

    def run(self, pool: Calls, workers: int) -> None:
        """Run until the budget is used or the agent is done.

        Raises:
            ValueError: All of the first evaluations failed by the same mistake; nothing of them is kept.
        """
        from tqdm.auto import tqdm

        most = min(workers, pool.workers)
        running = self._record.running
        name, unit = str(self._record.header["function"]).rpartition(":")[2], f" {self._params.budget_unit}"
        with tqdm(total=self._params.budget, unit=unit, disable=self._hide, desc=name) as bar:
            for evaluation in running:  # evaluations in flight when the search was stopped
                pool.submit(perform, self._job(evaluation))
            out = len(running)
            self._advance(bar)
            while True:
                while out < most and self._open:
                    pool.submit(perform, self._job(self._begin()))
                    out += 1
                if not out:
                    break
                try:
                    done: JobResult = pool.next()
                except WorkerLost as lost:
                    job: Job = lost.argument
                    done = JobResult(job.number, ((job.epoch, Outcome("failed", error=str(lost))),), 0.0, "")
                out -= 1
                evaluation = self._end(done)
                if self._lines or (self._failures and evaluation.rewards is None):
                    tqdm.write(self._line(evaluation), file=sys.stderr)
                if len(self._record.ended) == most and not self._tolerate:
                    self._refuse_mistakes()
                self._tell(evaluation)
                self._advance(bar)
        if self._failures:
            self._name_mistakes()
        if self._failures and self._untried == set() and self._left() > 0:
            tried = f"{self._record.spent:g} of {self._params.budget:g} {self._params.budget_unit}"
            print(f"search space exhausted after {tried}: every configuration is evaluated", file=sys.stderr)

    def _name_mistakes(self) -> None:
        """Warn about mistakes in spite of which the search continued, such as one in the branch of a single choice."""
        found = Counter(cause(e.error) for e in self._record.ended if e.status == "failed" and mistake(e.error))
        for what, count in found.most_common():
            print(f"{count} of {len(self._record.ended)} evaluations failed: {what}", file=sys.stderr)

    def _advance(self, bar: Any) -> None:
        """Show the budget used and the incumbent."""
        if self._hide:
            return
        best, failed = self._record.best, self._record.failed
        said = [self._metrics(best) if best else "", f"{failed} failed" if failed else ""]
        bar.set_postfix_str(", ".join(filter(None, said)), refresh=False)
        bar.update(round(self._record.spent - bar.n, 3))

    def _metrics(self, evaluation: Evaluation) -> str:
        return ", ".join(f"{m.name} {evaluation.metrics[m.name]:.5g}" for m in self._params.rewarded)

    def _line(self, evaluation: Evaluation) -> str:
        """An evaluation and the incumbent."""
        best = self._record.best
        came = cause(evaluation.error) if evaluation.rewards is None else self._metrics(evaluation)
        said = [f"{self._record.spent:g}/{self._params.budget:g} {evaluation.status}: {came}"]
        said += [f"best {self._metrics(best)}"] if best and best is not evaluation else []
        return "; ".join([*said, f"{evaluation.seconds:.3g} s", str(evaluation.config)])

    def _refuse_mistakes(self) -> None:
        """Stop a search in which every evaluation failed because of the same mistake.

        Raises:
            ValueError: They did.
        """
        kinds = {mistake(e.error) if e.status == "failed" else "" for e in self._record.ended}
        if len(kinds) == 1 and "" not in kinds:
            count, error = len(self._record.ended), self._record.ended[-1].error
            self._record.discard()
            first = "the first evaluation" if count == 1 else f"each of the first {count} evaluations"
            raise ValueError(
                f"function must run, got a failure of {first}: {cause(error)}. Nothing of the search is kept; "
                "tolerate=True (--tolerate) continues after such mistakes"
            )

    def _ask(self) -> Any:
        with one_blas_thread():
            return self._check(self._agent.ask())

    def _begin(self) -> Evaluation:
        if self._points:
            config = self._points.pop(0)
            return self._try(self._record.begin(self._params.action_of(config), config, given=True))
        action = self._ask()
        return self._try(self._record.begin(action, self._params.points.config(self._params.stored(action))))

    def _try(self, evaluation: Evaluation) -> Evaluation:
        """Note that a configuration is evaluated, where all of the space may be."""
        if self._untried:
            self._untried.discard(tuple(self._params.stored(np.asarray(evaluation.action)).tolist()))
        return evaluation

    def config(self, evaluation: Evaluation) -> dict[str, Any]:
        """Arguments of the function: choices of the space as they are, given numbers to the last digit."""
        p = self._params
        config = p.points.config(p.stored(np.asarray(evaluation.action)))
        numbers = [h.name for h in p.points.space if h.kind != "categorical" and h.name in config]
        return config | ({name: evaluation.config[name] for name in numbers} if evaluation.given else {})

    def _job(self, evaluation: Evaluation) -> Job:
        p = self._params
        job = {"function": p.function, "form": p.form, "objectives": p.objectives, "seconds": self._seconds}
        config = self.config(evaluation)
        if p.kind != "fidelity":
            return Job(evaluation.number, config=config, **job)  # type: ignore[arg-type]
        row, level = evaluation.action
        folder = None if p.folder is None or p.form != "checkpoints" else p.folder / str(row)
        search = str(self._record.folder.resolve())
        return Job(evaluation.number, config=config, epoch=level + 1, training=(search, row), folder=folder, **job)  # type: ignore[arg-type]

    def _end(self, done: JobResult) -> Evaluation:
        """Store the result of an evaluation."""
        p, action = self._params, self._record.evaluations[done.number].action
        outcomes = [outcome for _, outcome in done.outcomes]
        last = outcomes[-1] if outcomes else Outcome("failed", error="function must yield at least one score, got none")
        status = last.status
        good = [float(reward_of(o, p).sum()) for o in outcomes if o.status == "ok"]
        best = None
        if p.kind == "fidelity":
            row, level = action
            best = max([*good, self._best.get(row, -np.inf)])
            if status == "ok" and done.outcomes[-1][0] < level + 1:
                status = "truncated"
        cost = math.fsum(o.price for o in outcomes)
        evaluation = self._record.end(
            done.number,
            status=status,
            rewards=reward_of(last, p).tolist() if last.status == "ok" else None,
            metrics=last.metrics,
            spent=cost if p.budget_unit == p.cost_unit else self._share(action),
            cost=cost,
            seconds=sum(o.seconds for o in outcomes),
            best=None if best is None or not np.isfinite(best) else best,
            error=last.error,
            started=done.started,
            worker=done.worker,
        )
        self._note(evaluation)
        return evaluation

    def _note(self, evaluation: Evaluation) -> None:
        """Store the progress of a training."""
        if self._params.kind == "fidelity":
            row, level = evaluation.action
            self._reached[row] = max(self._reached.get(row, 0), level + 1)
            if evaluation.best is not None:
                self._best[row] = evaluation.best

    def _share(self, action: Any) -> float:
        """Budget used by an evaluation, if not in cost: 1, or the new epochs."""
        if self._params.budget_unit != "epochs":
            return 1.0
        row, level = action
        reached = self._reached.get(row, 0)
        return float(level + 1 - reached if reached <= level else level + 1)

    def _left(self) -> float:
        """Remaining budget after all pending evaluations, at the mean cost so far."""
        running, spent = self._record.running, self._record.spent
        if self._params.budget_unit == self._params.cost_unit:
            under_way = len(running) * spent / max(len(self._record.ended), 1)
        else:
            under_way = math.fsum(self._share(e.action) for e in running)
        return self._params.budget - spent - under_way

    def _tell(self, evaluation: Evaluation) -> None:
        p = self._params
        action = np.asarray(evaluation.action, p.action_space.dtype)
        rewards = p.low if evaluation.rewards is None else np.array(evaluation.rewards)
        info = {"cost": evaluation.spent, "metrics": dict(evaluation.metrics), "status": evaluation.status}
        info |= {"config": dict(evaluation.config), "finished": True}
        if evaluation.best is not None:
            info["best"] = evaluation.best
        told = int(action) if p.kind == "rows" else action
        with one_blas_thread():
            self._agent.tell(told, rewards.copy() if p.vector else float(rewards[0]), info)


def cause(error: str) -> str:
    """The last line of a traceback, with the line of the function that caused it; other errors unchanged."""
    frames = [m for m in FRAME.finditer(error) if not m["file"].replace("\\", "/").endswith(OURS)]
    last = error.rstrip().rpartition("\n")[2]
    if not frames:
        return last
    at = [m for m in frames if m["file"] == frames[0]["file"]][-1]
    code = f": {at['code']}" if at["code"] else ""
    return f"{last} ({at['file']}, line {at['line']}{code})"


def mistake(error: str) -> str:
    """The type of an error that is a mistake in the program; empty if the configuration may be the cause."""
    kind = error.rstrip().rpartition("\n")[2].partition(":")[0]
    return kind if kind in MISTAKES else "score" if error.startswith("function must return") else ""
