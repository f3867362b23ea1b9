"""Trainings of this project: records packed as arrays that ship, tables of them by epoch, and the machines used."""

import functools
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import catalogue
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import LOST, STATUSES, Floats, Metric, Provenance, Table

UNIT = 1e-6
"""Unit of stored losses in nats."""

TICK = 1e-4
"""Unit of stored times in seconds."""

TrainingArrays = Mapping[str, npt.NDArray[Any]]
"""Arrays by name; their first dimensions are `Packing.axes`, further ones:

`counts` (epochs, counts), where there are any; `losses` (epochs, losses) in units of 1e-6 nats; `epochs` that were
finished, 0 where nothing was trained; `status`, index in `STATUSES`; `times` (epochs, times) in units of 0.1 ms, or,
where there are none, `seconds` (epochs,) of the processor; `parameters` of the model; `machine`, index in `machines`
(JSON: processor and versions).
"""


@dataclass(frozen=True)
class Packing:
    """Layout of a table's trainings.

    Attributes:
        file: File of the arrays.
        axes: Labels in the names of trainings, as in `lstm-3-1`; the last two axes are rows and seeds.
        epochs: Number of epochs of each training.
        fields: Names of the numbers that a record has for each epoch, in their order.
        counts: Fields that are integers below 65,536.
        losses: Fields in nats.
        times: Fields in seconds, which differ between repetitions.
    """

    file: Path
    axes: tuple[Sequence[object], ...]
    epochs: int
    fields: tuple[str, ...]
    counts: tuple[str, ...]
    losses: tuple[str, ...]
    times: tuple[str, ...] = ()

    def place(self, task: str) -> tuple[int, ...]:
        """Index of a training in the arrays, from its name."""
        parts = zip(task.split("-"), self.axes, strict=True)
        return tuple([str(label) for label in axis].index(part) for part, axis in parts)

    def pack(self, records: Iterable[Mapping[str, Any]], before: TrainingArrays | None = None) -> dict[str, Any]:
        """Pack records into arrays, added to copies of previously packed ones if these are given."""
        shape = tuple(map(len, self.axes))
        arrays: dict[str, npt.NDArray[Any]] = {
            "counts": np.zeros((*shape, self.epochs, len(self.counts)), np.uint16),
            "losses": np.zeros((*shape, self.epochs, len(self.losses)), np.int32),
            "epochs": np.zeros(shape, np.uint8),
            "status": np.zeros(shape, np.uint8),
            "parameters": np.zeros(shape, np.int32),
            "machine": np.zeros(shape, np.uint8),
        }
        if self.times:
            arrays["times"] = np.zeros((*shape, self.epochs, len(self.times)), np.int32)
        else:
            arrays["seconds"] = np.zeros((*shape, self.epochs), np.float32)
        machines: list[str] = []
        if before is not None:
            arrays = {name: before[name].copy() for name in arrays}
            machines = before["machines"].tolist()
        for record in records:
            at, n = self.place(record["task"]), len(record["epochs"])
            arrays["counts"][at][:n], losses = self.measured(record)
            arrays["losses"][at][:n] = np.rint(losses / UNIT)
            arrays["epochs"][at], arrays["status"][at] = n, STATUSES.index(record["status"])
            if self.times:
                arrays["times"][at][:n] = np.rint(self._columns(record, self.times) / TICK)
            else:
                arrays["seconds"][at][:n] = record["seconds"]
            arrays["parameters"][at] = record["parameters"]
            machine = json.dumps({"processor": record["processor"], **record["versions"]}, sort_keys=True)
            if machine not in machines:
                machines.append(machine)
            arrays["machine"][at] = machines.index(machine)
        return {**arrays, "machines": np.array(machines)}

    def measured(self, record: Mapping[str, Any]) -> tuple[Floats, Floats]:
        """(epochs, counts) and (epochs, losses) of a record; losses are in nats, at most 2,000, as stored."""
        return self._columns(record, self.counts), np.minimum(self._columns(record, self.losses), 2000.0)

    def _columns(self, record: Mapping[str, Any], names: tuple[str, ...]) -> Floats:
        values = np.array(record["epochs"], np.float64).reshape(-1, len(self.fields))
        return np.asarray(values[:, [self.fields.index(name) for name in names]])

    def kept(self, arrays: TrainingArrays, at: tuple[int, ...]) -> tuple[Floats, Floats]:
        """(epochs, counts) and (epochs, losses in nats) of a packed training, for the epochs that it finished."""
        n = int(arrays["epochs"][at])
        return arrays["counts"][at][:n].astype(np.float64), arrays["losses"][at][:n] * UNIT

    def complete(self, arrays: TrainingArrays) -> dict[str, int]:
        """Return the number of rows before the first that lacks a seed, by label of the other axes."""
        leading = itertools.product(*(range(len(axis)) for axis in self.axes[:-2]))
        counts = {at: int(np.append(_begun(arrays)[at].all(axis=1), False).argmin()) for at in leading}
        return {"-".join(str(axis[i]) for axis, i in zip(self.axes, at, strict=False)): n for at, n in counts.items()}

    def load(self) -> TrainingArrays:
        """Return the shipped arrays."""
        return _load(self.file)

    def shipped(self) -> TrainingArrays:
        """Return the shipped arrays; zeros if nothing ships."""
        return self.load() if self.file.exists() else self.pack([])

    def shipped_names(self) -> list[str]:
        """Names of the trainings that ship."""
        places = np.argwhere(_begun(self.shipped())).tolist()
        return ["-".join(str(axis[i]) for axis, i in zip(self.axes, at, strict=True)) for at in places]

    def has(self, arrays: TrainingArrays, task: str) -> bool:
        """Return whether a training is in the arrays, also one that failed in its first epoch."""
        return bool(_begun(arrays)[self.place(task)])


