"""Learning curves as a few numbers each: what the embedded NMTLC tables ship, and how it becomes a curve again.

A run stops some checkpoints after its best one, so a curve has two phases: down to its minimum, then the checkpoints
that brought no improvement. A curve is described by the length of both phases, the minimum, and the height above the
minimum at fixed shares of each phase (on a log scale); metrics beside the loss by their value at such shares. Between
these knots values are interpolated in the logarithm of time, in which learning curves are nearly straight, and
first-order autoregressive noise restores the roughness of each stretch between two knots. It is 0 at the knots, which
the parameters describe already: noise there would make the first checkpoints tell less about the last than they do.
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

_LOSS = (*((0, u) for u in DOWN), (0, 1.0), *((1, u) for u in UP))
"""(phase, share) of the knots of the loss."""


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
        found.append(np.interp(_knots(1, best, after), np.arange(len(loss)), column))
    return np.concatenate(found)


def roughness(curves: list[Floats]) -> Floats:
    """(metrics, 9) of what `describe` leaves out of the curves: how noise must be drawn to restore it.

    First the lag-1 correlation, then for each stretch between two knots the factor of noise with deviation 1.
    """
    columns = curves[0].shape[1]
    rough = np.zeros((columns, len(_LOSS)))
    for j in range(columns):
        left = []
        for curve in curves:
            best = int(np.argmin(curve[:, 0]))
            column = curve[:, j] if j else exact.log(curve[:, 0] - curve[best, 0] + FLOOR)
            rest = column - _smooth(describe(curve), j, len(curve), best)
            rest[best] = rest[best] if j else 0.0
            left.append((rest, best))
        lag = sum(float(r[1:] @ r[:-1]) for r, _ in left) / sum(float(r @ r) for r, _ in left)
        # Outliers would make every embedded curve jump: the correlation is kept below 0.95.
        rough[j, 0] = np.clip(lag, 0.0, 0.95)
        squares = np.zeros((2, len(_LOSS) - 1))
        for i, (r, best) in enumerate(left):
            stretch, unit = _stretches(j, len(r), best), _pinned(f"{i}", j, len(r), best, rough[j, 0])
            for total, deviations in zip(squares, (r, unit), strict=True):
                np.add.at(total, stretch, deviations**2)
        rough[j, 1:] = np.sqrt(squares[0] / np.where(squares[1] > 0, squares[1], np.inf))
    return rough


def expand(
    parameters: Floats, rough: Floats, count: int, patience: int, seed: str
) -> tuple[list[Floats], npt.NDArray[np.bool_]]:
    """Curves of parameters.

    Args:
        parameters: (rows, 11 or 16), see `describe`.
        rough: (metrics, 9), see `roughness`.
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
        loss, *others = (
            _smooth(p, j, length, best)
            + _pinned(f"{seed}/{row}/{j}", j, length, best, r[0]) * r[1:][_stretches(j, length, best)]
            for j, r in enumerate(rough)
        )
        height = np.maximum(exact.exp(loss) - FLOOR, 1e-4)
        height[best] = 0.0
        loss = np.round(p[2] + height, 5)
        columns = [loss, exact.exp(loss), *(np.round(np.clip(other, 0.0, 100.0), 4) for other in others)]
        curves.append(np.column_stack(columns))
        ended.append(after >= patience)
    return curves, np.array(ended)


def _lengths(p: Floats, count: int, patience: int) -> tuple[int, int]:
    after = int(np.clip(np.rint(p[1]), 0, patience))
    best = int(np.clip(np.rint(exact.expm1(p[0])), 0, count - 1))
    return best, min(after, count - 1 - best)


def _knots(metric: int, best: int, after: int) -> Floats:
    """(9 or 5,) checkpoints at which a metric is described."""
    knots = _EXTRA if metric else _LOSS
    return np.array([share * best if phase == 0 else best + share * after for phase, share in knots])


def _smooth(p: Floats, metric: int, length: int, best: int) -> Floats:
    """(length,) log heights, or a further metric, interpolated between the knots."""
    n = len(NAMES)
    y = p[n:] if metric else np.array([*p[3 : 3 + len(DOWN)], exact.log(FLOOR), *p[3 + len(DOWN) : n]])
    return _interpolated(_knots(metric, best, length - 1 - best), y, length)


def _interpolated(knots: Floats, y: Floats, length: int) -> Floats:
    """(length,) values between knots, linear in log(1 + checkpoint)."""
    return np.interp(exact.log(1.0 + np.arange(length)), exact.log(1.0 + knots), y)


def _stretches(metric: int, length: int, best: int) -> npt.NDArray[np.intp]:
    """(length,) index of the stretch between two knots in which each checkpoint lies."""
    knots = _knots(metric, best, length - 1 - best)
    return np.clip(np.searchsorted(knots, np.arange(length)) - 1, 0, len(knots) - 2)


def _pinned(seed: str, metric: int, length: int, best: int, correlation: float) -> Floats:
    """(length,) autoregressive noise without what interpolation between the knots has of it."""
    noise = _autoregressive(seed, length, correlation)
    knots = _knots(metric, best, length - 1 - best)
    return noise - _interpolated(knots, np.interp(knots, np.arange(length), noise), length)


def _autoregressive(seed: str, length: int, correlation: float) -> Floats:
    """(length,) first-order autoregressive noise, standard normal, drawn by hashing (seed, position)."""
    noise = _normals(seed, length)
    innovation = np.sqrt(1.0 - correlation**2)
    for i in range(1, length):
        noise[i] = correlation * noise[i - 1] + innovation * noise[i]
    return noise


def _normals(seed: str, n: int) -> Floats:
    """(n,) standard normal draws: Box and Muller's transform of a sequence that starts at the seed's hash."""
    start = np.frombuffer(hashlib.blake2b(seed.encode(), digest_size=8).digest(), "<u8")
    u = draws.uniform_many(draws.sequence(start, 2 * n))
    return np.sqrt(-2.0 * exact.log(u[:n])) * exact.circle(u[n:])[0]
