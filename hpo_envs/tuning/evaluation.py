"""One evaluation of a user's function, as a worker carries it out."""

from __future__ import annotations

import contextlib
import os
import platform
import time
import traceback
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpo_envs.benchmarks.runs import limits
from hpo_envs.core.engines.function.calls import Form, Function, Outcome, Training, call

PAUSED = 32
"""Trainings that a worker keeps in memory to continue with; of more, those that waited longest start again."""


@dataclass(frozen=True)
class Job:
    """Job of an evaluation.

    Attributes:
        number: Of the evaluation.
        function: What is called.
        form: How.
        config: Natural values of the active hyperparameters.
        objectives: What it must return.
        seconds: How long it may take; None: as long as it takes.
        epoch: Epoch to train to, where it is trained by epochs.
        training: What says which training is gone on with: the run, and the candidate.
        folder: Of its checkpoints.
    """

    number: int
    function: Function
    form: Form
    config: Mapping[str, Any]
    objectives: tuple[str, ...]
    seconds: float | None = None
    epoch: int = 0
    training: tuple[str, int] = ("", 0)
    folder: Path | None = None

    def __str__(self) -> str:
        return f"evaluation {self.number}, {dict(self.config)}"


@dataclass(frozen=True)
class Done:
    """Result of a job.

    Attributes:
        number: Of the evaluation.
        outcomes: (epoch, outcome) of each score on the way; epoch 0 if there are none.
        started: When, in seconds since 1970.
        worker: Host and process.
    """

    number: int
    outcomes: tuple[tuple[int, Outcome], ...]
    started: float
    worker: str


_paused: OrderedDict[tuple[str, int], Training] = OrderedDict()


def perform(job: Job) -> Done:
    """Carry out a job; whatever the function does, something comes of it."""
    started, clock = time.time(), time.perf_counter()
    try:
        with limits.interrupts(), _limited(job.seconds):
            outcomes = _carry_out(job)
    except KeyboardInterrupt:
        raise
    except limits.RunTimeout as timeout:
        error = f"{timeout}\n{traceback.format_exc()}"
        outcomes = [(job.epoch, Outcome("failed", seconds=time.perf_counter() - clock, error=error))]
    except BaseException:  # SystemExit, and what else is no Exception
        lost = Outcome("failed", seconds=time.perf_counter() - clock, error=traceback.format_exc())
        outcomes = [(job.epoch, lost)]
    return Done(job.number, tuple(outcomes), started, f"{platform.node()}:{os.getpid()}")


def _carry_out(job: Job) -> list[tuple[int, Outcome]]:
    if job.form == "score":
        return [(0, call(job.function, job.config, job.objectives))]
    kept = _paused.pop(job.training, None)
    if kept is None or kept.epoch > job.epoch or job.form == "checkpoints":
        kept = Training(job.function, job.config, job.objectives, job.folder)
    outcomes = kept.until(job.epoch)
    if job.form == "epochs" and not kept.ended:
        _paused[job.training] = kept
        while len(_paused) > PAUSED:
            _paused.popitem(last=False)
    return outcomes


def _limited(seconds: float | None) -> contextlib.AbstractContextManager[None]:
    """Stop what is within after some seconds."""
    if seconds is None:
        return contextlib.nullcontext()
    return limits.deadline(seconds, "an evaluation must end within {:g} s, this one did not")
