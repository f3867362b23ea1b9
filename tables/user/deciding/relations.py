"""Columns that other columns determine, and numbers that only a measurement can have."""

import itertools
import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from hpo_envs.tables.user.cells import Floats, Index

CHANCE = 1e-6
"""Largest probability that columns agree by chance as much as a function would make them."""

EXACT = 5e-3
"""Largest relative difference between rounded numbers and their formula."""

STRONG = 0.7
"""Least rank correlation of numbers with others from which they seem to be measured."""

GRID = 12
"""Up to so many different numbers that repeat are a grid; so many lines decide on other columns."""

LINES = 2_000
"""Lines that are looked at, all if they are fewer."""


def functions(columns: Mapping[str, Floats], numbers: Collection[str], scores: Floats) -> dict[str, str]:
    """Columns that others determine, or that rank runs as the score does.

    A column is a function of others where equal values there always come with equal values here, and chance does not
    explain it: c lines beyond the first of a group agree by chance with probability p^c, with p the probability that
    two lines agree in the column.

    Args:
        columns: Name -> (lines,) float64, in the order of the file; NaN is a value like others.
        numbers: Those that are no choices.
        scores: (lines,) float64.

    Returns:
        Column -> the others, in words; of several that determine each other, the later ones.
    """
    names = list(columns)
    if len(names) < 2 or len(scores) < 4:
        return {}
    lines = np.unique(np.column_stack([*columns.values()]), axis=0, return_index=True)[1]
    plain = {n: np.unique(c[lines], return_inverse=True)[1] for n, c in columns.items()}
    found: dict[str, str] = {}
    for name in reversed(names):
        free = [n for n in names if n != name and n not in found]
        before = [n for n in free if names.index(n) < names.index(name)]
        by = _determined(plain, name, free, before)
        if not by and name in numbers:
            by = _formula({n: columns[n][lines] for n in free if n in numbers}, columns[name][lines])
            by = by or _of_score(columns[name], scores)
        if by:
            found[name] = by
    return found


def dependent(columns: Mapping[str, Floats], numbers: Collection[str], scores: Floats) -> dict[str, tuple[str, bool]]:
    """Numbers that hardly repeat where others are a full grid, or that are correlated with others.

    Args:
        columns: Name -> (lines,) float64, codes for choices, in the order of the file.
        numbers: Those that are no choices.
        scores: (lines,) float64.

    Returns:
        Column -> what shows it, in words, and whether it is rather this one than its partner: of two that are
            correlated, the one with more such partners, or the later.
    """
    frame = pd.DataFrame(dict(columns))
    size, lines = frame.nunique(), len(frame)
    rare = [c for c in frame if c in numbers and size[c] * 2 > frame[c].count()]
    grid, cells = _grid(frame, [c for c in frame if c not in rare and size[c] > 1])
    full = lines > 5 and cells == lines == math.prod(size[grid].tolist())
    if len(grid) > 1 and (full or cells * 2 >= lines >= GRID):
        plain = {n: np.unique(c, return_inverse=True)[1] for n, c in columns.items()}
        others = [c for c in frame if c in numbers and c not in grid and size[c] > 1]
        free = [c for c in others if not _determined(plain, c, grid, grid)]
        return dict.fromkeys(free, (f"another value on each line of a grid of {', '.join(grid)}", True))
    if lines < 8:
        return {}
    ranked = frame[[c for c in frame if c in numbers]].assign(**{"": scores}).rank().corr().abs().fillna(0)
    least = max(STRONG, min(4.5 / math.sqrt(lines - 1), 0.97))  # chance explains 4.5 standard errors in 1 of 10^5
    found: dict[str, tuple[str, bool]] = {}
    partners: dict[str, tuple[str, bool]] = {}
    for _ in rare:
        left = ranked.drop(index=[*found, ""], columns=[*found, ""])
        close = left.where((left >= least) & ~np.eye(len(left), dtype=bool), 0.0)[[c for c in rare if c not in found]]
        total = close.sum().round(9)
        if not len(total) or not total.max():
            break
        column = str(total[::-1].idxmax())
        partner = str(close[column].idxmax())
        found[column] = f"in the order of {partner}, or nearly", True
        if close.at[partner, column] > 0.999 and not _constant(columns[column], columns[partner]):
            partners[partner] = f"in the order of {column}", False
    return partners | found


