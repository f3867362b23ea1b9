"""Observations of a policy: columns of candidates and of the history, by groups, for many episodes at once.

Training computes these columns for thousands of episodes at once, an agent for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.models import Floats, Indices
from hpo_envs.agents.models.gp.averaged import AveragedGP
from hpo_envs.agents.models.gp.kernels import of_square_distances
from hpo_envs.agents.models.gp.stacked import (
    FLOOR,
    LENGTHS,
    START,
    StackedGP,
    Tables,
    length_scales,
    scaled,
    standardised,
)

GROUPS = {"hyperparameters": 64, "observed": 2, "posterior": 11, "prior": 2, "stacked": 3, "history": 4 + 64}
"""Columns of each group of features, by name:

- `hyperparameters`: the candidates' features, scaled from [0, 1] to [-1, 1], then zeros (cells have 61 features);
- `observed`: the standardised reward (0: not evaluated), and the correlation with the nearest evaluated candidate;
- `posterior`: how typical a candidate is; the means minus the incumbent, the deviations and the log expected
  improvements of Gaussian processes of the episode with length-scales of three kinds, averaged as in `gp.averaged`; and
  the log expected improvement over all kinds;
- `prior`: mean and deviation of the predictions of source tasks;
- `stacked`: mean minus the incumbent, deviation and log expected improvement of a Gaussian process stacked on the
  source tasks, as in the agent `learned`;
- `history`: for each evaluation in order, 1, its reward, standardised with all rewards so far, its cost and the budget
  left after it, as fractions of the budget, then its features as in `hyperparameters`; zeros for future evaluations.

Log expected improvements are differences from the largest one of an unevaluated candidate, divided by 4. `candidates`
has column 0, which marks evaluated candidates, and the groups in the order in which they are named. `hyperparameters`,
which stays the same until the next reset, and `history` are separate arrays."""

JOINED = ("candidates", "hyperparameters")
"""Arrays of an observation that have a row for each candidate; see `joined`."""

APART, DEFAULT = ("hyperparameters", "history"), ("hyperparameters", "observed", "posterior")
"""Groups that are separate arrays, and default groups, which need no source tasks."""

CONTEXT = 6
"""Number of values that describe an episode: budget left, evaluations / 20, incumbent, evaluations since it improved /
10, correlation of the source tasks' mean with the observations, and whether there are source tasks."""

NEARNESS = 1
"""Index of the set of length-scales (of `LENGTHS`) that measures how near two candidates are."""

_WIDTHS = (16, 32)
"""Largest numbers of features in the first two of three groups of episodes, see `_by_width`."""

BOUND = 8.0
"""Largest absolute value in a column; larger ones are clipped."""


def width(features: tuple[str, ...]) -> int:
    """Return the number of columns of the array `candidates` with these groups of features, column 0 included.

    Raises:
        ValueError: There is no group, one has an unknown name, or `features` is neither a tuple nor a list.
    """
    if not isinstance(features, (tuple, list)) or not features or not set(features) <= set(GROUPS):
        raise ValueError(f"features must be a tuple of names among {', '.join(GROUPS)}, got {features!r}")
    return 1 + sum(GROUPS[name] for name in features if name not in APART)


def columns(features: tuple[str, ...]) -> int:
    """Return the number of columns of `joined` arrays with these groups of features; raise errors as in `width`."""
    return width(features) + GROUPS["hyperparameters"] * ("hyperparameters" in features)


def joined(observation: Mapping[str, Any]) -> npt.NDArray[np.float32]:
    """Return the (..., n, columns) array of all columns that describe candidates, from those of `JOINED` that exist."""
    shown = [observation[name] for name in JOINED if name in observation]
    return shown[0] if len(shown) == 1 else np.concatenate(shown, axis=-1)


