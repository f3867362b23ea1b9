"""How an arm's score is drawn: the k-th pull of arm a in an episode is a function of (episode key, a, k)."""

from __future__ import annotations

import abc

import numpy as np
import numpy.typing as npt

from hpo_envs.core.params import Floats
from hpo_envs.tables import draws, exact
from hpo_envs.tables.table import Table

Ints = npt.NDArray[np.int64]

AHEAD = 32
"""Pulls that are drawn at once: a hash in Python takes as long as eight in an array."""


class Arms(abc.ABC):
    """Draws the metrics of pulls, one by one or for many episodes at once; the two agree bit for bit.

    Attributes:
        names: Names of the metrics drawn.
        arms: Number of arms.
        evaluations: Distinct evaluations of an arm that a `budget=None` episode pays for.
        means: (arms, metrics) true means of the metrics.
    """

    names: tuple[str, ...]
    arms: int
    evaluations: int
    means: Floats

    _key: int | None = None
    _streams: dict[int, int]

    def _stream(self, key: int, counter: int) -> int:
        """`draws.mix(key, counter)`, kept as long as the episode is the same: it is half of a pull's cost."""
        if key != self._key:
            self._key, self._streams = key, {}
        if counter not in self._streams:
            self._streams[counter] = draws.mix(key, counter)
        return self._streams[counter]

    @abc.abstractmethod
    def pull(self, key: int, arm: int, k: int) -> list[float]:
        """Metrics of the k-th pull (from 0) of an arm."""

    @abc.abstractmethod
    def pull_many(self, keys: draws.Keys, arms: Ints, k: Ints) -> Floats:
        """(n, metrics) `pull` for n episodes, one pull each."""

    @abc.abstractmethod
    def repeats(self, keys: draws.Keys, arms: Ints, k: Ints) -> Ints:
        """(n,) the table's repeat that each of these pulls reads; 0 where scores are drawn."""


class GaussianArms(Arms):
    """Arms whose scores are Gaussian.

    Args:
        table: Metrics: the mean of the score, and its deviation.
        evaluations: See `Arms`.
    """

    def __init__(self, table: Table, evaluations: int) -> None:
        self.names = table.metric_names[:1]
        self.arms, self.evaluations = len(table), evaluations
        self._mean, self._deviation = table.values[:, 0, 0, 0], table.values[:, 0, 0, 1]
        self.means = self._mean[:, None]

    def pull(self, key: int, arm: int, k: int) -> list[float]:
        """One Gaussian draw."""
        z = exact.normal_quantile(draws.uniform(draws.mix(self._stream(key, arm), k)))
        return [float(self._mean[arm]) + float(self._deviation[arm]) * z]

    def pull_many(self, keys: draws.Keys, arms: Ints, k: Ints) -> Floats:
        """One Gaussian draw for each episode."""
        z = exact.normal_quantile(draws.uniform_many(draws.mix_many(draws.mix_many(keys, arms), k)))
        return (self._mean[arms] + self._deviation[arms] * z)[:, None]

    def repeats(self, keys: draws.Keys, arms: Ints, k: Ints) -> Ints:
        """None is read."""
        return np.zeros_like(arms)


class MeasuredArms(Arms):
    """Arms whose scores are resampled from a table's repeats.

    Args:
        table: One level.
        columns: (c,) repeats that may be drawn.
        replacement: False goes through all columns in a random order, then through another order, and so on.
        shared: Whether the k-th pulls of all arms read the same column (the same split); else each arm has its own.
    """

    def __init__(self, table: Table, columns: Ints, replacement: bool = True, shared: bool = False) -> None:
        self.names = table.metric_names
        self.arms, self.evaluations = len(table), len(columns)
        self.replacement, self.shared = replacement, shared
        self._columns = columns
        self._values = np.ascontiguousarray(table.values[:, columns, 0, :])
        self.means = self._values.mean(axis=1)
        self._flat = self._values.reshape(-1, len(self.names))
        self._lists = self._values.tolist()
        self._orders: dict[tuple[int, int], list[int]] = {}
        self._ahead: dict[int, tuple[int, list[int]]] = {}

    def pull(self, key: int, arm: int, k: int) -> list[float]:
        """The metrics of one column."""
        counter = 0 if self.shared else 1 + arm
        if self.replacement:
            return self._lists[arm][self._next(key, counter, k)]  # type: ignore[no-any-return]
        stream = self._stream(key, counter)
        sweep, place = divmod(k, self.evaluations)
        order = self._orders.get((stream, sweep))
        if order is None:
            if len(self._orders) > 4 * self.arms:
                self._orders.clear()
            keys = np.array([draws.mix(stream, sweep)], np.uint64)
            order = self._orders[stream, sweep] = self._permutation(keys)[0].tolist()
        return self._lists[arm][order[place]]  # type: ignore[no-any-return]

    def _next(self, key: int, counter: int, k: int) -> int:
        """The column of the k-th pull of a stream; once an episode pulls it again, many are drawn ahead."""
        if key != self._key:
            self._ahead = {}
        first, columns = self._ahead.get(counter, (k, None))
        stream = self._stream(key, counter)
        if columns is None:
            self._ahead[counter] = k, [draws.below(draws.mix(stream, k), self.evaluations)]
        elif not 0 <= k - first < len(columns):
            bits = draws.mix_many(np.array([stream], np.uint64), np.arange(k, k + AHEAD))
            self._ahead[counter] = k, draws.below_many(bits, self.evaluations).tolist()
        else:
            return columns[k - first]
        return self._ahead[counter][1][0]

    def pull_many(self, keys: draws.Keys, arms: Ints, k: Ints) -> Floats:
        """The metrics of one column for each episode."""
        return self._flat.take(arms * self.evaluations + self._drawn(keys, arms, k), axis=0)

    def repeats(self, keys: draws.Keys, arms: Ints, k: Ints) -> Ints:
        """The column of each."""
        return self._columns[self._drawn(keys, arms, k)]

    def _drawn(self, keys: draws.Keys, arms: Ints, k: Ints) -> Ints:
        """(n,) which of the columns that may be drawn each pull reads."""
        streams = draws.mix_many(keys, np.zeros_like(arms) if self.shared else 1 + arms)
        if self.replacement:
            return draws.below_many(draws.mix_many(streams, k), self.evaluations)
        sweep, place = np.divmod(k, self.evaluations)
        return self._nth(draws.mix_many(streams, sweep), place)

    def _permutation(self, keys: draws.Keys) -> Ints:
        """(n, c) a random order of the columns for each key: that of the columns' hashes."""
        return draws.mix_many(keys[:, None], np.arange(self.evaluations)).argsort(axis=1, kind="stable")

    def _nth(self, keys: draws.Keys, place: Ints) -> Ints:
        """(n,) the place-th column of each key's order."""
        column: Ints = np.take_along_axis(self._permutation(keys), place[:, None], axis=1)[:, 0]
        return column
