"""SciPy's L-BFGS-B for many problems at once, whose functions are evaluated together."""

import functools
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from hpo_envs.agents.models import Floats

Both = Callable[[Floats, Sequence[int]], tuple[Floats, Floats]]
"""`both(points, which)` returns the values (m,) and gradients (m, p) of the problems `which` at their (m, p) points."""

MEMORY, SEARCH, FTOL, GTOL = 10, 20, 2.2204460492503131e-09, 1e-5
"""Corrections kept, steps of a line search, and tolerances: the defaults of `scipy.optimize.minimize`."""

TRIED = ("1.15.", "1.16.", "1.17.", "1.18.")
"""Tested versions of SciPy, whose private routine takes the arguments used here."""

_NEW_POINT, _WANTS_BOTH, _STOPPED, _AT_ITERATIONS = 1, 3, 5, 504
"""Task codes of SciPy's routine; the last two stop it at the limit of iterations."""


def minimise_each(both: Both, starts: Floats, low: Floats, high: Floats, steps: int) -> Floats:
    """Return the (k, p) minimisers of k functions within (p,) bounds, from (k, p) starts, in at most `steps` steps.

    They are bit for bit those of `scipy.optimize.minimize`, which solves one problem at a time, with an overhead per
    call above the cost of small functions. Its underlying routine returns each point at which it needs a value, so that
    the points of all problems can be evaluated together.
    """
    routine = _routine()
    if routine is None:
        return np.stack([_alone(both, k, start, low, high, steps) for k, start in enumerate(starts)])
    return _together(routine, both, starts, low, high, steps)


def _together(
    routine: Callable[..., None], both: Both, starts: Floats, low: Floats, high: Floats, steps: int
) -> Floats:
    k, p = starts.shape
    points, slopes = np.clip(starts, low, high), np.zeros((k, p))
    floats = 2 * MEMORY * p + 5 * p + 11 * MEMORY**2 + 8 * MEMORY
    work, saved = np.zeros((k, floats)), np.zeros((k, 29))
    whole, task, flags, counts, line = (np.zeros((k, n), np.int32) for n in (3 * p, 2, 4, 44, 2))
    before = [(MEMORY, point, low, high, np.full(p, 2, np.int32)) for point in points]
    own = zip(slopes, work, whole, task, flags, counts, saved, line, strict=True)
    after = [(g, FTOL / np.finfo(float).eps, GTOL, *rows, SEARCH, last) for g, *rows, last in own]
    values, iterations = [0.0] * k, [0] * k
    running = list(range(k))
    while running:
        waiting = []
        for i in running:
            given, state = (*before[i], values[i], *after[i]), task[i]
            routine(*given)
            while state[0] == _NEW_POINT:
                iterations[i] += 1
                if iterations[i] >= steps:
                    state[:] = _STOPPED, _AT_ITERATIONS
                routine(*given)
            if state[0] == _WANTS_BOTH:
                waiting.append(i)
        if waiting:
            found, slopes[waiting] = both(points[waiting], waiting)
            for i, value in zip(waiting, found.tolist(), strict=True):
                values[i] = value
        running = waiting
    return points


def _alone(both: Both, k: int, start: Floats, low: Floats, high: Floats, steps: int) -> Floats:
    from scipy.optimize import minimize

    def one(point: Floats) -> tuple[float, Floats]:
        value, slope = both(point[None], [k])
        return float(value[0]), slope[0]

    bounds, options = list(zip(low, high, strict=True)), {"maxiter": steps}
    found = minimize(one, np.clip(start, low, high), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x)


@functools.cache
def _routine() -> Callable[..., None] | None:
    """Return SciPy's private routine if its version was tested and it passes a check, else None after a warning."""
    import scipy

    low, high, starts = np.array([-1.5, -1.5]), np.array([1.5, 0.8]), np.array([[-1.2, 0.5], [0.3, -1.0]])
    try:
        if not scipy.__version__.startswith(TRIED):
            raise ImportError(f"tested versions: {', '.join(v.rstrip('.') for v in TRIED)}")
        from scipy.optimize import _lbfgsb

        routine: Callable[..., None] = _lbfgsb.setulb
        here = _together(routine, _valleys, starts, low, high, 25)
        there = [_alone(_valleys, k, start, low, high, 25) for k, start in enumerate(starts)]
        if here.tobytes() != np.stack(there).tobytes():
            raise ValueError("its results differ from those of scipy.optimize.minimize")
    except Exception as error:  # whatever another version does
        warnings.warn(
            f"kernels are estimated one at a time, which makes bo three times slower without changing its results: the "
            f"L-BFGS-B routine of SciPy {scipy.__version__} cannot be used ({error})",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return routine


def _valleys(points: Floats, which: Sequence[int]) -> tuple[Floats, Floats]:
    """Return values and gradients of Rosenbrock's function, which needs line searches, bounds and many iterations."""
    from scipy.optimize import rosen, rosen_der

    return np.asarray(rosen(points.T)), np.asarray(rosen_der(points.T).T)
