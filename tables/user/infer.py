"""What a column of configurations is: guessed from its values, with the reason in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from hpo_envs.tables.table import Hyperparameter, Metric

MISSING = ("", "nan", "na", "n/a", "null")
"""Cells that say nothing, in any case."""

FEW = 12
"""Up to so many different numbers count as a grid."""

CHOICES = 50
"""More different texts than this are no choice."""

LOG = 100.0
"""Positive numbers that span this factor are taken as logarithmic."""

IDENTIFIERS = ("id", "run", "run_id", "runid", "trial", "trial_id", "number", "index", "idx", "name", "key", "uuid")
STAMPS = ("date", "time", "timestamp", "datetime", "datetime_start", "datetime_complete", "created", "started")

LOWER = ("loss", "error", "err", "perplexity", "ppl", "rmse", "mse", "mae", "wer", "cer", "nll", "seconds", "time",
         "latency", "runtime", "duration", "memory", "regret", "ter")  # fmt: skip
HIGHER = ("accuracy", "acc", "f1", "bleu", "chrf", "auc", "auroc", "precision", "recall", "score", "r2", "rouge",
          "comet", "reward", "em", "map", "mrr", "likelihood")  # fmt: skip

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_INT = re.compile(r"[+-]?\d{1,300}")
_TRUTH = {"true": True, "false": False, "yes": True, "no": False}


def number(text: str) -> float | int | None:
    """The number that a cell is, else None; an int stays one. No infinities, no underscores."""
    cell = text.strip()
    if _INT.fullmatch(cell):
        return int(cell)
    if _NUMBER.fullmatch(cell):
        value = float(cell)
        return value if math.isfinite(value) else None
    return None


def apart(name: str, values: Iterable[Any]) -> None:
    """Refuses whole numbers of a column that float64 cannot tell apart.

    Raises:
        ValueError: One beyond 2**53.
    """
    for v in values:
        if isinstance(v, int) and abs(v) > 2**53:
            raise ValueError(
                f"column {name}: whole numbers must be at most 2**53, beyond which float64 merges them, got {v}"
            )


def missing(text: str) -> bool:
    """Whether a cell says nothing."""
    return text.strip().lower() in MISSING


def goal_of(name: str) -> Literal["max", "min"] | None:
    """Guesses from its name whether a score is to be high or low."""
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    low, high = bool(words & set(LOWER)), bool(words & set(HIGHER))
    return None if low == high else ("min" if low else "max")


def typed(cells: Sequence[str], categorical: bool) -> tuple[list[Any], list[int]]:
    """The values of a column's cells, None where missing, and the indices of cells that do not fit the others.

    A column is numbers if most of its cells are: then the rest are slips. `none` is a choice among texts, and missing
    among numbers.
    """
    said = [c.strip() for c in cells]
    full = [i for i, c in enumerate(said) if not missing(c)]
    if not categorical:
        truths = [_TRUTH.get(said[i].lower()) for i in full]
        if full and None not in truths:
            return [None if missing(c) else _TRUTH[c.lower()] for c in said], []
        candidates = [i for i in full if said[i].lower() != "none"]
        found = {i: number(said[i]) for i in candidates}
        bad = [i for i in candidates if found[i] is None]
        if candidates and len(bad) * 5 <= len(candidates) and len(bad) < len(candidates):
            return [found.get(i) for i in range(len(said))], bad
    return [None if missing(c) else c for c in said], []


def hyperparameter(name: str, values: Sequence[Any], log: bool | None = None) -> tuple[Hyperparameter, str]:
    """Makes a hyperparameter of a column's values (None = missing), and says why it is what it is.

    Raises:
        ValueError: Too many different texts for a choice, or `log` for numbers that are not all positive.
    """
    there = [v for v in values if v is not None]
    if any(isinstance(v, (bool, str)) for v in there):
        choices = tuple(sorted(set(there), key=str))
        if len(choices) > CHOICES:
            raise ValueError(
                f"column {name}: must be numbers or at most {CHOICES} different texts, got {len(choices)} such as "
                f"{str(choices[0])[:30]!r}; leave it out with --drop {name}"
            )
        shown = ", ".join(str(c) for c in choices[:5]) + (", ..." if len(choices) > 5 else "")
        return (
            Hyperparameter(name, "categorical", 0.0, float(len(choices) - 1), values=choices),
            f"choice of {len(choices)}: {shown}",
        )
    kind: Literal["int", "float"] = "int" if all(isinstance(v, int) for v in there) else "float"
    grid = sorted({float(v) for v in there})
    low, high = grid[0], grid[-1]
    if log and low <= 0:
        raise ValueError(f"column {name}: must be positive to be logarithmic, got {low:g}")
    wide = low > 0 and high / low >= LOG
    logarithmic = wide if log is None else log
    listed: tuple[Any, ...] = ()
    if len(grid) <= FEW and len(grid) < len(there):
        listed = tuple(int(v) if kind == "int" else v for v in grid)
    text = f"{kind}, {low:g} to {high:g}"
    if listed:
        text += f", {len(listed)} values"
    if logarithmic:
        text += ", logarithmic" + ("" if log else f" (spans a factor of {high / low:.3g})")
    return Hyperparameter(name, kind, low, high, logarithmic, listed), text


def metric(
    name: str, values: Sequence[float], goal: Literal["max", "min"], bounds: tuple[float, float] | None
) -> tuple[Metric, str]:
    """Makes a metric; bounds are 0 to 1 or 0 to 100 where values fit, else round numbers around them.

    Raises:
        ValueError: Bounds that are not finite and increasing, or values outside them.
    """
    low, high = min(values), max(values)
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
        why = f"bounds {a:g} to {b:g} guessed from its values (--bounds {name}=LOW:HIGH says better)"
    return Metric(name, "", goal, a, b), f"score, {goal}, {low:g} to {high:g}; {why}"


def condition_of(
    holes: Sequence[bool], columns: dict[str, tuple[Hyperparameter, Sequence[Any]]]
) -> tuple[str, tuple[Any, ...]] | None:
    """The choice that explains where a column is empty: (parent, choices with which it is filled), if one does."""
    for parent, (h, values) in columns.items():
        if h.kind != "categorical" or any(v is None for v in values):
            continue
        empty = {v for v, hole in zip(values, holes, strict=True) if hole}
        filled = {v for v, hole in zip(values, holes, strict=True) if not hole}
        if not empty & filled:
            return parent, tuple(c for c in h.values if c in filled)
    return None
