"""An evaluation in progress: its configuration, the scores it reports, and whether it is stopped early."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpo_envs.tables.checks import scalar

REDUCTION = 3
"""Of the evaluations that reach a rung, one in this many continues; steps of the rungs grow by this factor."""

MOST_RUNGS = 3
"""Rungs of a training of known length: a shorter start says little about its end."""


class Trial:
    """One evaluation between `ask` and `tell`.

    A training that reports a score after each step is stopped early by asynchronous successive halving (Li et al.
    2020, in its stopping form): at a rung, unless its score is in the best third of those reported there so far.

    Args:
        number: Of the evaluation.
        config: Natural values of the active hyperparameters.
        folder: Of the reports of all evaluations; made with the first report.
        sign: 1.0 if higher scores are better, -1.0 if lower ones; 0.0: nothing is stopped early.
        steps: The most steps of any training; None: unknown.
        limit: The most steps that the budget leaves to this one; None: no limit.
        objective: Name of the (first) score.

    Attributes:
        number: See above.
        config: See above.
        limit: See above.
        objective: See above.
        rungs: Steps at which it may be stopped, ascending.
        curve: (step, score) of each report.
        should_stop: Whether the training should end now; what it reported last is its score.
    """

    def __init__(
        self,
        number: int,
        config: Mapping[str, Any],
        folder: Path,
        sign: float = 1.0,
        steps: int | None = None,
        limit: int | None = None,
        objective: str = "score",
    ) -> None:
        self.number, self.config = number, dict(config)
        self.curve: list[tuple[int, float]] = []
        self.should_stop = False
        self.objective, self.limit, self._folder, self._sign = objective, limit, folder, sign
        self.rungs = rungs(steps)

    def __repr__(self) -> str:
        return f"<Trial {self.number}: {self.config}>"

    def report(self, score: Any, step: int | None = None) -> None:
        """Store the score after a step, and decide `should_stop`.

        Args:
            score: Of the objective, a number; one that is not finite stops the training.
            step: Number of epochs, trees or batches so far, an int >= 1; default: one more than the last.

        Raises:
            ValueError: No number, or a step that is no int or not above the last one.
        """
        last = self.curve[-1][0] if self.curve else 0
        at, value = last + 1 if step is None else scalar(step), scalar(score)
        if isinstance(at, bool) or not isinstance(at, int) or at <= last:
            raise ValueError(f"step must be an int above that of the last report, {last}, got {step!r}")
        if not isinstance(value, (int, float)):
            raise ValueError(f"score must be a number, got {score!r}")
        if not math.isfinite(value):
            self.should_stop = True
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        with open(self._folder / str(self.number), "a" if self.curve else "w", encoding="ascii") as stream:
            stream.write(json.dumps([at, float(value)]) + "\n")
        self.curve.append((at, float(value)))
        reached = [rung for rung in self.rungs if last < rung <= at]
        out = self.limit is not None and at >= self.limit
        self.should_stop = self.should_stop or out or (bool(reached) and self._is_behind(reached[-1]))

    def _is_behind(self, rung: int) -> bool:
        """Whether the score at a rung is not among the best of all evaluations that reached it."""
        if not self._sign:
            return False
        known = [curve for path in self._folder.iterdir() if path.name.isdigit() and (curve := read_curve(path))]
        scores = [self._sign * score for curve in known for score in [_at(curve, rung)] if score is not None]
        mine = self._sign * self.curve[-1][1]
        return sum(score > mine for score in scores) >= max(1, len(scores) // REDUCTION)


def rungs(steps: int | None) -> tuple[int, ...]:
    """Steps at which a training may be stopped, ascending.

    Args:
        steps: Of a whole training; None: unknown.
    """
    if steps is None:
        return tuple(REDUCTION**k for k in range(20))
    return tuple(sorted({max(1, steps // REDUCTION**k) for k in range(1, MOST_RUNGS + 1)} - {steps}))


def read_curve(path: Path) -> list[tuple[int, float]]:
    """The reports of a file; a last line that is still being written is left out."""
    text = path.read_text(encoding="ascii")
    return [(int(step), float(score)) for step, score in map(json.loads, text[: text.rfind("\n") + 1].splitlines())]


def _at(curve: list[tuple[int, float]], rung: int) -> float | None:
    return next((score for step, score in curve if step >= rung), None)
