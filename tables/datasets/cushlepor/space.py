"""The search space of metric tuning: boxes of hLEPOR's six parameters, and the map from [-1, 1]^6 to them."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import exact, hlepor
from hpo_envs.tables.checks import one_of, shown
from hpo_envs.tables.table import Floats, Hyperparameter, numbers

Bounds = Mapping[str, tuple[float, float]]

_WEIGHTS = ("alpha", "beta", "weight_elp", "weight_pos", "weight_pr")

BOUNDS: dict[str, dict[str, tuple[float, float]]] = {
    "published": {**dict.fromkeys(_WEIGHTS[:2], (1.0, 10.0)), "n": (1, 4), **dict.fromkeys(_WEIGHTS[2:], (1.0, 15.0))},
    "wide": {**dict.fromkeys(_WEIGHTS, (0.1, 10.0)), "n": (0, hlepor.MAX_N)},
}
"""Boxes by name. `published`: the hull of the published settings, rounded outwards, linear. `wide`: all ratios of
weights up to 100, logarithmic."""


class ParameterBox:
    """The map from [-1, 1]^6 to parameters.

    Args:
        bounds: Name of one of `BOUNDS` (`wide` is logarithmic in the weights), or (low, high) by parameter name for a
            linear box; other parameters keep their `published` bounds.

    Attributes:
        log: Whether the scale of the weights is logarithmic.
        space: The six parameters as hyperparameters.
        low: (6,) lower bounds.
        high: (6,) upper bounds.

    Raises:
        ValueError: Unknown names, or bounds that are not 0 <= low < high (n: ints 0 <= low <= high <= 8).
    """

    def __init__(self, bounds: str | Bounds) -> None:
        self.log = bounds == "wide"
        if isinstance(bounds, str):
            chosen: Bounds = BOUNDS[one_of("bounds", bounds, [*BOUNDS], " or (low, high) by name")]
        elif not isinstance(bounds, Mapping):
            raise ValueError(f"bounds must be a name or (low, high) by name, got {shown(bounds)}")
        else:
            for name in bounds:
                one_of("name in bounds", name, hlepor.NAMES)
            chosen = {**BOUNDS["published"], **bounds}
        for name, pair in chosen.items():
            low, high = ends.tolist() if (ends := numbers(pair)).shape == (2,) else (np.nan, np.nan)
            if name == "n":
                valid = low % 1 == 0 and high % 1 == 0 and 0 <= low <= high <= hlepor.MAX_N
                rule = f"ints 0 <= low <= high <= {hlepor.MAX_N}"
            else:
                valid, rule = bool(np.isfinite(high)) and 0 <= low < high, "0 <= low < high"
            if not valid:
                raise ValueError(f"bounds of {name} must be {rule}, got {pair!r}")
        self.space = tuple(
            Hyperparameter(name, "int" if name == "n" else "float", *chosen[name], log=self.log and name != "n")
            for name in hlepor.NAMES
        )
        self.low, self.high = (np.array([float(chosen[n][k]) for n in hlepor.NAMES]) for k in (0, 1))
        self._choices = float(self.high[2] - self.low[2]) + 1.0
        scale = exact.log if self.log else np.asarray
        with np.errstate(divide="ignore"):
            self._start, end = scale(self.low), scale(self.high)
        self._width = np.where(np.isfinite(self._start), end - self._start, 0.0)

    def natural(self, actions: Floats) -> Floats:
        """Map (k, 6) points of [-1, 1]^6 to (k, 6) parameter vectors; the values of n divide their axis equally."""
        share = (actions + 1.0) * 0.5
        n = np.minimum(np.floor(share[:, 2] * self._choices), self._choices - 1.0) + self.low[2]
        if self.log:
            with np.errstate(invalid="ignore"):
                vectors = exact.exp(self._start + share * self._width)
        else:
            vectors = self._start + share * self._width
        out: Floats = np.minimum(np.maximum(vectors, self.low), self.high)
        out[:, 2] = n
        return out

    def action(self, vector: npt.ArrayLike) -> Floats:
        """(6,) point of [-1, 1]^6 of a vector, n in the middle of its part; ValueError if it lies outside the box."""
        v = np.asarray(vector, dtype=np.float64)
        if v.shape != (6,) or not ((v >= self.low) & (v <= self.high)).all():
            box = f"{self.low.tolist()} to {self.high.tolist()}"
            raise ValueError(f"vector must lie in the box, {box}, got {v.tolist()}")
        with np.errstate(divide="ignore", invalid="ignore"):
            share = ((exact.log(v) if self.log else v) - self._start) / np.where(self._width > 0, self._width, 1.0)
        share[2] = (v[2] - self.low[2] + 0.5) / self._choices
        return np.asarray(share * 2.0 - 1.0)