@dataclass(frozen=True)
class CandidateArrays:
    """The candidates of E episodes before the first evaluation.

    Attributes:
        x: (E, n, d) features in [0, 1]; zeros where an episode has fewer candidates or features.
        tables: Predictions of source tasks, if there are any, and the mask of each episode's candidates.
        lengths: (E, LENGTHS, d) length-scales, see `gp.stacked.length_scales`.
        widths: (E,) number of features of each episode.
    """

    x: Floats
    tables: Tables
    lengths: Floats
    widths: Indices

    @classmethod
    def of(
        cls, x: Floats, size: int | None = None, predictions: Floats | None = None, distances: Floats | None = None,
        fitted: Floats | None = None,
    ) -> CandidateArrays:  # fmt: skip
        """Return the candidates of one episode, E = 1.

        Args:
            x: (n, d) features of the candidates.
            size: Number of candidates after padding; None: no padding.
            predictions: (J, n) predictions of source tasks, in any unit; None: no source tasks.
            distances: (J,) distances of the source tasks' spaces, see `gp.stacked.distance`; None: zeros.
            fitted: (d,) length-scales fitted to source tasks; None: unknown.
        """
        (n, d), p = x.shape, np.zeros((0, len(x))) if predictions is None else predictions
        more = (size or n) - n
        tables = Tables(
            np.pad(scaled(p), ((0, 0), (0, more)))[None],
            (np.zeros(len(p)) if distances is None else distances)[None],
            np.ones((1, len(p)), bool),
            (np.arange(n + more) < n)[None],
        )
        return cls(np.pad(x, ((0, more), (0, 0)))[None], tables, length_scales(d, fitted)[None], np.array([d]))

    @classmethod
    def stack(cls, spaces: Sequence[CandidateArrays]) -> CandidateArrays:
        """Return episodes as one batch; all must have the same (padded) number of candidates."""
        d, j = max(s.x.shape[2] for s in spaces), max(s.tables.used.shape[1] for s in spaces)

        def wide(array: npt.NDArray[Any], axis: int, to: int, fill: float = 0.0) -> npt.NDArray[Any]:
            pads = [(0, to - array.shape[k] if k == axis else 0) for k in range(array.ndim)]
            return np.pad(array, pads, constant_values=fill)

        many = [s.tables for s in spaces]
        names = ("predictions", "distances", "used")
        sources = {name: np.concatenate([wide(getattr(t, name), 1, j) for t in many]) for name in names}
        tables = Tables(**sources, valid=np.concatenate([t.valid for t in many]))
        x = np.concatenate([wide(s.x, 2, d) for s in spaces])
        lengths = np.concatenate([wide(s.lengths, 2, d, 1.0) for s in spaces])
        return cls(x, tables, lengths, np.concatenate([s.widths for s in spaces]))


