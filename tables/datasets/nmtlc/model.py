"""Learning curves as a few numbers each: what the embedded NMTLC tables ship, and how it becomes a curve again.

A run stops some checkpoints after its best one, so a curve has two phases: down to its minimum, then the checkpoints
that brought no improvement. A curve is described by the length of both phases, the minimum, and the height above the
minimum at fixed shares of each phase (on a log scale); metrics beside the loss by their value at such shares. Heights
between the knots are interpolated, and first-order autoregressive noise restores the roughness.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import draws, exact
from hpo_envs.tables.table import Floats

DOWN = (0.0, 0.1, 0.25, 0.5, 0.75)
"""Shares of the first phase at which the height is described; its end has height 0."""

UP = (0.25, 0.5, 1.0)
"""Shares of the second phase at which the height is described."""

FLOOR = 0.01
"""Added to heights before the logarithm: differences below a hundredth of a nat do not matter."""

NAMES = ("log_best_index", "after", "minimum", *(f"down_{u:g}" for u in DOWN), *(f"up_{u:g}" for u in UP))
"""Names of the parameters of the loss."""

_EXTRA = ((0, 0.0), (0, 0.5), (0, 1.0), (1, 0.5), (1, 1.0))
"""(phase, share) at which a further metric is described."""


def describe(curve: Floats) -> Floats:
    """The parameters of a curve.

    Args:
        curve: (checkpoints, 1 or 2): the loss, and a second metric if there is one.

    Returns:
        (11,) or (16,) float64 in the order of `NAMES`; NaN where a phase has no checkpoint of its own.
    """
    loss = curve[:, 0]
    best = int(np.argmin(loss))
    after = len(loss) - 1 - best
    height = exact.log(loss - loss[best] + FLOOR)
    down = np.interp(np.array(DOWN) * best, np.arange(len(loss)), height) if best else np.full(len(DOWN), np.nan)
    up = np.interp(best + np.array(UP) * after, np.arange(len(loss)), height) if after else np.full(len(UP), np.nan)
    found = [[exact.log(1.0 + best), after, loss[best]], down, up]
    for column in curve.T[1:]:
        at = [share * best if phase == 0 else best + share * after for phase, share in _EXTRA]
        found.append(np.interp(at, np.arange(len(loss)), column))
    return np.concatenate(found)


def roughness(curves: list[Floats]) -> Floats:
    """(metrics, 2) standard deviation and lag-1 correlation of what `describe` leaves out of the curves."""
    columns = curves[0].shape[1]
    total = np.zeros((columns, 3))
    for curve in curves:
        smooth = _smooth(describe(curve), len(curve))
        loss = curve[:, 0]
        best = int(np.argmin(loss))
        residuals = [np.delete(exact.log(loss - loss[best] + FLOOR) - smooth[:, 0], best)]
        residuals += [curve[:, j] - smooth[:, j] for j in range(1, columns)]
        for j, r in enumerate(residuals):
            total[j] += (r @ r, len(r), r[1:] @ r[:-1])
    # Outliers would make every embedded curve jump: the correlation is kept below 0.95.
    return np.column_stack([np.sqrt(total[:, 0] / total[:, 1]), np.clip(total[:, 2] / total[:, 0], 0.0, 0.95)])


def expand(
    parameters: Floats, rough: Floats, count: int, patience: int, seed: str
) -> tuple[list[Floats], npt.NDArray[np.bool_]]:
    """Curves of parameters.

    Args:
        parameters: (rows, 11 or 16), see `describe`.
        rough: (metrics, 2), see `roughness`.
        count: Longest possible curve.
        patience: Checkpoints after the best one at which a run stops.
        seed: Any text; the same text draws the same noise.

    Returns:
        For each row (checkpoints, metrics): the loss, its exponential, and the second metric if there is one; and
        (rows,) bool, whether the run ended by the stopping rule. Values are rounded to 5 decimals of the loss.
    """
    curves, ended = [], []
    for row, p in enumerate(parameters):
        best, after = _lengths(p, count, patience)
        length = best + after + 1
        smooth = _smooth(p, length, best)
        noise = np.column_stack([_autoregressive(f"{seed}/{row}/{j}", length, *r) for j, r in enumerate(rough)])
        height = np.maximum(exact.exp(smooth[:, 0] + noise[:, 0]) - FLOOR, 1e-4)
        height[best] = 0.0
        loss = np.round(p[2] + height, 5)
        columns = [loss, exact.exp(loss)]
        if smooth.shape[1] > 1:
            columns.append(np.round(np.clip(smooth[:, 1] + noise[:, 1], 0.0, 100.0), 4))
        curves.append(np.column_stack(columns))
        ended.append(after >= patience)
    return curves, np.array(ended)


def _lengths(p: Floats, count: int, patience: int) -> tuple[int, int]:
    after = int(np.clip(np.rint(p[1]), 0, patience))
    best = int(np.clip(np.rint(exact.expm1(p[0])), 0, count - 1))
    return best, min(after, count - 1 - best)


def _smooth(p: Floats, length: int, best: int | None = None) -> Floats:
    """(length, metrics) log heights and further metrics, interpolated between the knots."""
    if best is None:
        best = int(np.rint(exact.expm1(p[0])))
    after = length - 1 - best
    n = len(NAMES)
    x = [*(np.array(DOWN) * best if best else ()), best, *(best + np.array(UP) * after if after else ())]
    y = [*(p[3 : 3 + len(DOWN)] if best else ()), exact.log(FLOOR), *(p[3 + len(DOWN) : n] if after else ())]
    at = np.arange(length)
    columns = [np.interp(at, x, y)]
    if len(p) > n:
        knots = [share * best if phase == 0 else best + share * after for phase, share in _EXTRA]
        columns.append(np.interp(at, knots, p[n:]))
    return np.column_stack(columns)


def _autoregressive(seed: str, length: int, deviation: float, correlation: float) -> Floats:
    """(length,) first-order autoregressive normal noise, stationary, drawn by hashing (seed, position)."""
    noise = _normals(seed, length) * deviation
    innovation = np.sqrt(1.0 - correlation**2)
    for i in range(1, length):
        noise[i] = correlation * noise[i - 1] + innovation * noise[i]
    return noise


def _normals(seed: str, n: int) -> Floats:
    """(n,) standard normal draws: Box and Muller's transform of a sequence that starts at the seed's hash."""
    start = np.frombuffer(hashlib.blake2b(seed.encode(), digest_size=8).digest(), "<u8")
    u = draws.uniform_many(draws.sequence(start, 2 * n))
    return np.sqrt(-2.0 * exact.log(u[:n])) * exact.circle(u[n:])[0]
