"""Surrogate of the character transduction sweeps: accuracy, runtime and noise of any configuration of 24 tasks.

Accuracy is modelled by rank: the boosted trees of an architecture, trained on its twelve tasks together, predict the
normal score of a run's accuracy within its sweep. For each task, one curve maps predictions to the mean score of its
runs, and another to their standard deviation, with which seeded noise is drawn; the task's quantile function maps the
score to an accuracy. The fraction of failed runs, the predictability and spread of a sweep, its best accuracies and
their density are therefore close to the measured ones. A second forest predicts the logarithm of the runtime from the
configuration, the task and the score of the accuracy, because failed runs are short.

Inputs, splits and leaves are integers (`hpo_envs.tables.datasets.charhpo.forests`): a configuration has the same result
alone and in a batch of a million. `python -m hpo_envs.tables.datasets.charhpo.fit` of commit 2e1389c7 fits the
parameters, with scikit-learn 1.9.1.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import Ints, catalogue, exact, frames
from hpo_envs.tables.datasets.charhpo import ARCHITECTURES, RUNS, TABLES, build, hyperparameters, parts, space
from hpo_envs.tables.datasets.charhpo.forests import Forest, compile_forest
from hpo_envs.tables.draws import mix, mix_many, uniform, uniform_many
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Floats, Table

DATA = Path(__file__).with_name("charhpo.npz")

UNIT = 4095
"""Inputs are scaled to [0, 1] and rounded to multiples of 1/UNIT; equal multiples have equal results."""

LEAF = 1e-5
"""Unit of the stored leaves."""

SCORES = (-3.0, 3.0)
"""Range of normal scores; those of 200 runs lie within +-2.81."""

KNOTS = np.linspace(-1.75, 1.75, 8)
"""Predicted scores at which `Surrogate.level` and `Surrogate.noise` are known; evenly spaced."""

SIZES = (1,) * 15 + (3, 12)
"""Sizes of the inputs of the accuracy's forest (`forests.compile_forest`): 15 numbers, the scheduler, the task.

The runtime's forest also has the accuracy's score, a number.
"""


@dataclass(frozen=True)
class Surrogate:
    """Fitted parameters of the surrogate.

    Axis 0 is the architecture in the order of `ARCHITECTURES` for forests, the task in the order of
    `TABLES` for arrays per task; axis 1 of forests is accuracy, runtime.
    """

    features: npt.NDArray[np.uint8]  # (2, 2, trees, 31) feature of each split, see `forests.compile_forest`
    thresholds: npt.NDArray[np.uint16]  # (2, 2, trees, 31) threshold of each split
    leaves: npt.NDArray[np.int16]  # (2, 2, trees, 32) in units of `LEAF`
    base: Floats  # (2, 2) prediction before the first tree
    level: Floats  # (24, knots) mean score of the task's runs at the predicted scores `KNOTS`
    noise: Floats  # (24, knots) standard deviation of the scores of the task's runs at the predicted scores `KNOTS`
    runtime_noise: Floats  # (24,) standard deviation of the residual logarithm of the runtime
    quantile_at: Floats  # (quantiles,) normal scores
    quantiles: Floats  # (24, quantiles) accuracy in per cent at the scores `quantile_at`

    def evaluate(self, tasks: npt.ArrayLike, configs: Floats, noise: bool = True) -> Floats:
        """Evaluate configurations.

        Args:
            tasks: (n,) ints, or one int for all: index into `TABLES`.
            configs: (n, 16) raw values in the order of `hyperparameters.space`; inactive hyperparameters are ignored.
            noise: Whether to add noise, which is a function of the task and the configuration, so that results are
                deterministic.

        Returns:
            (n, 2) float64: accuracy in per cent, a multiple of the weight of one development word, and runtime in
            seconds, to a tenth.
        """
        task = np.asarray(tasks, dtype=np.int64)
        task = task if task.ndim else np.full(len(configs), task)
        transformers = int(np.add.reduce(task % 2))
        if transformers in (0, len(task)):
            return self._of_architecture(min(transformers, 1), task, configs, noise)
        out = np.empty((len(configs), 2))
        for arch in range(2):
            index = np.flatnonzero(task % 2 == arch)
            out[index] = self._of_architecture(arch, task[index], configs[index], noise)
        return out

    def _of_architecture(self, arch: int, task: Ints, configs: Floats, noise: bool) -> Floats:
        task = _numbers(task)
        x = inputs(arch, task, configs)
        e1, e2 = normals(task, x) if noise else np.zeros(2)
        score = self.score(task, self.forest(arch, 0, x), e1)
        x[:, -1] = np.rint((score - SCORES[0]) / (SCORES[1] - SCORES[0]) * UNIT)
        log_runtime = self.forest(arch, 1, x) + e2 * self.runtime_noise[task]
        out, word = np.empty((len(x), 2)), WORDS[task]
        at = self.quantile_at[1:-1].searchsorted(score, side="right")
        above = self.slopes[task, at] * (score - self.quantile_at[at])
        out[:, 0] = np.rint((above + self.quantiles[task, at]) / word) * word
        out[:, 1] = np.rint(10.0 * exact.exp(log_runtime)) / 10.0
        return out

    @functools.cached_property
    def slopes(self) -> Floats:
        """(24, quantiles - 1) slopes of the quantile functions."""
        return np.asarray(np.diff(self.quantiles) / np.diff(self.quantile_at))

    def score(self, task: Ints, predicted: Floats, e: Any) -> Floats:
        """(n,) normal scores of runs of (n,) tasks, from predictions of the forest and standard normal draws `e`."""
        knot = _clip((predicted - KNOTS[0]) / (KNOTS[1] - KNOTS[0]), 0.0, len(KNOTS) - 1.0)
        left = np.minimum(knot.astype(np.intp), len(KNOTS) - 2)
        w = knot - left
        level, noise = ((1.0 - w) * c[task, left] + w * c[task, left + 1] for c in (self.level, self.noise))
        return _clip(level + e * noise, *SCORES)  # type: ignore[no-any-return]

    def forest(self, arch: int, metric: int, x: Ints) -> Any:
        """(n,) predictions of an architecture's accuracy score (0) or log runtime (1) for (n, 18) inputs."""
        return self.base[arch, metric] + LEAF * _numbers(self.forests[arch][metric](x))

    @functools.cached_property
    def forests(self) -> list[list[Forest]]:
        """The compiled trees of each architecture's accuracy score and log runtime."""

        def one(arch: int, metric: int) -> Forest:
            f, t, v = self.features[arch, metric], self.thresholds[arch, metric], self.leaves[arch, metric]
            return compile_forest(f, t, v, SIZES + (1,) * metric, UNIT + 1)

        return [[one(arch, metric) for metric in range(2)] for arch in range(2)]