def _grid(frame: pd.DataFrame, columns: list[str]) -> tuple[list[str], int]:
    """Columns of which the lines have all combinations, or most, and how many these are; earlier columns first."""
    grid: list[str] = []
    cells = 1
    for c in columns:
        more = len(frame[[*grid, c]].drop_duplicates())
        if frame[c].nunique() * cells <= 1.25 * more and more > cells:
            grid, cells = [*grid, c], more
    return grid, cells


def _of_score(y: Floats, scores: Floats) -> str:
    """Whether numbers that hardly repeat are in the order of the score."""
    if len(y) < 20 or len(np.unique(y)) * 2 < len(y) or np.isnan(y).any():
        return ""
    ranked = abs(float(pd.Series(y).rank().corr(pd.Series(scores).rank()))) > 0.999
    return "in the order of the score, as if it was measured" if ranked else ""


def _determined(codes: Mapping[str, Index], name: str, free: list[str], before: list[str]) -> str:
    target = codes[name]
    shares = np.bincount(target) / len(target)
    surprise = -math.log(min(float((shares**2).sum()), 1 - 1e-9))
    distinct, sizes = len(shares), {n: int(codes[n].max()) + 1 for n in free}
    for size in (1, 2):
        for some in itertools.combinations(free, size):
            groups = math.prod(sizes[n] for n in some)
            if groups < distinct or (groups == distinct and size == 1 and some[0] not in before):
                continue
            key = np.zeros(len(target), np.intp)
            for n in some:
                key = key * sizes[n] + codes[n]
            used = len(np.unique(key))
            again = len(target) - used
            if used * (4 if size == 1 else 2) > len(target):
                continue  # such a column names the runs, whatever else it is
            if again * surprise < math.log(len(free) ** size / CHANCE):
                continue
            if len(np.unique(key * distinct + target)) == used:
                return f"a function of {' and '.join(some)}"
    return ""


def _formula(columns: Mapping[str, Floats], y: Floats) -> str:
    """A formula for numbers that hardly repeat; whole ones may be rounded."""
    others = {n: x for n, x in columns.items() if len(np.unique(x)) > 1}
    if len(np.unique(y)) < 6 or not np.isfinite(y).all():
        return ""
    for n, x in others.items():
        if _constant(y, x) or _constant(y * x, np.ones(len(x))):
            return f"proportional to {n}" if _constant(y, x) else f"proportional to 1 / {n}"
    near = EXACT * abs(y) + (1.0 if (y % 1 == 0).all() and y.max() > 100 else 0.0)
    for (n, a), (m, b) in itertools.combinations(others.items(), 2):
        with np.errstate(all="ignore"):
            forms: dict[str, Any] = {f"{n} x {m}": a * b, f"{n} / {m}": a / b, f"{m} / {n}": b / a}
            sums: dict[str, Any] = {f"{n} + {m}": a + b, f"{n} - {m}": a - b, f"{m} - {n}": b - a}
        for text, x in (forms | sums).items():
            if text in forms and _constant(y, x):
                return f"proportional to {text}"
            if np.isfinite(x).all() and (abs(y - x) <= near).all():
                return f"equal to {text}"
    return ""


def _constant(y: Floats, x: Floats) -> bool:
    with np.errstate(all="ignore"):
        ratio = y / x
    return bool(np.isfinite(ratio).all() and ratio[0] != 0 and (abs(ratio - ratio[0]) <= EXACT * abs(ratio[0])).all())
