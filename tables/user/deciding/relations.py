"""Columns that are functions of others or rank runs as the score does, and numbers that seem to be measured."""

import itertools
import math
from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from hpo_envs.tables.user.cells import Floats, Index

DIGITS = 6
"""Number of significant digits from which whole numbers count as computed, not set."""

EXACT = 5e-3
"""Largest relative difference between rounded numbers and their formula."""

GRID = 12
"""Largest number of different values that count as a grid; fewest lines of an incomplete grid."""

PAIRS, MOST = 30, 150
"""Largest number of columns of which pairs are examined, and of columns that are examined at all."""

LINES = 2_000
"""Largest number of lines examined."""


def functions(
    frame: pd.DataFrame, numbers: Collection[str], scores: Floats, counts: Collection[str] = ()
) -> dict[str, tuple[str, bool]]:
    """Columns that others determine, that name the configurations, or that rank runs as the score does.

    A column is a function of others if lines equal in these are equal in it, and the chance of a coincidence is below
    5 %: few of the permutations of its values are constant in the same groups of lines.

    Args:
        frame: (lines,) columns of float64, codes for choices, in the order of the file; NaN is a value like others.
        numbers: Names of the numeric columns.
        scores: (lines,) float64.
        counts: Measured whole numbers, of which other counts may be products.

    Returns:
        Column -> the columns that determine it, in words, and whether it is computed: by a formula; or, at a chance
            below 10^-6, as numbers of `DIGITS` digits or the same choices under other names. Of several columns that
            determine each other, only the later ones are in it.
    """
    names = [n for n in frame if n not in counts and frame[n].nunique() > 1]
    if len(names) < 2 or len(scores) < 4:
        return {}
    some = frame.drop_duplicates(names)
    plain = {n: _codes(some[n]) for n in names}
    found: dict[str, tuple[str, bool]] = {}
    for name in reversed(names):
        free = [n for n in names if n != name and n not in found]
        number, others = name in numbers, [n for n in free if n in numbers]
        by = _formula(some[others], some[name].to_numpy()) if number else ""
        computed = bool(by)
        if not by:
            parents, chance = _determined(plain, name, free)
            by = f"a function of {' and '.join(parents)}" if parents else ""
            same = len(parents) == 1 and parents[0] not in numbers and plain[parents[0]].max() == plain[name].max()
            computed = chance < 1e-6 and (_long(some[name]) if number else same)
        named = not number and len(names) > 2 and len({*plain[name]}) == len(some) > 5
        if not by and named and not some[free].duplicated().any():
            by = "another value for each configuration, as names have"
        if not by and number:
            by = _of_score(frame[name], scores) or _powers(some[[*counts, *others]], some[name])
        if by:
            found[name] = by, computed
    return found


def dependent(frame: pd.DataFrame, numbers: Collection[str]) -> dict[str, tuple[str, bool]]:
    """Find numbers that rarely repeat although other columns form a grid or, without one, correlate with other columns.

    A 0 on at least a quarter of the lines counts as a missing value. For the arguments see `functions`.

    Returns:
        Column -> the evidence in words, and whether it is more likely a measurement than the other: if the others form
            a grid with equally many lines in each cell; of two correlated columns, the one with more correlations, or
            the later one.
    """
    often = [c for c in frame if c in numbers and (frame[c] == 0).mean() >= 0.25]
    frame = frame.assign(**{c: frame[c].where(frame[c] != 0) for c in often})
    size, lines = frame.nunique(), len(frame)
    rare = [c for c in frame if c in numbers and size[c] * 2 > frame[c].count()]
    grid, cells = _grid(frame, [c for c in frame if c not in rare and size[c] > 1])
    full = lines > 5 and cells == lines == math.prod(size[grid].tolist())
    if len(grid) > 1 and (full or cells * 2 >= lines >= GRID):
        even = full or frame.groupby(grid, dropna=False).size().nunique() == 1
        plain = {n: _codes(frame[n]) for n in frame}
        free = [c for c in frame if c in numbers and c not in grid and size[c] > 1]
        free = [c for c in free if (even or c in rare) and not _determined(plain, c, grid)[0]]
        return dict.fromkeys(free, (f"another value on each line of a grid of {', '.join(grid)}", even))
    if lines < 8:
        return {}
    ranked = frame[[c for c in frame if c in numbers]].rank().corr().abs().fillna(0)
    least = max(0.7, min(4.5 / math.sqrt(lines - 1), 0.97))  # chance explains 4.5 standard errors in 1 of 10^5
    found: dict[str, tuple[str, bool]] = {}
    partners: dict[str, tuple[str, bool]] = {}
    for _ in rare:
        left = ranked.drop(index=[*found], columns=[*found])
        close = left.where((left >= least) & ~np.eye(len(left), dtype=bool), 0.0)[[c for c in rare if c not in found]]
        total = close.sum().round(9)
        if not len(total) or not total.max():
            break
        column = str(total[::-1].idxmax())
        partner = str(close[column].idxmax())
        found[column] = f"in the order of {partner}, or nearly", True
        if close.at[partner, column] > 0.999 and not _constant(frame[column], frame[partner]):
            partners[partner] = f"in the order of {column}", False
    return partners | found


def _codes(values: pd.Series) -> Index:
    return np.asarray(pd.factorize(values, sort=True, use_na_sentinel=False)[0])