def machines(arrays: TrainingArrays, used: npt.NDArray[Any]) -> str:
    """Processors and versions, as text, of the machines at the indices `used` (any shape) in `machines`."""
    made = [json.loads(arrays["machines"][i]) for i in np.unique(used)]
    return "; ".join(", ".join(f"{key} {value}" for key, value in sorted(machine.items())) for machine in made)


def _begun(arrays: TrainingArrays) -> npt.NDArray[np.bool_]:
    return (arrays["epochs"] > 0) | (arrays["status"] > 0)


@functools.cache
def _load(file: Path) -> TrainingArrays:
    return atomic.read_npz(file)


def table(
    name: str, keys: tuple[str, ...], metrics: tuple[Metric, ...], measured: Floats, arrays: TrainingArrays,
    costs: Floats, provenance: Provenance, levels: tuple[float, ...] = (), level_unit: str = "epochs", **axes: Any,
) -> Table:  # fmt: skip
    """Make a table of trainings, whose levels are by default the epochs 1, 2, ...; `axes` are more fields of a `Table`.

    One metric is named `parameters`; `measured` are the (rows, seeds, epochs, other metrics) values in the order of the
    metrics, arbitrary where nothing was trained. `arrays` has (rows, seeds) `epochs`, `status` and `parameters`, and
    `costs` are (rows, seeds or 1, epochs) cumulative seconds. At the fidelity at which a training failed or diverged,
    only its cost and its number of parameters are known, so that the repeat counts.
    """
    epochs = np.arange(1.0, measured.shape[2] + 1.0)
    finished = epochs <= arrays["epochs"][..., None]
    paid = epochs <= (arrays["epochs"] + np.isin(arrays["status"], LOST))[..., None]
    values = np.where(finished[..., None], measured, np.nan)
    sizes = np.where(paid, arrays["parameters"][..., None], np.nan)
    values = np.insert(values, [metric.name for metric in metrics].index("parameters"), sizes, axis=3)
    spent = np.where(paid, costs, np.nan)
    return Table(
        name, keys, metrics, values, spent, provenance, "s",
        levels=np.array(levels or epochs), level_unit=level_unit, status=arrays["status"], **axes,
    )  # fmt: skip


def by_epoch(costs: Sequence[float], epochs: int) -> Floats:
    """(rows, 1, epochs) cumulative costs, given the (rows,) costs of one epoch."""
    return np.asarray(np.multiply.outer(np.array(costs), np.arange(1.0, epochs + 1.0)[None]))


def provenance(
    dataset: str, commit: str, arrays: TrainingArrays, used: Any, licence: str = "MIT", more: str = ""
) -> Provenance:
    """Return the provenance of measurements of this project with the training code of a commit.

    It names the machines at the indices `used` (any shape) in `machines` of the arrays, with a remark on them (`more`).
    """
    notes = (
        f"Measured by this project: benchmarks.study.measure, with what trains as of commit {commit[:7]}.",
        f"Trained on {machines(arrays, used)}{more}.",
    )
    return Provenance("measured", "this project", commit, licence, catalogue.dataset(dataset).citation, notes=notes)
