"""`Search` by ask and tell: replay after interruptions, retries, budget left, repeats, stopping, shared folders."""

import contextlib
import dataclasses
import math
import os
import platform
import secrets
import shutil
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np

from hpo_envs.benchmarks.runs.limits import one_blas_thread
from hpo_envs.core.engines.function.calls import Outcome, read, takes_trial
from hpo_envs.core.engines.function.params import reward_of
from hpo_envs.core.params import check_int, checker
from hpo_envs.tables.checks import regular, scalar, shown
from hpo_envs.tables.files import atomic
from hpo_envs.tables.files.lock import locked
from hpo_envs.tables.table import is_number
from hpo_envs.tuning.constraints import violations
from hpo_envs.tuning.execution.membership import Membership, lives
from hpo_envs.tuning.execution.tracking import tracker_of
from hpo_envs.tuning.execution.workers import Job, JobResult, release
from hpo_envs.tuning.mistakes import TEXT, cause, in_a_row, mistake, shortened
from hpo_envs.tuning.preparation import Preparation
from hpo_envs.tuning.recommendation import FINALISTS, repeated, to_confirm
from hpo_envs.tuning.record import CHECKPOINTS, NAME, REPORTS, Evaluation, SearchRecord, apart, other_space, plain
from hpo_envs.tuning.trial import Trial
from hpo_envs.tuning.tuned import Tuned

POLL = 0.5
"""Seconds between checks of what other processes have recorded."""

SMALL = 10_000
"""Largest number of points of a search space whose exhaustion is tracked."""


