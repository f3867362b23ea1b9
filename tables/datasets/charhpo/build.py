"""Wiemerslage, Gorman and von der Wense 2024: 24 random searches of 200 runs on character transduction.

Two tasks (morphological inflection in eight languages, grapheme-to-phoneme conversion in four), each with an LSTM and
a transformer. `charhpo/{task}-{lang}-{architecture}` has the runs of one sweep, language codes as in Table 6.

Rules for the upstream files, which have 205 to 291 rows each: the sweep is the first 200 rows in file order, from which
the published numbers were computed (the Irish LSTM's best row is beyond). No configuration occurs twice among them. No
accuracy is missing; runs that did not learn have accuracy 0 and status `ok`. Upstream's scheduler "None" is `none`
here. Conditional hyperparameters are 0 if their scheduler was not chosen (appendix A), although upstream recorded the
drawn values; `recorded` returns the drawn values of all rows.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import catalogue
from hpo_envs.tables.datasets.charhpo import RUNS, TABLES, WARMUP_STEP, parts
from hpo_envs.tables.datasets.charhpo.hyperparameters import deactivate, space
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import Floats, Metric, Provenance, Table, searched

NAMES = TABLES

METRICS = (
    Metric("accuracy", "%", "max", 0.0, 100.0, "Exact match accuracy on the development set, best epoch."),
    Metric("runtime", "s", "min", 0.0, 1e6, "Wall clock time of the run on one GPU."),
)
"""Metrics of a run. The cap of the runtime is an observation bound: the longest run took 9.5e4 s."""

TEST = Metric(
    "test_accuracy", "%", "max", 0.0, 100.0, "Exact match accuracy on the test set; NaN but for the best run."
)
"""Test accuracy of the one run of each sweep that upstream tested: the first in its file with the best accuracy.

In 23 of the 24 sweeps the path that upstream recorded is that of this run; in the other, it is of no run in the file.
"""

CLOCK = 2.0**-22
"""Resolution in seconds of the clock from which upstream computed runtimes."""


class SweepRuns(NamedTuple):
    """The runs of a sweep in the order of upstream's file, including those beyond the first `RUNS`.

    Attributes:
        names: Names of the runs.
        drawn: (rows, 16) the drawn values, including those of inactive hyperparameters.
        accuracy: (rows,) development accuracy in per cent.
        runtime: (rows,) seconds.
        test: Test accuracy of the best run in per cent, as upstream recorded it.
    """

    names: tuple[str, ...]
    drawn: Floats
    accuracy: Floats
    runtime: Floats
    test: float


def pack_of(name: str) -> str:
    """Path of a sweep's pack below `tables/datasets`."""
    return f"charhpo/packs/{name.partition('/')[2]}.npz"


def shipped(name: str) -> Table:
    """Build a table from its pack: the first `RUNS` runs."""
    runs = recorded(name)
    test = np.where(np.arange(len(runs.accuracy)) == runs.accuracy.argmax(), runs.test, np.nan)
    values = np.column_stack([runs.accuracy, runs.runtime, test])[:RUNS]
    configs = deactivate(space(parts(name)[2]), runs.drawn[:RUNS])
    provenance = catalogue.provenance("charhpo", "measured")
    return assemble(name, runs.names[:RUNS], configs, values, provenance, (*METRICS, TEST))


def recorded(name: str) -> SweepRuns:
    """All runs of a sweep, from its pack."""
    data = packs.read(pack_of(name))
    choices, ranges = iter(data["choices"]), iter(data["ranges"])
    columns = []
    for h in space(parts(name)[2]):
        if h.values:
            choice = next(choices)
            columns.append(choice if h.kind == "categorical" else np.array(h.values)[choice])
        else:
            columns.append(next(ranges) if h.kind == "float" else data["warmups"].astype(np.int64) * WARMUP_STEP)
    accuracy = _nudged((data["accuracy"] / 1000).astype(np.float32), data["accuracy_ulps"])
    names = zip(data["words"].tolist(), data["numbers"].tolist(), strict=True)
    return SweepRuns(
        tuple(f"{word.decode()}-sweep-{number}" for word, number in names), np.column_stack(columns).astype(np.float64),
        100.0 * accuracy, _nudged(data["runtime"] * CLOCK, data["runtime_ulps"]), float(data["test_accuracy"]),
    )  # fmt: skip


def _nudged(values: npt.NDArray[np.floating], ulps: npt.NDArray[np.int8]) -> Floats:
    """The values as doubles, each moved up by `ulps` units in the last place."""
    return (values.astype(np.float64).view(np.int64) + ulps).view(np.float64)


def assemble(
    name: str, keys: tuple[str, ...], configs: Floats, values: Floats, provenance: Provenance,
    metrics: tuple[Metric, ...] = METRICS,
) -> Table:  # fmt: skip
    """Make a Table of (rows, 16) configurations and (rows, m) metrics; column 1, the runtime, is also the cost."""
    axes, values = searched(space(parts(name)[2]), configs), values[:, None, None, :]
    return Table(name, keys, metrics, values, values[..., 1], provenance, "s", **axes)
