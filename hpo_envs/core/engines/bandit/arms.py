"""Random scores of arms, Gaussian or from repeats; the k-th pull of arm a depends only on (episode key, a, k)."""

import abc

import numpy as np

from hpo_envs.core.params import Floats, Ints
from hpo_envs.tables import draws, exact
from hpo_envs.tables.table import Table

TOGETHER, AHEAD = 8, 64
"""Number of arms, and of pulls per arm, that `DrawBuffer` draws at once, because calls of NumPy take most time."""


class Arms(abc.ABC):
    """Base class of arms whose pulls draw metrics at random, for many episodes at once.

    Attributes:
        names: Names of the metrics drawn.
        arms: Number of arms.
        evaluations: Evaluations per arm that the budget of an episode with `budget=None` covers.
        means: (arms, metrics) true means of the metrics.
    """

    names: tuple[str, ...]
    arms: int
    evaluations: int
    means: Floats

    @abc.abstractmethod
    def pull_many(self, keys: draws.Keys, arms: Ints, k: Ints) -> Floats:
        """Return (n, metrics) values, never -0.0; pull i is the `k[i]`-th (from 0) of `arms[i]`.

        `keys` (n,) or (1,) are those of the episodes.
        """

    def repeats(self, keys: draws.Keys, arms: Ints, k: Ints) -> Ints:
        """Return the (n,) index of the table's repeat that each pull reads; 0 if scores come from a distribution."""
        return np.zeros_like(arms)


class DrawBuffer(dict[int, list[list[float]]]):
    """Pre-drawn pulls of an episode: maps an arm to the metrics of its next pulls, in reverse order for `pop`.

    Args:
        arms: Arms that draw the metrics.
        key: Key of the episode.
    """

    def __init__(self, arms: Arms, key: int) -> None:
        super().__init__()
        self._arms, self._key = arms, np.array([key], np.uint64)
        self._drawn = [0] * arms.arms

    def draw(self, arm: int) -> list[list[float]]:
        """Draw `AHEAD` pulls for an arm that has none left, and for neighbours without any; return those of the arm."""
        first = arm - arm % TOGETHER
        arms = [a for a in range(first, min(first + TOGETHER, len(self._drawn))) if not self.get(a)]
        k = np.array([self._drawn[a] for a in arms])[:, None] + np.arange(AHEAD - 1, -1, -1)
        pulls = self._arms.pull_many(self._key, np.array(arms).repeat(AHEAD), k.reshape(-1)).tolist()
        for i, a in enumerate(arms):
            self[a] = pulls[i * AHEAD : (i + 1) * AHEAD]
            self._drawn[a] += AHEAD
        return self[arm]


class GaussianArms(Arms):
    """Arms whose scores are Gaussian.

    Args:
        table: Table with two metrics: mean and standard deviation of the score.
        evaluations: See `Arms`.
    """

    def __init__(self, table: Table, evaluations: int) -> None:
        self.names = table.metric_names[:1]
        self.arms, self.evaluations = len(table), evaluations
        self._mean, self._deviation = table.values[:, 0, 0, 0] + 0.0, table.values[:, 0, 0, 1]
        self.means = self._mean[:, None]

    def pull_many(self, keys: draws.Keys, arms: Ints, k: Ints) -> Floats:
        """Return (n, 1) Gaussian scores, one for each pull."""
        z = exact.normal_quantile(draws.uniform_many(draws.mix_many(draws.mix_many(keys, arms), k)))
        return np.asarray((self._mean[arms] + self._deviation[arms] * z)[:, None])


class MeasuredArms(Arms):
    """Arms whose scores are resampled from a table's repeats.

    Args:
        table: Table with one level.
        columns: (c,) indices of the repeats that may be drawn.
        replacement: Whether columns are drawn with replacement; if not, in random orders of all, one after another.
        shared: Whether the k-th pulls of all arms read the same column (the same split); else each arm draws its own.
    """

    def __init__(self, table: Table, columns: Ints, replacement: bool = True, shared: bool = False) -> None:
        self.names = table.metric_names
        self.arms, self.evaluations = len(table), len(columns)
        self.replacement, self.shared = replacement, shared
        self._columns = columns
        values = np.ascontiguousarray(table.values[:, columns, 0, :]) + 0.0
        self.means = values.mean(axis=1)
        self._flat = values.reshape(-1, len(self.names))

    def pull_many(self, keys: draws.Keys, arms: Ints, k: Ints) -> Floats:
        """Return (n, metrics) values, those of the repeat that each pull reads."""
        return self._flat.take(arms * self.evaluations + self._drawn(keys, arms, k), axis=0)

    def repeats(self, keys: draws.Keys, arms: Ints, k: Ints) -> Ints:
        """Return the (n,) index of the table's repeat that each pull reads."""
        return self._columns[self._drawn(keys, arms, k)]

    def _drawn(self, keys: draws.Keys, arms: Ints, k: Ints) -> Ints:
        """Return the (n,) index in `columns` of the repeat that each pull reads."""
        streams = draws.mix_many(keys, np.zeros_like(arms) if self.shared else 1 + arms)
        if self.replacement:
            return draws.below_many(draws.mix_many(streams, k), self.evaluations)
        sweep, place = np.divmod(k, np.int64(self.evaluations))  # counts may be small ints
        # An order, by hash(key, column), is the most expensive part of a pull: one for each key.
        few, each = np.unique(draws.mix_many(streams, sweep), return_inverse=True)
        orders = draws.mix_many(few[:, None], np.arange(self.evaluations)).argsort(axis=1, kind="stable")
        return orders[each, place]