class CandidateSet:
    """The candidates of E episodes, their evaluations, and the observations of a policy.

    Args:
        space: The candidates.
        features: Names of groups of columns, see `GROUPS`.
        numbers: Hyperparameters of the stacked process by name; missing ones have the values of `gp.stacked.START`.
        budget: Largest number of evaluations in `history`.

    Attributes:
        valid: (E, n) mask of the candidates of each episode.
        free: (E, n) mask of the candidates that were not evaluated.
        rows: (E, t) candidates evaluated, in order.
        rewards: (E, t) rewards of the candidates in `rows`.

    Raises:
        ValueError: There is no group of features, one is unknown, or candidates have more features than a separate
            group has columns.
    """

    def __init__(
        self, space: CandidateArrays, features: tuple[str, ...] = DEFAULT, numbers: Mapping[str, float] | None = None,
        budget: int = 0,
    ) -> None:  # fmt: skip
        (e, n, d), tables, most = space.x.shape, space.tables, GROUPS["hyperparameters"]
        self._width, self._features, self._space = width(features), features, space
        if d > most and {*APART} & {*features}:
            raise ValueError(f"candidates must have at most {most} features for 'hyperparameters', got {d}")
        self.valid, self.free = tables.valid, tables.valid.copy()
        self.rows, self.rewards = np.zeros((e, 0), np.intp), np.zeros((e, 0))
        self._each, self._near = np.arange(e), np.zeros((e, n), np.float32)
        stacked = START | dict(numbers or {})
        self._gp = self._averaged = None
        if "stacked" in features:
            self._gp = StackedGP(np.array([[*stacked.values()]]), tables, lambda rows: self._last[None], 24)
            self._last, self._precision = np.zeros((e, LENGTHS, n)), 1.0 / np.square(space.lengths)
        mean, apart = tables.expected(np.array([stacked["similarity"]]))
        self._prior, self._apart = mean[0], np.sqrt(np.square(apart[0]).sum(axis=1))
        self._shown = np.zeros((e, n, self._width), np.float32)
        if "posterior" in features:
            self._averaged = AveragedGP(space.x, space.widths)
            self._typical = self._averaged.typicality(tables.valid)
        if "prior" in features:
            self._show(self._shown, "prior", (self._prior, self._apart))
        if {*APART} & {*features}:
            self._static = np.zeros((e, n, most), np.float32)
            np.multiply(space.x, 2.0, out=self._static[..., :d], casting="same_kind")
            self._static[..., :d] -= (np.arange(d) < space.widths[:, None])[:, None]
            self._static[~tables.valid] = 0.0
        if "observed" in features:
            self._scaled = [*_by_width(space)]
        self._past, self._left = np.zeros((e, budget, GROUPS["history"]), np.float32), np.ones(e)

    def observe(self, rows: Indices, rewards: Floats) -> None:
        """Add one evaluation of each episode: (E,) candidates and (E,) rewards in any unit; higher is better."""
        if "observed" in self._features:
            apart = np.empty(self._near.shape, np.float32)
            for some, x, squares in self._scaled:
                each, at = np.arange(len(some)), rows[some]
                products = (x @ x[each, at][:, :, None])[:, :, 0]
                apart[some] = squares + squares[each, at][:, None] - 2.0 * products
            np.maximum(self._near, of_square_distances("matern52", np.maximum(apart, 0.0)), out=self._near)
            self._near[self._each, rows] = 1.0
        if self._averaged is not None:
            self._averaged.observe(rows)
        if self._gp is not None:
            squares = np.square(self._space.x - self._space.x[self._each, rows][:, None])
            self._last = of_square_distances("matern52", self._precision @ np.swapaxes(squares, 1, 2))
        if (t := self.rows.shape[1]) < self._past.shape[1] and "history" in self._features:
            self._past[:, t, 4:] = self._static[self._each, rows]
        self.free[self._each, rows] = False
        self.rows = np.concatenate([self.rows, rows[:, None]], axis=1)
        self.rewards = np.concatenate([self.rewards, np.asarray(rewards, np.float64)[:, None]], axis=1)
        if self._gp is not None:
            self._gp.observe(rows[None])

    def observation(self, left: Floats) -> dict[str, npt.NDArray[np.float32]]:
        """Return `candidates` (E, n, width), `mask` (E, n) of the free ones and `context` (E, CONTEXT), all float32.

        If they are among the features, also return `hyperparameters` (E, n, 64) and `history` (E, budget, 68). `left`
        is the (E,) fraction of the budget that is left.
        """
        at, out, seen = self._each[:, None], self._shown.copy(), np.zeros(self._near.shape, np.float32)
        z = standardised(self.rewards) if self.rows.size else self.rewards
        seen[at, self.rows], out[at, self.rows, 0] = z, 1.0
        if "observed" in self._features:
            self._show(out, "observed", (seen, self._near))
        if "posterior" in self._features:
            self._show(out, "posterior", self._posterior(z))
        if "stacked" in self._features:
            self._show(out, "stacked", self._stacked(left))
        context = np.clip(self._context(z, left), -BOUND, BOUND).astype(np.float32)
        found = {"candidates": out, "mask": self.free.astype(np.float32), "context": context}
        if "hyperparameters" in self._features:
            found["hyperparameters"] = self._static
        if "history" in self._features:
            found["history"] = self._history(z, left)
        return found

    def _history(self, z: Floats, left: Floats) -> npt.NDArray[np.float32]:
        t = min(z.shape[1], self._past.shape[1])
        if t and not self._past[0, t - 1, 0]:  # the first observation since the last evaluation
            self._past[:, t - 1, 0], self._past[:, t - 1, 2], self._past[:, t - 1, 3] = 1.0, self._left - left, left
            self._left = left
        self._past[:, :t, 1] = np.clip(z[:, :t], -BOUND, BOUND)
        return self._past.copy()

    def _show(self, out: npt.NDArray[np.float32], name: str, columns: Iterable[npt.NDArray[Any]]) -> None:
        """Write the columns of a group to `out`: clipped, and 0 for candidates that an episode does not have."""
        first = width(("observed", *self._features[: self._features.index(name)])) - GROUPS["observed"]
        for j, values in enumerate(columns):
            out[..., first + j] = np.clip(values, -BOUND, BOUND) * self._space.tables.valid

    def _posterior(self, z: Floats) -> tuple[Floats, ...]:
        """Return the columns of `posterior`, each (E, n)."""
        assert self._averaged is not None
        mean, deviation, gain = self._averaged.posteriors(z)
        best = z.max(axis=1)[:, None] if z.shape[1] else 0.0
        return (self._typical, *(mean - best), *deviation, *self._below_largest(np.log(np.maximum(gain, 1e-30))))

    def _stacked(self, left: Floats) -> tuple[Floats, ...]:
        """Return the columns of `stacked`, each (E, n)."""
        assert self._gp is not None
        if not self._gp.count:
            mean, deviation = self._gp.expected[0], np.sqrt(self._gp.variance[0].mean(axis=1))
            return mean - mean.max(axis=1, keepdims=True), deviation, self._below_largest(mean)
        means, _, weights, best = (part[0] for part in self._gp.predict(self.rewards[None]))
        above = ((means - best[..., None]) * weights[..., None]).sum(axis=1)
        deviation = np.sqrt((self._gp.variance[0] * weights[..., None]).sum(axis=1))
        return above, deviation, self._below_largest(self._gp.log_improvement(self.rewards[None], left)[0])

    def _below_largest(self, gain: Floats) -> Floats:
        """Return the (..., E, n) values minus the largest value of a free candidate, divided by 4."""
        return np.asarray((gain - np.where(self.free, gain, -1e300).max(axis=-1, keepdims=True)) / 4.0)

    def _context(self, z: Floats, left: Floats) -> Floats:
        """Return the (E, CONTEXT) numbers that describe each episode, see `CONTEXT`."""
        (e, t), best, since, fit = z.shape, np.zeros(len(z)), np.zeros(len(z)), np.zeros(len(z))
        if t:
            best, since = z.max(axis=1), t - 1.0 - z.argmax(axis=1)
        known = self._space.tables.used.any(axis=1)
        if t and known.any():
            m = np.take_along_axis(self._prior, self.rows, axis=1)
            m = m - m.mean(axis=1, keepdims=True)
            norm = np.sqrt(np.square(m).sum(axis=1) * np.square(z).sum(axis=1))
            fit = (m * z).sum(axis=1) / np.where(norm > FLOOR, norm, 1.0)
        return np.stack([left, np.full(e, t / 20.0), best, since / 10.0, fit, known], axis=1)


def _by_width(space: CandidateArrays) -> Iterator[tuple[Indices, npt.NDArray[Any], npt.NDArray[Any]]]:
    """Yield, for each group of episodes of similar width, their indices, (e, n, d) scaled features and (e, n) squares.

    Features are divided by length-scales; the squares are those of their norms.
    """
    kind = np.searchsorted(_WIDTHS, space.widths)
    for k in np.unique(kind):
        some = np.flatnonzero(kind == k)
        width = int(space.widths[some].max())
        x, scale = space.x[some, :, :width], space.lengths[some, NEARNESS, None, :width]
        x = np.divide(x, scale, dtype=np.float32, casting="same_kind")
        yield some, x, np.einsum("end,end->en", x, x)
