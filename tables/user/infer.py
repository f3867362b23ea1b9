"""What a column of configurations is: guessed from its values, with the reason in words."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.table import Hyperparameter, Metric

FEW = 12
"""Up to so many different numbers count as a grid."""

CHOICES = 50
"""More different texts than this are no choice."""

LOG = 100.0
"""Positive numbers that span this factor are taken as logarithmic."""

LOWER = ("loss", "error", "err", "perplexity", "ppl", "rmse", "mse", "mae", "wer", "cer", "nll", "seconds", "time",
         "latency", "runtime", "duration", "memory", "regret", "ter")  # fmt: skip
HIGHER = ("accuracy", "acc", "f1", "bleu", "chrf", "auc", "auroc", "precision", "recall", "score", "r2", "rouge",
          "comet", "reward", "em", "map", "mrr", "likelihood")  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column of numbers or choices.

    Attributes:
        values: (lines,) float64, NaN where missing: numbers, or indices into the choices.
        choices: The different texts or truth values, sorted; None for numbers. Of more texts than `CHOICES`, which
            are no choice, only some, and `values` are NaN.
        whole: Whether the numbers are whole.
        none: (lines,) where it says `none` among numbers; None if it never does.
        bad: Lines whose text does not fit the numbers of the others.
    """

    values: npt.NDArray[np.float64]
    choices: tuple[Any, ...] | None = None
    whole: bool = False
    none: npt.NDArray[np.bool_] | None = None
    bad: npt.NDArray[np.intp] = dataclasses.field(default_factory=lambda: np.zeros(0, np.intp))

    def natural(self, value: float) -> Any:
        """What a stored number stands for."""
        if self.choices is not None:
            return self.choices[int(value)]
        return int(value) if self.whole else float(value)

    def with_none(self) -> Column:
        """Missing values as a choice `none` beside the others."""
        holes = np.isnan(self.values)
        if self.choices is not None:
            choices = (*self.choices, "none")
            return dataclasses.replace(self, choices=choices, values=np.where(holes, len(choices) - 1.0, self.values))
        different, codes = np.unique(self.values[~holes], return_inverse=True)
        values = np.full(len(holes), float(len(different)))
        values[~holes] = codes
        return Column(values, (*(self.natural(v) for v in different.tolist()), "none"))


def apart(name: str, values: Iterable[Any]) -> None:
    """Refuses whole numbers of a column that float64 cannot distinguish.

    Raises:
        ValueError: One beyond 2**53.
    """
    for v in values:
        if isinstance(v, int) and abs(v) > 2**53:
            raise ValueError(
                f"column {name}: whole numbers must be at most 2**53, beyond which float64 merges them, got {v}"
            )


def goal_of(name: str) -> Literal["max", "min"] | None:
    """Guesses from its name whether a score is to be high or low."""
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    low, high = bool(words & set(LOWER)), bool(words & set(HIGHER))
    return None if low == high else ("min" if low else "max")


def hyperparameter(name: str, column: Column, log: bool | None = None) -> tuple[Hyperparameter, str]:
    """Makes a hyperparameter of a column's values, and says why it is what it is.

    Raises:
        ValueError: Too many different texts for a choice, or `log` for numbers that are not all positive.
    """
    if column.choices is not None:
        choices = column.choices
        if len(choices) > CHOICES:
            raise ValueError(
                f"column {name}: must be numbers or at most {CHOICES} different texts, got {len(choices)} such as "
                f"{str(choices[0])[:30]!r}; leave it out with --drop {quote(name)}"
            )
        h = Hyperparameter(name, "categorical", 0.0, float(len(choices) - 1), values=choices)
        alike = len({str(c).lower() for c in choices}) < len(choices)
        return h, described(h) + ("; some differ in upper and lower case only" if alike else "")
    kind: Literal["int", "float"] = "int" if column.whole else "float"
    known = column.values[~np.isnan(column.values)]
    low, high = float(known.min()), float(known.max())
    grid = few(known, FEW)
    if log and low <= 0:
        raise ValueError(f"column {name}: must be positive to be logarithmic, got {low:g}")
    wide = low > 0 and high / low >= LOG
    logarithmic = wide if log is None else log
    listed: tuple[Any, ...] = ()
    if grid is not None and len(grid) < len(known):
        listed = tuple(int(v) if kind == "int" else v for v in grid)
    h = Hyperparameter(name, kind, low, high, logarithmic, listed)
    guessed = f" (spans a factor of {high / low:.3g})" if logarithmic and not log else ""
    return h, described(h) + guessed


def described(h: Hyperparameter) -> str:
    """A hyperparameter in words."""
    if h.kind == "categorical":
        shown = ", ".join(str(c) for c in h.values[:5]) + (", ..." if len(h.values) > 5 else "")
        return f"choice of {len(h.values)}: {shown}"
    listed = f", {len(h.values)} values" if h.values else ""
    return f"{h.kind}, {h.low:g} to {h.high:g}{listed}" + (", logarithmic" if h.log else "")


def few(known: npt.NDArray[np.float64], most: int) -> list[float] | None:
    """The different numbers, sorted; None if there are more than so many. Looks at a part before it sorts all."""
    if len(np.unique(known[: 20 * most])) > most:
        return None
    different = np.unique(known).tolist()
    return different if len(different) <= most else None


def metric(
    name: str, values: npt.ArrayLike, goal: Literal["max", "min"], bounds: tuple[float, float] | None
) -> tuple[Metric, str]:
    """Makes a metric; bounds are 0 to 1 or 0 to 100 where values fit, else round numbers around them.

    Raises:
        ValueError: Bounds that are not finite and increasing, or values outside them.
    """
    low, high = float(np.min(values)), float(np.max(values))
    if bounds is not None:
        a, b = bounds
        if not (math.isfinite(a) and math.isfinite(b) and a < b):
            raise ValueError(f"bounds of {name} must be two finite numbers, low < high, got {a:g} and {b:g}")
        if low < a or high > b:
            raise ValueError(f"bounds of {name} must contain its values, {low:g} to {high:g}, got {a:g} to {b:g}")
        why = "bounds as given"
    else:
        if low >= 0.0:
            b = next((c for c in (1.0, 100.0) if high <= c), 0.0) or 10.0 ** math.ceil(math.log10(high))
            a = 0.0
        else:
            b = 10.0 ** math.ceil(math.log10(max(-low, high)))
            a = -b
        why = f"bounds {a:g} to {b:g} guessed from its values (--bounds {quote(f'{name}=LOW:HIGH')} says better)"
    return Metric(name, "", goal, a, b), f"score, {goal}, {low:g} to {high:g}; {why}"


def condition_of(holes: npt.NDArray[np.bool_], columns: Mapping[str, Column]) -> tuple[str, tuple[Any, ...]] | None:
    """The choice that explains where a column is empty: (parent, choices with which it is filled), if one does."""
    for parent, column in columns.items():
        if column.choices is None or np.isnan(column.values).any():
            continue
        empty, filled = (set(np.unique(column.values[mask]).tolist()) for mask in (holes, ~holes))
        if not empty & filled:
            return parent, tuple(column.choices[int(i)] for i in sorted(filled))
    return None
