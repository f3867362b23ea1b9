"""The loop between an agent, a record and workers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hpo_envs.agents import Agent
from hpo_envs.benchmarks.runs import actions
from hpo_envs.benchmarks.study.executors import Executor, Serial, WorkerLost
from hpo_envs.engines.function.calls import Outcome
from hpo_envs.engines.function.episode import reward_of
from hpo_envs.engines.function.params import FunctionParams
from hpo_envs.tables import exact
from hpo_envs.tuning.evaluation import Done, Job, perform
from hpo_envs.tuning.record import Evaluation, Record


class Search:
    """A search, from its record on.

    Args:
        params: The function, its space, and what it is rewarded for.
        agent: Fresh; it is told what the record holds.
        record: What happened so far.
        seconds: How long an evaluation may take.
        progress: Whether to show a bar; None: where there is a terminal.

    Raises:
        ValueError: The agent cannot be brought to where it was.
    """

    def __init__(
        self, params: FunctionParams, agent: Agent, record: Record, seconds: float | None, progress: bool | None
    ) -> None:
        self._params, self._agent, self._record, self._seconds = params, agent, record, seconds
        self._check = actions.checker(params.action_space)
        self._reached: dict[int, int] = {}
        self._best: dict[int, float] = {}
        self._show = None if progress is None else not progress
        self._replay()

    def _replay(self) -> None:
        """Asks and tells the agent as it was asked and told; from where it answers otherwise, it is only told."""
        follows = True
        for number, ended in self._record.steps:
            evaluation = self._record.evaluations[number]
            if ended:
                self._note(evaluation)
                self._tell(evaluation)
            elif follows:
                asked = self._check(self._agent.ask())
                follows = np.array_equal(asked, evaluation.action)
                if not follows and not self._agent.listens:
                    raise ValueError(
                        f"{type(self._agent).__name__} must ask for what it asked for in {self._record.folder}, got "
                        f"{asked} for {evaluation.action}: its code or its budget has changed. Choose another folder"
                    )
                if not follows:
                    warnings.warn(
                        f"the agent asks for other configurations than in {self._record.folder}: its code or its "
                        "budget has changed; it is told what is there, and goes on",
                        stacklevel=4,
                    )

    @property
    def unfinished(self) -> bool:
        """Whether there is anything left to do."""
        return bool(self._record.running) or (self._left() > 0 and not self._agent.done)

    def run(self, crew: Executor, workers: int) -> None:
        """Goes on until the budget is spent or the agent is done."""
        from tqdm.auto import tqdm

        most = 1 if isinstance(crew, Serial) else workers
        running = self._record.running
        with tqdm(
            total=self._params.budget, unit=f" {self._params.budget_unit}", disable=self._show, desc=self._name()
        ) as bar:
            for evaluation in running:  # what was under way when the search was stopped
                crew.submit(perform, self._job(evaluation))
            out = len(running)
            self._advance(bar)
            while True:
                while out < most and self._left() > 0 and not self._agent.done:
                    crew.submit(perform, self._job(self._begin()))
                    out += 1
                if not out:
                    return
                try:
                    done: Done = crew.next()
                except WorkerLost as lost:
                    job: Job = lost.argument
                    done = Done(job.number, ((job.epoch, Outcome("failed", error=str(lost))),), True, 0.0, "")
                out -= 1
                evaluation = self._end(done)
                self._tell(evaluation)
                self._advance(bar)

    def _name(self) -> str:
        return str(self._record.header["function"]).rpartition(":")[2]

    def _advance(self, bar: Any) -> None:
        """Shows what is spent, and the incumbent."""
        ended = self._record.ended
        bar.n = round(sum(e.spent for e in ended), 3)
        best = max(ended, key=lambda e: e.score, default=None)
        failed = sum(e.rewards is None for e in ended)
        said = "" if best is None or best.rewards is None else ", ".join(
            f"{m.name} {best.metrics[m.name]:.5g}" for m in self._params.rewarded
        )  # fmt: skip
        bar.set_postfix_str(", ".join(filter(None, [said, f"{failed} failed" if failed else ""])))

    # -- one evaluation ------------------------------------------------------------------------------------------

    def _begin(self) -> Evaluation:
        action = self._check(self._agent.ask())
        return self._record.begin(action, self._params.points.config(self._params.stored(action)))

    def _job(self, evaluation: Evaluation) -> Job:
        p = self._params
        job = {"function": p.function, "form": p.form, "objectives": p.objectives, "seconds": self._seconds}
        action = np.asarray(evaluation.action)
        config = p.points.config(p.stored(action))
        if p.kind != "fidelity":
            return Job(evaluation.number, config=config, **job)  # type: ignore[arg-type]
        row, level = action.tolist()
        folder = None if p.folder is None or p.form != "checkpoints" else p.folder / str(row)
        search = str(self._record.folder.resolve())
        return Job(evaluation.number, config=config, epoch=level + 1, training=(search, row), folder=folder, **job)  # type: ignore[arg-type]

    def _end(self, done: Done) -> Evaluation:
        """Keeps what came of an evaluation."""
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
        cost = exact.total(o.price for o in outcomes)
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
        """Remembers how far a training came."""
        if self._params.kind == "fidelity":
            row, level = evaluation.action
            self._reached[row] = max(self._reached.get(row, 0), level + 1)
            if evaluation.best is not None:
                self._best[row] = evaluation.best

    def _share(self, action: Any) -> float:
        """What an evaluation takes of a budget that is not one of cost: 1, or the epochs that are new."""
        if self._params.budget_unit != "epochs":
            return 1.0
        row, level = action
        reached = self._reached.get(row, 0)
        return float(level + 1 - reached if reached <= level else level + 1)

    def _left(self) -> float:
        """What is left of the budget, once everything that runs has ended; costs are expected to be as before."""
        ended, running = self._record.ended, self._record.running
        if self._params.budget_unit == self._params.cost_unit:
            under_way = len(running) * float(np.mean([e.spent for e in ended])) if ended else 0.0
        else:
            under_way = exact.total(self._share(e.action) for e in running)
        return self._params.budget - exact.total(e.spent for e in ended) - under_way

    def _tell(self, evaluation: Evaluation) -> None:
        p = self._params
        action = np.asarray(evaluation.action, p.action_space.dtype)
        rewards = p.low if evaluation.rewards is None else np.array(evaluation.rewards)
        info = {"cost": evaluation.spent, "metrics": dict(evaluation.metrics), "status": evaluation.status}
        info |= {"config": dict(evaluation.config), "finished": True}
        if evaluation.best is not None:
            info["best"] = evaluation.best
        told = int(action) if p.kind == "rows" else action
        self._agent.tell(told, rewards.copy() if p.vector else float(rewards[0]), info)
