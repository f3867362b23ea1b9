"""Scales of numbers: linear, logarithmic, or logarithmic in 1 - x, by how their values are spread."""

import math
from typing import Literal, NamedTuple

import numpy as np

from hpo_envs.tables.user.cells import Floats

Kind = Literal["linear", "log", "decay"]

EVEN = 0.1
"""Largest standard deviation of even steps, relative to their mean."""

LADDERS = ({1, 2, 5}, {1, 3})
"""Significant digits of grids that repeat in each decade."""

NARROW = 3.0
"""Factor within which numbers look alike on a linear and a logarithmic scale."""

EVENLY = {"linear": "steps are even", "log": "ratios are even", "decay": "ratios of 1 - x are even"}
UNIFORMLY = {"linear": "uniform", "log": "log-uniform", "decay": "log-uniform in 1 - x"}


class DecidedScale(NamedTuple):
    """The scale of a hyperparameter.

    Attributes:
        kind: `linear`, `log`, or `decay`: logarithmic in 1 - x.
        reason: Reason for the decision.
        certain: Whether the values contradict other scales.
    """

    kind: Kind
    reason: str
    certain: bool = True


def scale_of(values: Floats, whole: bool) -> DecidedScale:
    """Decide the scale of (n,) finite numbers, which may repeat; `whole` ones, integers, are never decay rates.

    The steps of a grid are even on its scale. Random values have the larger likelihood under the uniform distribution
    between the smallest and the largest on their scale: with m the mean of log x, n log-uniform numbers in [a, b] have
    the log-likelihood -n (log log(b / a) + m), uniform ones -n log(b - a). A likelihood ratio of 100 is certain, and so
    are the evener steps of few numbers within a factor of 10 if they vary less than their mean.
    """
    grid = np.unique(values)
    positive = grid[grid > 0]
    if grid[0] < 0 or len(positive) < 2:
        return DecidedScale("linear", "")
    factor = float(positive[-1] / positive[0])
    if len(grid) == 2:
        return DecidedScale("log" if grid[0] > 0 and factor >= 10 else "linear", "two values")
    decay = not whole and grid[0] >= 0 and 0.8 < grid[-1] < 1
    narrow = DecidedScale("linear", f"within a factor of {NARROW:g}")
    if grid[0] > 0 and factor <= NARROW and not decay:
        return DecidedScale("linear", EVENLY["linear"]) if _unevenness(grid) <= EVEN else narrow
    steps: dict[Kind, float] = {"linear": _unevenness(grid)}
    if grid[0] > 0 or factor >= 10:  # 0 as a step of a logarithmic grid needs one
        steps["log"] = _unevenness(np.log(positive), factor >= 10)
    if decay:
        steps["decay"] = _unevenness(np.log1p(-grid))
    first, *others = sorted(steps, key=lambda k: steps[k])
    ahead = not others or steps[first] * 2 <= steps[others[0]]
    few = len(grid) <= 12 and (2 * len(grid) <= len(values) or len(grid) <= 5)
    near = factor < NARROW and "decay" not in (first, *others[:1])
    if (steps[first] <= EVEN and ahead) or (few and (ahead or near)):
        zero = ", 0 is the lowest step" if first == "log" and grid[0] == 0 else ""
        return DecidedScale(first, EVENLY[first] + zero)
    places = (grid - grid[0]) / np.diff(grid).min()
    if places[-1] + 1 < 1.5 * len(grid) > 5 and (abs(places - places.round()) <= EVEN / len(grid)).all():
        return DecidedScale("linear", "steps are even, but for a few that are missing")
    if grid[0] > 0 and factor >= 10 and any(all(_digits(x) in ladder for x in grid) for ladder in LADDERS):
        return DecidedScale("log", "the same digits in each decade")
    drawn = _drawn(values, decay, whole)
    if few and not drawn.certain:
        likely = min((k for k in steps if k != "decay"), key=lambda k: steps[k])
        certain = min(steps.values()) < 1 and factor <= 10 and grid[0] > 0 and not decay
        return DecidedScale(likely, "the evener steps", certain)
    return drawn


def _unevenness(points: Floats, apart: bool = True) -> float:
    """Standard deviation of the steps relative to their mean; for one step, 0 if `apart`, else 1."""
    steps = np.diff(points)
    return float(steps.std() / abs(steps.mean())) if len(steps) > 1 else 1.0 - apart


def _digits(number: float) -> int:
    """The significant digits of a number as an int, at most seven: 25 for 0.0025."""
    return int(f"{number:e}".partition("e")[0].replace(".", "").rstrip("0") or 0)


def _drawn(values: Floats, decay: bool, whole: bool) -> DecidedScale:
    """The scale of draws, by likelihood; equal ones count once, except whole numbers, which often repeat by chance."""
    grid = np.unique(values)
    values = values if whole else grid
    width = 1.0 if whole else 0.0  # an integer stands for an interval
    found: dict[Kind, float] = {"linear": -math.log(grid[-1] - grid[0] + width)}
    if grid[0] > 0:
        nats = math.log((grid[-1] + width / 2) / (grid[0] - width / 2))
        found["log"] = -float(np.log(values).mean()) - math.log(nats)
    if decay:
        rest = 1 - grid
        found["decay"] = -float(np.log(rest).mean()) - math.log(math.log(rest[0] / rest[-1]))
    first, *others = sorted(found, key=lambda k: -found[k])
    ahead = len(grid) * (found[first] - found[others[0]]) if others else math.inf
    if "decay" not in (first, *others[:1]) and grid[-1] < NARROW * grid[0]:
        return DecidedScale("linear", f"within a factor of {NARROW:g}")
    zero = grid[0] == 0 and np.log(grid[grid > 0]).std() > 1.5
    return DecidedScale(first, f"{UNIFORMLY[first]} is the likeliest", ahead >= math.log(100.0) and not zero)
