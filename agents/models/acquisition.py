"""Acquisition functions (EI, log EI, expected hypervolume improvement), and their maximisation on a box.

Among candidates the maximum is found by scoring them, see `hpo_envs.agents.search.base.CandidateAgent`.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.lbfgsb import minimise_each
from hpo_envs.agents.models.pareto import front

RANDOM, NEAR, BEST, STARTS = 400, 400, 5, 6
"""Numbers of random points, of points near the best observations, of these best ones, and of local searches."""

ROUNDS, MOVES, STEPS = 2, 48, 15
"""Numbers of rounds of random moves, of moves from each start in a round, and of L-BFGS-B iterations on real axes."""

SPREADS = (0.02, 0.3)
"""Smallest and largest standard deviation of moves along ordered axes."""

_SQRT_2PI = float(np.sqrt(2.0 * np.pi))


def expected_improvement(mean: Floats, deviation: Floats | float, best: Floats | float) -> Floats:
    """Return E[max(f - best, 0)] of normal predictions (Zhang and Duh 2020, equation 3, for maximisation).

    Arguments of any shapes are broadcast. Where `deviation`, >= 0, is 0, the result is max(mean - best, 0).
    """
    from scipy.special import ndtr

    gain = mean - best
    safe = np.maximum(deviation, 1e-300)
    z = np.clip(gain / safe, -1e8, 1e8)
    return np.asarray(np.maximum(gain * ndtr(z) + deviation * (np.exp(-0.5 * z * z) / _SQRT_2PI), 0.0))


def log_expected_improvement(gap: Floats, scale: Floats) -> Floats:
    """Return log E[max(N(gap, scale^2), 0)], which increases with `gap` and `scale` and is finite far in the tail."""
    from scipy.special import erfcx, ndtr

    x = gap / scale
    # f(x) = x Phi(x) + phi(x) = phi(x) (1 + x Phi(x) / phi(x)); the bracket tends to 1/x^2 far below 0.
    below, above = np.minimum(x, 0.0), np.maximum(x, 0.0)
    density = -0.5 * x * x - 0.5 * np.log(2.0 * np.pi)
    bracket = 1.0 + below * np.sqrt(np.pi / 2.0) * erfcx(-below / np.sqrt(2.0))
    tail = -2.0 * np.log(np.maximum(-below, 1e3))
    log_below = density + np.where(below < -1e3, tail, np.log(np.maximum(bracket, 1e-12)))
    log_above = np.log(above * ndtr(above) + np.exp(-0.5 * above * above) / np.sqrt(2.0 * np.pi))
    return np.asarray(np.log(scale) + np.where(x > 0.0, log_above, log_below))


def expected_hypervolume_improvement(mean: Floats, deviation: Floats, points: Floats, reference: Floats) -> Floats:
    """Return the (n,) exact expected hypervolume improvements of two independent predictions (Emmerich et al. 2011).

    The gain in dominated area consists of vertical strips between neighbouring points of the front, each bounded above
    by the point on its left. With psi(a) = E[max(a - f, 0)], an expected improvement, the result is the sum over strips
    of [psi1(right) - psi1(left)] psi2(top).

    Args:
        mean: (2, n) predictions of the minimised objectives.
        deviation: (2, n) standard deviations, >= 0.
        points: (t, 2) observations; those not better than the reference point do not count.
        reference: (2,) reference point.
    """
    inside = front(points[(points < reference).all(axis=1)])
    edges = np.append(inside[:, 0], reference[0])
    tops = np.concatenate([[reference[1]], inside[:, 1]])
    first = expected_improvement(-mean[0], deviation[0], -edges[:, None])
    second = expected_improvement(-mean[1], deviation[1], -tops[:, None])
    widths = np.diff(first, axis=0, prepend=0.0)
    return np.asarray(np.maximum((np.maximum(widths, 0.0) * second).sum(axis=0), 0.0))


class KernelAxes(Protocol):
    """Interface of the axes of a box that a kernel needs.

    Attributes:
        real: (r,) indices of the continuous axes.
        groups: (c,) index of the axis of each column of `inputs`, ascending.
    """

    real: Indices
    groups: Indices

    def inputs(self, x: Floats) -> Floats:
        """Return the (n, c) inputs of a kernel at (n, d) points."""


class BoxAxes(KernelAxes, Protocol):
    """Interface of the axes of a box, which `hpo_envs.agents.search.bo_box.BoxSpace` implements."""

    def __len__(self) -> int: ...
    def active(self, x: Floats) -> npt.NDArray[np.bool_]:
        """Return the (n, d) mask of the axes that are active at each of (n, d) points."""

    def snap(self, x: Floats) -> Floats:
        """Return the (n, d) configurations nearest to points."""

    def neighbours(self, x: Floats, rng: np.random.Generator, spread: Floats | float) -> Floats:
        """Return (n, d) random neighbours of points."""


def maximise(
    space: BoxAxes, score: Callable[[Floats], Floats], slope: Callable[[Floats], tuple[Floats, Floats]] | None,
    best: Floats, rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Return (RANDOM + NEAR, d) snapped points: the results of local searches, best first, then the other points.

    Args:
        space: The axes.
        score: Acquisition at (n, d) snapped points.
        slope: Function that returns the scores and their (n, r) gradients along the real axes; None: no gradients.
        best: (k, d) points near which good points are expected.
        rng: Draws points and moves.
    """
    near = best[rng.integers(len(best), size=NEAR)]
    spread = np.exp(rng.uniform(np.log(SPREADS[0]), np.log(SPREADS[1]), (NEAR, 1)))
    points = np.concatenate([space.snap(rng.random((RANDOM, len(space)))), space.neighbours(near, rng, spread)])
    scores = score(points)
    order = np.argsort(-scores)
    spare, top, held = points[order[STARTS:]], points[order[:STARTS]], scores[order[:STARTS]]
    for k in range(ROUNDS):
        moved = space.neighbours(np.repeat(top, MOVES, axis=0), rng, SPREADS[1] * 0.3 ** (k + 1))
        found = score(moved).reshape(len(top), MOVES)
        best_moved = moved.reshape(len(top), MOVES, -1)[np.arange(len(top)), found.argmax(axis=1)]
        top = np.where((found.max(axis=1) > held)[:, None], best_moved, top)
        held = np.maximum(held, found.max(axis=1))
    if slope is not None and len(space.real):
        top, held = _climb(space, slope, top, held)
    return np.concatenate([top[np.argsort(-held)], spare])


def _climb(
    space: BoxAxes, slope: Callable[[Floats], tuple[Floats, Floats]], top: Floats, held: Floats
) -> tuple[Floats, Floats]:
    """Return points and scores after L-BFGS-B along the active real axes; points that it does not improve are kept."""
    real, active = space.real, space.active(top)[:, space.real]

    def negative(points: Floats, which: list[int]) -> tuple[Floats, Floats]:
        x = top[which]
        x[:, real] = np.where(active[which], points, x[:, real])
        values, gradients = slope(x)
        return -values, np.where(active[which], -gradients, 0.0)

    ends = np.zeros(len(real)), np.ones(len(real))
    found = minimise_each(negative, np.ascontiguousarray(top[:, real]), *ends, STEPS)  # type: ignore[arg-type]
    climbed = top.copy()
    climbed[:, real] = np.where(active, found, top[:, real])
    values = slope(climbed)[0]
    better = values > held
    return np.where(better[:, None], climbed, top), np.maximum(values, held)
