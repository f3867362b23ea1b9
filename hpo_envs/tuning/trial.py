"""Trials: reported scores, and early stopping by a forecast of the final score, after a few complete trainings."""

import contextlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from hpo_envs.tables.checks import scalar, shown
from hpo_envs.tables.table import LARGEST, is_number

CHECKS = (1 / 9, 2 / 9, 1 / 3, 1 / 2, 2 / 3)
"""Fractions of a training after which it may be stopped."""

WHOLE = 2
"""Number of complete trainings before any is stopped."""

ENOUGH = 4
"""Smallest number of complete trainings for forecasts without a prior."""

PERSISTENCE, UNEXPLAINED = 0.03, 0.1
"""Prior of forecasts, as fractions of the final scores' sum of squares: weight of a slope of 1; squared residuals."""

LEVEL, EARLY = 0.975, 0.9
"""Confidence levels of the upper bound that is compared with the best final score, without and with a prior."""


class Trial:
    """One evaluation between `ask` and `tell`.

    A training that reports scores is stopped early if its end is unlikely to be the best: final scores of complete
    trainings are regressed on their scores at the same step, and the training stops if the upper end of the prediction
    interval is below the best final score. If early scores predict little, nothing is stopped. With two or
    three complete trainings, the regression has a prior: differences of scores persist until the end. A training
    that is ahead, at this step, of the one that ended best then continues.

    Args:
        number: Number of the evaluation.
        config: Natural values of the active hyperparameters.
        folder: Folder of the reports of all evaluations, created with the first report.
        sign: 1.0 if higher scores are better, -1.0 if lower ones are; 0.0 disables forecasts.
        steps: Largest number of steps of any training; None: unknown.
        limit: Largest number of steps that the budget allows for this training; None: no limit.
        objective: Name of the first objective.

    Attributes:
        curve: (step, score) of each stored report.
        should_stop: Whether the training should end now; if it returns no score, its last report counts.
        diverged: Whether a report was not finite, or too large.
        forecast: Final score predicted at the last check; None before the first prediction.
    """

    def __init__(
        self, number: int, config: Mapping[str, Any], folder: Path, sign: float = 1.0, steps: int | None = None,
        limit: int | None = None, objective: str = "score",
    ) -> None:  # fmt: skip
        self.number, self.config, self.objective, self.limit = number, dict(config), objective, limit
        self._folder, self._sign, self._steps = folder, sign, steps
        self._longest = self._next = 0  # last step of any training at the last reading; step of the next one
        self.curve: list[tuple[int, float]] = []
        self.should_stop = self.diverged = False
        self.forecast: float | None = None

    def __repr__(self) -> str:
        return f"<Trial {self.number}: {self.config}>"

    def conclude(self, step: int, score: float) -> None:
        """Store the score that a complete training returned: others are compared with it, not with its last report."""
        with contextlib.suppress(OSError), open(self._folder / str(self.number), "a", encoding="ascii") as stream:
            stream.write(json.dumps([step, score]) + "\n")

    @property
    def stopped(self) -> bool:
        """Whether the training should end, and has reported fewer steps than the longest one: others went on."""
        return self.should_stop and bool(self.curve) and self.curve[-1][0] < (self._steps or self._longest)

    @property
    def complete(self) -> bool:
        """Whether a training of known length has reported its last step."""
        return self._steps is not None and bool(self.curve) and self.curve[-1][0] >= self._steps

    def resume(self) -> None:
        """Continue the reports of a try that was killed, as a training with checkpoints does."""
        self.curve = read_curve(self._folder / str(self.number))
        if self.curve:  # without the end of a line that was being written
            text = "".join(json.dumps(point) + "\n" for point in self.curve)
            (self._folder / str(self.number)).write_text(text, encoding="ascii")

    @property
    def last(self) -> float | None:
        """The last report, which counts if the training returns no score; NaN if it diverged, None without reports."""
        return math.nan if self.diverged else self.curve[-1][1] if self.curve else None

    def report(self, score: Any, step: int | None = None) -> None:
        """Store the score after a step, and update `should_stop`.

        Args:
            score: Value of the objective; NaN, or a number beyond ±1e30, is not stored, and stops the training.
            step: Number of epochs, trees or batches so far, an int >= 1; default: one more than the last.

        Raises:
            ValueError: The score is not a number, or the step is not an int above the last one.
        """
        last = self.curve[-1][0] if self.curve else 0
        at, value = last + 1 if step is None else scalar(step), scalar(score)
        if not (is_number(at) and isinstance(at, int) and at > last):
            rule = f"that of the last report, {last}" if self.curve else "0, as the first step is 1"
            raise ValueError(f"step must be an int above {rule}, got {shown(step)}")
        if not (isinstance(value, bool) or is_number(value)):
            raise ValueError(f"score must be a number, got {shown(score)}")
        if not abs(value) <= LARGEST:
            self.should_stop = self.diverged = True
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        with open(self._folder / str(self.number), "a" if self.curve else "w", encoding="ascii") as stream:
            stream.write(json.dumps([at, float(value)]) + "\n")
        self.curve.append((at, float(value)))
        over = self.limit is not None and at >= self.limit
        self.should_stop = self.should_stop or over or self._is_behind(last, at)

    def _is_behind(self, last: int, at: int) -> bool:
        """At a check, set `forecast` and return whether the training is unlikely to end best; at other steps, False.

        Also False without a direction of the score, and before `WHOLE` trainings are complete.
        """
        if not self._sign:
            return False
        if not _is_check(last, at, self._steps or max(self._longest, at)) and (self._steps or at < self._next):
            return False  # before the curves are read, which takes time at each report
        curves = [read_curve(path) for path in self._folder.iterdir() if path.name.isdigit()]
        curves = [curve for curve in curves if curve]
        self._longest, self._next = max(curve[-1][0] for curve in curves), 2 * at
        end = self._steps or self._longest
        if at >= end or not _is_check(last, at, end):
            return False
        whole = [curve for curve in curves if curve[-1][0] >= end]
        if len(whole) < WHOLE:
            return False
        here = [next((score for step, score in curve if step >= at), curve[-1][1]) for curve in whole]
        now = self._sign * np.array(here)
        ends = self._sign * np.array([curve[-1][1] for curve in whole])
        own = self._sign * self.curve[-1][1]
        expected, bound = forecast(now, ends, own)
        self.forecast = self._sign * expected
        # Few others may have changed places by chance: a training that leads the best of them continues.
        return bool(bound < ends.max() and (len(whole) >= ENOUGH or own < now[ends.argmax()]))