@functools.cache
def scaling(arch: int) -> tuple[npt.NDArray[np.intp], Floats, Floats, Floats, Floats]:
    """Columns of the 15 numbers, their lows, highs and spans (of logarithms if `log`; inf for 0), and largest inputs.

    The largest inputs are (schedulers, 15): `UNIT`, or 0 if the scheduler makes the hyperparameter inactive.
    """
    columns = np.delete(np.arange(16), space.SCHEDULER)
    searched = hyperparameters.space([*ARCHITECTURES][arch])
    bounds = np.array([exact.log([h.low, h.high]) if h.log else (h.low, h.high) for h in searched])[columns]
    span = bounds[:, 1] - bounds[:, 0]
    return columns, *bounds.T, np.where(span > 0, span, np.inf), UNIT * space.grids()[-1][:, columns]


def inputs(arch: int, task: Ints, configs: Floats) -> Ints:
    """(n, 18) integer inputs: 15 numbers in 0..UNIT (0 if inactive), scheduler, the architecture's task, score (0)."""
    columns, low, high, span, units = scaling(arch)
    values = configs.take(columns, axis=1)
    values[:, space.RATE] = exact.log(values[:, space.RATE])
    x = np.zeros((len(configs), len(SIZES) + 1), np.int64)
    x[:, 15], x[:, 16] = configs[:, space.SCHEDULER], task // 2
    x[:, :15] = np.rint((_clip(values, low, high) - low) / span * units.take(x[:, 15], axis=0))
    return x


def _numbers(x: Any) -> Any:
    """Return (n,) numbers; if n is 1, the number itself, with which arithmetic takes a tenth of the time."""
    return x[0] if len(x) == 1 else x


def _clip(x: Any, low: Any, high: Any) -> Any:
    """`np.clip` without its overhead on few numbers."""
    return x if isinstance(x, float) and low <= x <= high else np.minimum(np.maximum(x, low), high)


WORDS = np.array([1.0 if parts(name)[1] == "hai" else 0.1 for name in TABLES])
"""(24,) accuracy of one word of each development set, in per cent (Table 7: 1,000 words, Haida 100)."""


def draws(name: str) -> Floats:
    """(200, 16) configurations drawn from the distributions of Table 2, inactive hyperparameters at 0.

    Each uniform draw is a hash of the table's index, the row and the column.
    """
    drawn = hyperparameters.space(parts(name)[2])
    rows = mix_many(mix_many(np.array([TABLES.index(name)], np.uint64), 0), np.arange(RUNS, dtype=np.uint64))
    columns = [space.natural(h, uniform_many(mix_many(rows, j))) for j, h in enumerate(drawn)]
    return hyperparameters.deactivate(drawn, np.column_stack(columns))


@functools.cache
def load() -> Surrogate:
    """Return the surrogate that ships with the package; repeated calls return the same object."""
    return Surrogate(**atomic.read_npz(DATA))


@functools.cache
def table(name: str) -> Table:
    """A table of `RUNS` seeded draws from the distributions of Table 2, with the surrogate's values."""
    configs = draws(name)
    values = load().evaluate(TABLES.index(name), configs)
    note = f"{RUNS} seeded draws from the distributions of Table 2, answered by a surrogate fitted to the sweeps."
    provenance = catalogue.provenance("charhpo", "surrogate", note)
    keys = tuple(f"draw-{i:03d}" for i in range(RUNS))
    return frames.hashed(build.assemble(name, keys, configs, values, provenance))


def normals(task: Any, x: Ints) -> tuple[Floats, Floats]:
    """Two independent standard normal draws per row, from a hash of the task and the first 17 inputs."""
    seeds = np.add.reduce(x[:, :17].view(np.uint64) * ODD, axis=1)
    # Box and Muller (1958).
    if len(x) == 1:
        key = mix(seeds.item(), int(task))
        u, turns = (uniform(mix(key, k)) for k in range(2))
    else:
        u, turns = uniform_many(mix_many(mix_many(seeds, task), [[0], [1]]))
    radius = np.sqrt(-2.0 * exact.log(u))
    cosine, sine = exact.circle(turns)
    return radius * cosine, radius * sine


ODD = mix_many(np.arange(17, dtype=np.uint64), 0) | np.uint64(1)
"""Weights of the inputs in the hash."""
