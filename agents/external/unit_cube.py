"""Search spaces of Optuna as points of a unit cube, for our agents. Works on its distributions, imports nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Point = tuple[float, ...]
"""One value per parameter, as Optuna stores it: the number, or the index of a choice."""


class Cube:
    """Unit cube of distributions: numbers scaled to [0, 1] (in the logarithm for log scales), choices as 0/1.

    Args:
        distributions: Of `optuna.distributions`, none of which has one value only.

    Attributes:
        size: Dimensions of the cube.
    """

    def __init__(self, distributions: Sequence[Any]) -> None:
        self.distributions = distributions
        self.size = sum(len(d.choices) if hasattr(d, "choices") else 1 for d in distributions)

    def encode(self, point: Sequence[float | None]) -> Floats:
        """(size,) float64 in [0, 1]; values outside of their range are moved to its end; NaN if there is none."""
        out: list[float] = []
        for d, value in zip(self.distributions, point, strict=True):
            if value is None:
                out.extend([math.nan] * (len(d.choices) if hasattr(d, "choices") else 1))
            elif hasattr(d, "choices"):
                out.extend(float(i == int(value)) for i in range(len(d.choices)))
            else:
                low, high, x = (math.log(v) if d.log else float(v) for v in (d.low, d.high, max(value, d.low)))
                out.append(min((x - low) / (high - low), 1.0))
        return np.array(out)

    def decode(self, x: Floats) -> Point:
        """The point at (size,) coordinates; the largest of a choice's, the nearest step of a number's."""
        out: list[float] = []
        at = 0
        for d in self.distributions:
            width = len(d.choices) if hasattr(d, "choices") else 1
            out.append(float(np.argmax(x[at : at + width])) if hasattr(d, "choices") else _value(d, float(x[at])))
            at += width
        return tuple(out)

    def draw(self, rng: np.random.Generator) -> Point:
        """A random point, as Optuna's own random sampler draws them."""
        return tuple(_draw(d, rng) for d in self.distributions)

    def candidates(self, count: int, rng: np.random.Generator) -> list[Point]:
        """Every point if there are at most `count`, else `count` distinct random ones, or the result of a search."""
        axes = [_values(d, count) for d in self.distributions]
        if all(axes) and math.prod(map(len, axes)) <= count:
            return list(itertools.product(*axes))
        found: dict[Point, None] = {}
        for _ in range(10 * count):
            found.setdefault(self.draw(rng))
            if len(found) == count:
                break
        return list(found)


def _steps(d: Any) -> int:
    """Number of steps from the lowest to the highest value."""
    steps: float = (d.high - d.low) / d.step
    return math.floor(steps + 1e-9)


def _values(d: Any, most: int) -> list[float]:
    """Every value of a distribution; none if it is continuous or has more than `most`."""
    if hasattr(d, "choices"):
        return [float(i) for i in range(len(d.choices))]
    if d.step is None or _steps(d) >= most:
        return []
    return [_stepped(d, i) for i in range(_steps(d) + 1)]


def _stepped(d: Any, i: int) -> float:
    return float(min(d.low + i * d.step, d.high))


def _value(d: Any, x: float) -> float:
    """The number at a coordinate in [0, 1]."""
    if d.log:
        value = math.exp(math.log(d.low) + x * (math.log(d.high) - math.log(d.low)))
        value = min(max(value, d.low), d.high)
        return float(round(value)) if isinstance(d.low, int) else value
    if d.step is not None:
        return _stepped(d, round(x * (d.high - d.low) / d.step))
    return float(min(max(d.low + x * (d.high - d.low), d.low), d.high))


def _draw(d: Any, rng: np.random.Generator) -> float:
    if hasattr(d, "choices"):
        return float(rng.integers(len(d.choices)))
    if d.log and isinstance(d.low, int):
        # Every integer owns half a unit on either side of it.
        drawn = math.exp(rng.uniform(math.log(d.low - 0.5), math.log(d.high + 0.5)))
        return float(min(max(round(drawn), d.low), d.high))
    if d.step is not None and not d.log:
        return _stepped(d, int(rng.integers(_steps(d) + 1)))
    return _value(d, rng.uniform())