def _is_check(last: int, at: int, end: int) -> bool:
    """Return whether one of `CHECKS`, as a part of `end`, lies after step `last` and at or before step `at`."""
    return any(last < part * end <= at for part in CHECKS)


def forecast(now: Any, ends: Any, score: float) -> tuple[float, float]:
    """Return the predicted final score of a training, as a reward, and the upper end of its prediction interval.

    Args:
        now: (n,) scores of complete trainings at this step, as rewards.
        ends: (n,) their final scores, as rewards.
        score: Score of this training at this step, as a reward.
    """
    centred, differences = now - now.mean(), ends - ends.mean()
    enough = len(now) >= ENOUGH
    prior = 0.0 if enough else float(differences @ differences)
    spread = float(centred @ centred) + PERSISTENCE * prior
    slope = (float(centred @ differences) + PERSISTENCE * prior) / spread if spread > 0.0 else 0.0
    offset = score - float(now.mean())
    residuals = differences - slope * centred
    degrees = len(now) - 2 if enough else len(now)
    variance = (float(residuals @ residuals) + UNEXPLAINED * prior) / degrees
    leverage = 1.0 + 1.0 / len(now) + (offset**2 / spread if spread > 0.0 else 0.0)
    expected = float(ends.mean()) + slope * offset
    quantile = float(stdtrit(degrees, LEVEL if enough else EARLY))
    return expected, expected + quantile * math.sqrt(variance * leverage)


def checks(steps: int) -> list[int]:
    """Return, in order, the steps at which a training of known length may be stopped, and its last step."""
    return sorted({max(1, math.ceil(part * steps)) for part in CHECKS} | {steps})


def read_curve(path: Path) -> list[tuple[int, float]]:
    """Return the (step, score) reports in a file, without an incomplete last line; none if it is damaged or missing."""
    with contextlib.suppress(OSError, ValueError, TypeError, RecursionError):
        text = path.read_text(encoding="ascii")
        lines = map(json.loads, text[: text.rfind("\n") + 1].splitlines())
        return [(int(step), float(score)) for step, score in lines if is_number(step) and math.isfinite(score)]
    return []