class Search:
    """A search whose evaluations are carried out by the caller: `ask` for a trial, `tell` its score.

    Record, page, agents and resumption are those of `tune`, which uses this class. A search in the same folder is
    resumed: `ask` first returns the trials without a result.

        search = Search({"lr": (1e-5, 1e-1, "log")}, out="mine/", budget=20)
        for trial in search:
            search.tell(trial, train(**trial.config))
        search.result.best_config

    Args:
        space: Search space, as in `tune`.
        function: The function that `tune` calls; None: the caller evaluates, and resuming does not compare its code.
        out: Folder of the search, locked until `close` unless `join`; None: a temporary folder.
        budget: Total budget, see `tune`; None: 10,000 evaluations, each candidate once, or a cost of 1e6.
        **given: All arguments not listed here, such as `seconds`, `agent` and `seed`, are those of `tune`.

    Attributes:
        trials: Pending trials by number.
        stuck: Message once `identical_failures` evaluations in a row have failed for the same cause; else empty, also
            with `tolerate`.
        first: Number of first evaluations that must not all fail because of the same mistake.
        record: The record on disk.
        function: The function that workers call.

    Raises:
        ValueError: An argument is invalid, or the folder holds another search or is in use; see `tune`.
        FileNotFoundError: A folder in `sources` holds no search.
        ModuleNotFoundError: The package of `log` is not installed.
    """

    def __init__(
        self, space: Any, *, function: Any = None, out: str | Path | None = None, budget: float | None = None,
        seconds: float | None = None, timeout: float | None = None, identical_failures: int = 5, confirm: int = 0,
        join: bool = False, log: str | None = None, tolerate: bool = False, accept_changed: bool | str = False,
        **given: Any,
    ) -> None:  # fmt: skip
        self._seconds, timeout = (_duration(n, v) for n, v in (("seconds", seconds), ("timeout", timeout)))
        self._identical = check_int("identical_failures", scalar(identical_failures))
        self._confirm = check_int("confirm", scalar(confirm), 0)
        self._until = math.inf if timeout is None else time.monotonic() + timeout
        if not (isinstance(accept_changed, bool) or shown(accept_changed) == "'keep'"):
            raise ValueError(f"accept_changed must be False, True or 'keep', got {shown(accept_changed)}")
        if not (out is None or (isinstance(out, (str, os.PathLike)) and os.fspath(out))):
            raise ValueError(f"out must be a folder or None, got {shown(out)}")
        if join and out is None:
            raise ValueError("out must be a folder that the processes share with join=True, got None")
        self._log = None if log is None else tracker_of(log)
        self._out, self.tolerate, self._join = out, tolerate, join
        self._stack, self._guard, self._process = contextlib.ExitStack(), threading.RLock(), os.getpid()
        self._key = secrets.token_hex()  # of its paused trainings, which no other search may continue
        self._stack.callback(release, self._key)
        given |= {"function": function, "space": space, "budget": budget}
        with contextlib.ExitStack() as undo:
            undo.callback(self._stack.close)
            self._open(accept_changed, given)
            undo.pop_all()

    def _open(self, accept_changed: bool | str, given: dict[str, Any]) -> None:
        """Create, check and lock (or join) the folder, and load its search; a ValueError says why it cannot be used."""
        if (out := self._out) is None:
            out = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="hpo_envs-"))
        folder = Path(out).absolute()  # functions may change the working folder
        folder.mkdir(parents=True, exist_ok=True)
        for part in (NAME, CHECKPOINTS, REPORTS, "workers", *(p.name for p in folder.glob("[0-9a-f]" * 8))):
            place = atomic.inside(folder, folder / part)
            for path in place.iterdir() if place.is_dir() else ():
                with contextlib.suppress(FileNotFoundError):  # of another process that ends
                    regular(atomic.inside(folder, path), math.inf)
        self._member, self._salt = None, 0
        if self._join:
            self._member = Membership(folder)
            self._stack.callback(self._member.close)
            self._salt = int(self._member.name[-6:], 16)
            if self._member.excluded():
                raise ValueError(
                    f"out must be a folder whose processes all join, got {folder}, where one tunes alone: begin the "
                    "search with join=True (--join) in each of them"
                )
            with locked(folder):
                self._load(folder, accept_changed, given)
            return
        try:
            self._stack.enter_context(locked(folder, wait=False))
        except BlockingIOError:
            raise ValueError(f"out must be a folder that no other process tunes in, got {folder}") from None
        self._load(folder, accept_changed, given)
        if any(e.owner and lives(folder, e.owner) for e in self._retries):
            raise ValueError(f"out must be a folder that no other process tunes in, or join=True, got {folder}")

    def _load(self, folder: Path, accept_changed: bool | str, given: dict[str, Any]) -> None:
        """Create the agent, open the record (in a subfolder if `accept_changed` requires one) and replay it."""
        sources = given.get("sources", ())
        if isinstance(sources, str) or not np.iterable(sources):
            raise ValueError(f"sources must be a list of source tasks, got {shown(sources)}")
        given["sources"] = tuple(sources)
        prepared = Preparation.of(folder, self._salt, **given)
        if accept_changed and (apart_by_space := other_space(folder, prepared.header)) is not None:
            given["sources"], folder = (*given["sources"], folder), apart_by_space
            prepared = Preparation.of(folder, self._salt, **given)
        params, header = prepared.params, prepared.header
        keep = accept_changed == "keep"
        if accept_changed and not keep:
            folder, header = apart(folder, header)
            params = dataclasses.replace(params, folder=folder / CHECKPOINTS)
        if self._confirm and (params.kind == "fidelity" or params.vector or not prepared.agent.listens):
            raise ValueError(
                f"confirm must be 0 for several objectives, {params.kind} actions or plans, got {self._confirm}"
            )
        # Budget that a repeat is expected to use; 0: the mean cost so far.
        self._repeat = {"epochs": float(prepared.steps or 1), params.cost_unit: 0.0}.get(params.budget_unit, 1.0)
        if self._repeat * FINALISTS * self._confirm >= params.budget:
            raise ValueError(
                f"confirm must leave budget for other evaluations than repeats, got {self._confirm} of {FINALISTS} "
                f"configurations and a budget of {params.budget:g} {params.budget_unit}"
            )
        if self._join and (params.kind == "fidelity" or not prepared.agent.listens):
            raise ValueError("join must be False for agents that plan alone or pause trainings, got True")
        self._params, self._agent, self._steps, self.function = params, prepared.agent, prepared.steps, params.function
        self._constraints = header.get("constraints", {})
        self._returned = (*params.objectives, *(name for name in self._constraints if name not in params.objectives))
        self.record = SearchRecord(folder, header | {"confirm": self._confirm}, keep, self._join)
        self._check = checker(params.action_space)
        self._suggested: Any = None  # by the agent, and not yet recorded
        self._reached: dict[int, int] = {}
        self._best: dict[int, float] = {}
        self._over: set[int] = set()  # candidates whose training ended by itself
        self.trials: dict[int, Trial] = {}
        self._asked: dict[int, tuple[float, float]] = {}
        known = [(e.config, e.action) for e in self.record.evaluations if e.given]
        # 1, 1.0 and True are equal, but may be three choices.
        self._points = [
            p
            for p in prepared.points
            if not any(plain(p) == c and np.array_equal(params.action_of(p), a) for c, a in known)
        ]
        small = params.kind != "fidelity" and params.points.size <= SMALL
        self._untried = {tuple(row) for row in params.points.grid().tolist()} if small else None
        self._replay()
        for evaluation in self.record.evaluations:
            self._try(evaluation)
        self._retries, self._before = [] if self._join else self.record.running, len(self.record.ended)
        self.stuck, self.first = "", 1

    def __enter__(self) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Search must not be copied or pickled, as it owns a folder: Search(..., join=True) shares it")

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the folder, and delete a temporary one; `result` stays available."""
        self._process = 0
        self._stack.close()

    def __iter__(self) -> Iterator[Trial]:
        """Yield trials until the search is `done`; if it is shared, wait for other processes, too, see `waits`."""
        while True:
            if (trial := self.begin()) is not None:
                yield trial
            elif self.trials or not self.waits():
                return

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Context in which this thread alone may change the search and has read what other processes recorded.

        Raises:
            ValueError: The search is closed, or this process is a fork of the one that opened it.
        """
        with self._guard, locked(self.record.folder) if self._join else contextlib.nullcontext():
            if self._process != os.getpid():
                raise ValueError("search must be open in this process, got one that is closed, or open in its parent")
            for number, ended in self.record.follow() if self._join else ():
                evaluation = self.record.evaluations[number]
                if ended:
                    self._note(evaluation)
                    self._tell(evaluation)
                else:
                    self._agent.pend(np.asarray(evaluation.action, self._params.action_space.dtype))
                    self._try(evaluation)
                    self._points = [p for p in self._points if not evaluation.given or plain(p) != evaluation.config]
            yield

    def waits(self) -> bool:
        """Wait `POLL` seconds if evaluations of a shared search are running, and return whether any are.

        Without `join`, after `timeout` and after repeated failures, return False at once.
        """
        if not self._join or self.stuck or time.monotonic() >= self._until:
            return False
        with self._turn():
            left = bool(self.record.running)
        if left:
            time.sleep(POLL)
        return left

    @property
    def done(self) -> bool:
        """Whether no evaluation can begin now: none is left, the time is over, or repeated failures stop the search."""
        if self._member is not None:
            self._retries = [e for e in self.record.running if not self._member.lives(e.owner)]
        if self.stuck or time.monotonic() >= self._until:
            return True
        return not (self._retries or self._continues or self._repeated() is not None)

    @property
    def result(self) -> Tuned:
        """The result so far, as a `Tuned` with all evaluations that began."""
        evaluations = tuple(dataclasses.replace(e, config=self._config(e)) for e in self.record.evaluations)
        return Tuned(self.record.header, evaluations, None if self._out is None else self.record.folder)

    def ask(self) -> Trial:
        """Return the next trial; parallel agents allow further trials before the first has a result.

        Raises:
            ValueError: The search is `done` or closed.
        """
        trial = self.begin()
        if trial is None:
            if self.stuck:
                raise ValueError(self.stuck)
            if time.monotonic() >= self._until:
                raise ValueError("trials must be requested within the timeout, got a request after it")
            used = f"{self.record.spent:g} of {self._params.budget:g} {self._params.budget_unit} used"
            pending = f", {len(self.trials)} trials pending" if self.trials else ""
            raise ValueError(f"search must have something left to evaluate, got one with {used}{pending}")
        return trial

    def begin(self) -> Trial | None:
        """Begin the next evaluation and return its trial; None if the search is `done`.

        Raises:
            ValueError: The search is closed.
        """
        with self._turn():
            return None if self.done else self._trial()

    def _trial(self) -> Trial:
        again = self._retries.pop(0) if self._retries else None
        evaluation = self._begin() if again is None else again
        if self._member is not None and evaluation.owner != self._member.name:
            self.record.take(evaluation.number, self._member.name)
        rewarded, limit = self._params.rewarded, self._steps
        if limit is not None and self._params.budget_unit == "epochs":
            left = self._left() + self._share(evaluation) - (self._kept if evaluation.repeats < 0 else 0.0)
            limit = int(max(1.0, min(limit, left)))
        # Repeats run to their end, because they confirm a mean.
        sign = rewarded[0].sign if len(rewarded) == 1 and evaluation.repeats < 0 else 0.0
        reports = self.record.folder / REPORTS
        trial = Trial(evaluation.number, self._config(evaluation), reports, sign, self._steps, limit, rewarded[0].name)
        if again is not None and self._params.form == "checkpoints":
            trial.resume()
        else:
            self._forget(evaluation.number)
        if again is None and self._params.kind != "fidelity" and self._params.folder is not None:  # of a lost record
            shutil.rmtree(self._params.folder / str(evaluation.number), ignore_errors=True)
        self.trials[trial.number], self._asked[trial.number] = trial, (time.time(), time.monotonic())
        return trial

    def tell(self, trial: Trial, score: Any = None, *, error: object = None) -> Evaluation:
        """Store the result of a trial; return the evaluation.

        Args:
            trial: A trial that `ask` returned.
            score: A number, or a mapping with the objectives, the constrained metrics and any other numbers, such as
                `cost`; default: the last report.
            error: An exception or a text if the evaluation failed, instead of a score.

        Raises:
            ValueError: The trial is not pending here, or has neither score, report nor error; see also `finish`.
        """
        if not isinstance(trial, Trial) or self.trials.get(trial.number) is not trial:
            raise ValueError(f"trial must be pending, got {trial!r}")
        started, clock = self._asked[trial.number]
        seconds = time.monotonic() - clock
        if error is not None:
            text = "".join(traceback.format_exception(error)) if isinstance(error, BaseException) else str(error)
            outcome = Outcome("failed", seconds=seconds, error=text)
        else:
            given = trial.last if score is None else score
            if given is None:
                raise ValueError("score must be given for a trial without reports, got None")
            outcome = read(given, self._params.objectives if score is None else self._returned, seconds)
            if score is not None and outcome.status == "failed" and not self.tolerate:
                raise ValueError(outcome.error.replace("function must return", "score must be", 1))
        place = f"{platform.node()}:{os.getpid()}"
        return self.finish(JobResult(trial.number, ((0, outcome),), started, place).reported(trial))

    def _replay(self) -> None:
        """Replay the recorded calls of ask and tell. After a suggestion that differs, warn and replay only results.

        If the agent ignores results, a suggestion that differs is a ValueError.
        """
        follows = True
        for number, ended in self.record.steps:
            evaluation = self.record.evaluations[number]
            try:
                evaluation.given or self._check(evaluation.action)
            except ValueError as error:
                raise ValueError(f"action {number} in {self.record.folder} {error}") from None
            if ended:
                self._note(evaluation)
                self._tell(evaluation)
            elif self._join:
                self._agent.pend(np.asarray(evaluation.action, self._params.action_space.dtype))
            elif follows and not evaluation.given and evaluation.repeats < 0:
                asked = self._ask()
                follows = np.array_equal(asked, evaluation.action)
                if not follows and not self._agent.listens:
                    raise ValueError(
                        f"{type(self._agent).__name__} must repeat its suggestions in {self.record.folder}, got "
                        f"{asked} for {evaluation.action}: its code or its budget has changed. Choose another folder"
                    )
                if not follows:
                    warnings.warn(
                        f"the agent suggests other configurations than those in {self.record.folder}: its code or its "
                        "budget has changed; it is told the recorded results, and the search continues",
                        stacklevel=6,
                    )

    @property
    def ending(self) -> str:
        """What ended the search before its budget was used up; empty if nothing did."""
        used = f"after {self.record.spent:g} of {self.record.header['budget']:g} {self._params.budget_unit}"
        if self.stuck:
            return f"search stopped {used}: {self.stuck}"
        if self._untried == set() and self._left() > 0:
            return f"search space exhausted {used}: every configuration is evaluated"
        late = time.monotonic() >= self._until and self._left() > 0
        return f"search stopped {used}: the time of its timeout is over" if late else ""

    def finish(self, done: JobResult) -> Evaluation:
        """Store the result of a job and pass it to the agent; return the evaluation.

        If another process has taken the evaluation over, nothing is stored.

        Raises:
            ValueError: The function has a mistake, see `tolerate` of `tune`, or the search is closed.
        """
        with self._turn():
            evaluation, taken = self._finish(done)
        if self._log is not None and not taken:  # a tracker may be slow: others use the search meanwhile
            name = self.record.header["function"].partition(":")[2]
            self._log(f"{name}, {self.record.folder.name}", evaluation)
        return evaluation

    def _finish(self, done: JobResult) -> tuple[Evaluation, bool]:
        """Store the result; return the evaluation, and whether another process had taken it over."""
        known = self.record.evaluations[done.number]
        taken = known.ended >= 0 or (self._member is not None and known.owner != self._member.name)
        evaluation = known if taken else self._end(done)
        del self.trials[done.number], self._asked[done.number]
        if taken:
            warnings.warn(
                f"the result of evaluation {done.number} is left out: another process had taken it over, because this "
                "one had shown no sign of life",
                stacklevel=4,
            )
            return known, True
        if len(self.record.ended) == self.first and not (self.tolerate or self._join):
            self._refuse_mistakes()
        self._tell(evaluation)
        last = self.record.ended[max(self._before, len(self.record.ended) - self._identical) :]
        if evaluation.error and not self.tolerate and in_a_row(last) == self._identical:
            self.stuck = (
                f"function must run, got the same failure {self._identical} times in a row: {cause(evaluation.error)}. "
                "The evaluations are kept; tolerate=True (--tolerate) continues after such failures"
            )
        return evaluation, False

    def _refuse_mistakes(self) -> None:
        """Delete the journal and raise a ValueError if all evaluations failed because of the same mistake."""
        kinds = {mistake(e.error) if e.status == "failed" else "" for e in self.record.ended}
        if len(kinds) == 1 and "" not in kinds:
            count, error = len(self.record.ended), self.record.ended[-1].error
            self.record.discard()
            self.close()
            first = "the first evaluation" if count == 1 else f"each of the first {count} evaluations"
            raise ValueError(
                f"function must run, got a failure of {first}: {cause(error)}. Nothing of the search is kept; "
                "tolerate=True (--tolerate) continues after such mistakes"
            )

    def _ask(self) -> Any:
        with one_blas_thread():
            return self._check(self._agent.ask())

    @property
    def _continues(self) -> bool:
        """Whether a new configuration may be evaluated; the budget of repeats is reserved while there are finalists.

        Repeats that began come first, and what cheap ones leave of a cost must be enough for as many again.
        """
        left, again = self._left(), self._repeated() is not None
        if self._made and (again or (not self._repeat and left <= self._each * (self._most + 1))):
            return False
        if 0 < left <= self._kept and (self.record.running or again):
            return False
        return left > 0 and not self._agent.done and self._untried != set()

    @property
    def _most(self) -> int:
        """Number of all repeats; another process may have raised `confirm`."""
        return FINALISTS * int(self.record.header["confirm"])

    @property
    def _made(self) -> int:
        """Number of repeats that began since the last new configuration."""
        return len(repeated(self.record.evaluations)) if self._most else 0

    @property
    def _each(self) -> float:
        """Budget that a repeat is expected to use."""
        return self._repeat or self.record.spent / max(len(self.record.ended), 1)

    @property
    def _kept(self) -> float:
        """Budget that is reserved for repeats."""
        return self._each * max(0, self._most - self._made)

    def _repeated(self) -> int | None:
        """Return the number of the evaluation to repeat next; None without budget, and while others may become best."""
        header, others = self.record.header, any(e.repeats < 0 for e in self.record.running)
        if not header["confirm"] or others or self._left() <= 0:
            return None
        return to_confirm(header, self.record.evaluations)

    def _begin(self) -> Evaluation:
        owner: dict[str, Any] = {} if self._member is None else {"owner": self._member.name}
        if not self._continues:
            number = self._repeated()
            assert number is not None
            first = self.record.evaluations[number]
            return self.record.begin(first.action, first.config, first.given, repeats=number, **owner)
        if self._points:
            config = self._points[0]
            begun = self.record.begin(self._params.action_of(config), config, given=True, **owner)
            del self._points[0]
            return self._try(begun)
        if self._suggested is None:
            self._suggested = self._ask()
        config = self._params.points.config(self._params.stored(self._suggested))
        begun = self.record.begin(self._suggested, config, **owner)
        self._suggested = None
        return self._try(begun)

    def _try(self, evaluation: Evaluation) -> Evaluation:
        """Mark an evaluation's configuration as tried, in a small space, and return the evaluation."""
        if self._untried:
            self._untried.discard(tuple(self._params.stored(np.asarray(evaluation.action)).tolist()))
        return evaluation

    def _config(self, evaluation: Evaluation) -> dict[str, Any]:
        """Return the configuration for the function: choices as objects of the space, exact numbers of start points."""
        p = self._params
        config = p.points.config(p.stored(np.asarray(evaluation.action)))
        numbers = [h.name for h in p.points.space if h.kind != "categorical" and h.name in config]
        return config | ({name: evaluation.config[name] for name in numbers} if evaluation.given else {})

    def job(self, trial: Trial) -> Job:
        """Return the job that evaluates a trial, for `perform` in a worker."""
        p, evaluation = self._params, self.record.evaluations[trial.number]
        row, level = (trial.number, -1) if p.kind != "fidelity" else evaluation.action
        return Job(
            trial.number, p.function, p.form, trial.config, self._returned, self._seconds,
            0 if row in self._over else level + 1,
            (self._key, row),
            None if p.folder is None or p.form != "checkpoints" else p.folder / str(row),
            trial if p.kind != "fidelity" and (p.form != "score" or takes_trial(p.function)) else None,
            len(self._returned) - len(p.objectives),
        )  # fmt: skip

    def _end(self, done: JobResult) -> Evaluation:
        """Record the result of a job; return the evaluation."""
        p, begun = self._params, self.record.evaluations[done.number]
        outcomes = [outcome for _, outcome in done.outcomes]
        if not done.started:  # the worker died, and nobody else has the time
            outcomes = [dataclasses.replace(outcomes[-1], seconds=time.monotonic() - self._asked[done.number][1])]
        last = outcomes[-1] if outcomes else Outcome("failed", error="function must yield at least one score, got none")
        reached, best = done.outcomes[-1][0] if outcomes else 0, None
        over = None  # the last result of a training that was there already, or had ended by itself before
        if not outcomes and p.kind == "fidelity":
            same = (e for e in reversed(self.record.ended) if e.action[0] == begun.action[0])
            if (over := next((e for e in same if e.rewards is not None), None)) is not None:
                last, reached = Outcome("ok", over.metrics), over.action[1] + 1 if over.status == "ok" else 0
        status = last.status
        if p.kind == "fidelity":
            good = [float(reward_of(o, p).sum()) for o in outcomes if o.status == "ok"]
            best = max([*good, self._best.get(begun.action[0], -np.inf)])
            status = "truncated" if status == "ok" and reached <= begun.action[1] else status
        elif status == "ok" and done.curve and done.curve[-1][0] < (self._steps or done.stopped * np.inf):
            status = "truncated"
        cost = math.fsum(o.price for o in outcomes)
        more: dict[str, Any] = {"curve": [list(point) for point in done.curve]} if done.curve else {}
        if status == "truncated" and done.stopped:
            more |= {"stopped": True} | ({} if done.forecast is None else {"forecast": done.forecast})
        if self._constraints and last.status == "ok" and self._constraints.keys() <= last.metrics.keys():
            more["violations"] = violations(self._constraints, last.metrics)
        spent = cost if over is not None or p.budget_unit == p.cost_unit else self._share(begun, done)
        evaluation = self.record.end(
            done.number, status=status, rewards=reward_of(last, p).tolist() if last.status == "ok" else None,
            metrics=last.metrics, spent=spent, cost=cost,
            seconds=sum(o.seconds for o in outcomes), best=None if best is None or not np.isfinite(best) else best,
            error=last.error and shortened(last.error, TEXT), started=done.started, worker=done.worker, **more,
        )  # fmt: skip
        if not evaluation.feasible:
            self._forget(done.number)
        elif done.curve and evaluation.whole and (score := evaluation.metrics[p.rewarded[0].name]) != done.curve[-1][1]:
            self.trials[done.number].conclude(done.curve[-1][0], score)
        self._note(evaluation)
        return evaluation

    def _forget(self, number: int) -> None:
        """Delete reports that no training should be compared with: of a killed, failed or infeasible evaluation."""
        with contextlib.suppress(OSError):
            (self.record.folder / REPORTS / str(number)).unlink()

    def _note(self, evaluation: Evaluation) -> None:
        """Store the epoch reached by a candidate and its best reward, if actions have a fidelity."""
        if self._params.kind == "fidelity":
            row, level = evaluation.action
            self._reached[row] = max(self._reached.get(row, 0), level + 1)
            if evaluation.status == "truncated":
                self._over.add(row)
            if evaluation.best is not None:
                self._best[row] = evaluation.best

    def _share(self, evaluation: Evaluation, done: JobResult | None = None) -> float:
        """Return the budget that an evaluation uses, unless it is a cost: 1, or new epochs (at most, while it runs)."""
        if self._params.budget_unit != "epochs":
            return 1.0
        if self._params.kind != "fidelity":
            if done is not None:
                return float(max([1, *(epoch for epoch, _ in done.outcomes), *(step for step, _ in done.curve)]))
            trial = self.trials.get(evaluation.number)
            return float(self._steps or 1) if trial is None or trial.limit is None else float(trial.limit)
        row, level = evaluation.action
        reached = self._reached.get(row, 0)
        last = done.outcomes[-1][0] if done is not None and done.outcomes else level + 1
        return float(max(1, last - reached) if reached <= level else last)

    def _left(self) -> float:
        """Return the budget left after all pending evaluations; of a cost, each is expected to use the mean so far."""
        running, spent = self.record.running, self.record.spent
        if self._params.budget_unit == self._params.cost_unit:
            under_way = len(running) * spent / max(len(self.record.ended), 1)
        else:
            under_way = math.fsum(map(self._share, running))
        left = float(self.record.header["budget"]) - spent - under_way
        return left if abs(left) > self._params.rest else 0.0

    def _tell(self, evaluation: Evaluation) -> None:
        p = self._params
        action = np.asarray(evaluation.action, p.action_space.dtype)
        rewards, status = p.low, evaluation.status
        if evaluation.rewards is not None:
            hidden = not (evaluation.feasible or self._agent.constrained)
            rewards, status = (p.low, "failed") if hidden else (np.array(evaluation.rewards), status)
            if evaluation.forecast is not None and not hidden:
                forecast = np.array([p.rewarded[0].sign * evaluation.forecast])
                own = evaluation.metrics[p.rewarded[0].name] != evaluation.curve[-1][1]  # such as the best epoch's
                rewards = np.maximum(rewards, forecast) if own else forecast
        info = {"cost": evaluation.spent, "metrics": dict(evaluation.metrics), "status": status}
        info |= {"config": dict(evaluation.config), "finished": True}
        if evaluation.violations:
            info["violations"] = np.array(evaluation.violations)
        if evaluation.best is not None:
            info["best"] = evaluation.best
        told = int(action) if p.kind == "rows" else action
        with one_blas_thread():
            self._agent.tell(told, rewards.copy() if p.vector else float(rewards[0]), info)


def _duration(name: str, value: Any) -> float | None:
    """Check a duration in seconds and return it as a float; None stays None."""
    value = scalar(value)
    if value is not None and not (is_number(value) and value > 0):
        raise ValueError(f"{name} must be None or a number > 0, got {shown(value)}")
    return None if value is None else float(value)