def _grid(frame: pd.DataFrame, columns: list[str]) -> tuple[list[str], int]:
    """Return the columns of a grid, each in 80 % of the combinations with those before, and the number of its cells."""
    grid: list[str] = []
    cells = 1
    for c in columns:
        more = len(frame[[*grid, c]].drop_duplicates())
        if frame[c].nunique() * cells <= 1.25 * more and more > cells:
            grid, cells = [*grid, c], more
    return grid, cells


def _of_score(y: pd.Series, scores: Floats) -> str:
    """Return the reason if numbers that rarely repeat are in the order of the score or its reverse, else empty."""
    few = y.nunique() < max(10, len(y) / 2) or y.isna().any()
    ranked = not few and abs(float(y.rank().corr(pd.Series(scores, y.index).rank()))) > 0.999
    return "in the order of the score, as if it was measured" if ranked else ""


def _long(values: pd.Series) -> bool:
    """Return whether all numbers are whole, and at least half of the different ones long and no powers of two."""
    different = np.unique(values[~np.isnan(values)])
    if not len(different) or (different % 1).any():
        return False
    texts = (str(int(v)).strip("-").rstrip("0") for v in different.tolist() if math.frexp(v)[0] not in (0.5, -0.5))
    return sum(len(t) >= DIGITS for t in texts) * 2 >= len(different)


def _determined(codes: dict[str, Index], name: str, free: Sequence[str]) -> tuple[tuple[str, ...], float]:
    """The one or two columns that determine a column, and the probability of a coincidence; () and 1 if none do."""
    target, order = codes[name], [*codes]
    count = len(np.unique(target))
    all_orders = _orders(target)
    pairs = itertools.combinations(free, 2) if len(order) <= PAIRS else ()
    for some in (*itertools.combinations(free, 1), *pairs):
        sizes = [int(codes[n].max()) + 1 for n in some]
        later = len(some) == 1 and order.index(some[0]) > order.index(name)
        if math.prod(sizes) < count + later or max(sizes) * (4 if len(some) == 1 else 2) > len(target):
            continue
        key = np.ravel_multi_index([codes[n] for n in some], sizes)
        _, first, group, size = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        if len(size) * (4 if len(some) == 1 else 2) > len(target) or (target[first][group] != target).any():
            continue  # such a column names the runs, whatever else it is
        same = math.fsum(_orders(target[first][size == each]) for each in np.unique(size))
        chance = math.exp(same - all_orders) * math.comb(len(free), len(some))
        if chance < 0.05:
            return some, chance
    return (), 1.0


def _orders(values: Index) -> float:
    """The logarithm of the number of permutations of values."""
    counts = np.unique(values, return_counts=True)[1].tolist()
    return math.lgamma(len(values) + 1) - math.fsum(math.lgamma(n + 1) for n in counts)


def _formula(others: pd.DataFrame, y: Floats) -> str:
    """A formula in words that fits numbers up to rounding, of two columns only for more than 5 values; else empty."""
    many = len(np.unique(y))
    if many < 3 or not np.isfinite(y).all():
        return ""
    near = EXACT * abs(y) + (1.0 if (y % 1 == 0).all() and y.max() > 100 else 0.0)
    columns = {n: x.to_numpy() for n, x in others.items()}
    with np.errstate(all="ignore"):
        factors = {text: form for n, x in columns.items() for text, form in ((n, x), (f"1 / {n}", 1 / x))}
        sums: dict[str, Floats] = {}
        for (n, a), (m, b) in itertools.combinations(columns.items() if many > 5 and len(columns) < PAIRS else (), 2):
            factors |= {f"{n} x {m}": a * b, f"{n} / {m}": a / b, f"{m} / {n}": b / a}
            sums |= {f"{n} + {m}": a + b, f"{n} - {m}": a - b, f"{m} - {n}": b - a}
    for text, x in factors.items():
        if _constant(y, x):
            return f"proportional to {text}"
    equal = (text for text, x in (factors | sums).items() if np.isfinite(x).all() and (abs(y - x) <= near).all())
    return next((f"equal to {text}" for text in equal), "")


def _powers(others: pd.DataFrame, y: pd.Series) -> str:
    """Up to three columns, in words, whose product of powers explains 95 % of the variance of the logarithm of numbers.

    Empty if there are none, or if the numbers are not whole or all below 10^5, as counts of parameters are not.
    """
    if not (y >= 1).all() or (y % 1).any() or y.max() < 1e5:
        return ""
    free = {n: np.log(x) for n, x in others.items() if (x > 0).all() and x.nunique() > 1}
    log, terms = np.log(y), np.ones((1, len(y)))
    used: list[str] = []
    while free and len(used) < 3 and len(y) >= 3 * len(terms) + 3 and y.nunique() > len(terms) + 1:
        fits = {n: np.linalg.lstsq(np.vstack([terms, x]).T, log, rcond=None)[0] for n, x in free.items()}
        rest = {n: float((log - np.vstack([terms, free[n]]).T @ fit).var()) for n, fit in fits.items()}
        used.append(best := min(rest, key=lambda n: rest[n]))
        terms = np.vstack([terms, free.pop(best)])
        if rest[best] <= 0.05 * log.var():
            return f"nearly a product of powers of {', '.join(used)}"
    return ""


def _constant(y: Floats | pd.Series, x: Floats | pd.Series) -> bool:
    with np.errstate(all="ignore"):
        ratio = np.asarray(y / x)
    return bool(np.isfinite(ratio).all() and ratio[0] != 0 and (abs(ratio - ratio[0]) <= EXACT * abs(ratio[0])).all())
