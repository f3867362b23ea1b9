"""What was measured, as arrays: packed from the records of trainings into `measured.npz`, which ships."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.datasets.charmini.names import ARCHITECTURES, DRAWN, EPOCHS, SEEDS
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import STATUSES

FILE = Path(__file__).with_name("measured.npz")

COUNTS = ("correct", "errors", "test_correct", "test_errors")
LOSSES = ("nll", "loss")
FIELDS = ("correct", "errors", "nll", "loss", "test_correct", "test_errors")
"""Of a record's epochs, as of `training.run.Epoch`."""

UNIT = 1e-6
"""Nats in which losses are kept."""

_MOST = 2000.0
"""Nats beyond which a loss is kept as this."""

Arrays = Mapping[str, npt.NDArray[Any]]
"""By name, each (architectures, 128, seeds, ...):

`counts` (20, 4) words and errors as of `COUNTS`; `losses` (20, 2) as of `LOSSES` in units of 1e-6 nats; `epochs`
that were finished, 0 where nothing was trained; `status`, index in `STATUSES`; `seconds` (20,) of the processor;
`parameters` of the model; `machine`, index in `machines` (JSON: processor and versions).
"""


def pack(records: Iterable[Mapping[str, Any]], before: Arrays | None = None) -> dict[str, Any]:
    """The arrays of some records, added to others that were packed before."""
    shape = (len(ARCHITECTURES), DRAWN, SEEDS)
    arrays: dict[str, npt.NDArray[Any]] = {
        "counts": np.zeros((*shape, EPOCHS, len(COUNTS)), np.uint16),
        "losses": np.zeros((*shape, EPOCHS, len(LOSSES)), np.int32),
        "epochs": np.zeros(shape, np.uint8),
        "status": np.zeros(shape, np.uint8),
        "seconds": np.zeros((*shape, EPOCHS), np.float32),
        "parameters": np.zeros(shape, np.int32),
        "machine": np.zeros(shape, np.uint8),
    }
    machines: list[str] = []
    if before is not None:
        arrays = {name: before[name].copy() for name in arrays}
        machines = before["machines"].tolist()
    for record in records:
        at, n = place(record["task"]), len(record["epochs"])
        values = np.array(record["epochs"], np.float64).reshape(n, len(FIELDS))
        arrays["counts"][at][:n] = values[:, [FIELDS.index(name) for name in COUNTS]]
        arrays["losses"][at][:n] = np.rint(np.minimum(values[:, 2:4], _MOST) / UNIT)
        arrays["epochs"][at], arrays["status"][at] = n, STATUSES.index(record["status"])
        arrays["seconds"][at][:n] = record["seconds"]
        arrays["parameters"][at] = record["parameters"]
        machine = json.dumps({"processor": record["processor"], **record["versions"]}, sort_keys=True)
        if machine not in machines:
            machines.append(machine)
        arrays["machine"][at] = machines.index(machine)
    return {**arrays, "machines": np.array(machines)}


def place(task: str) -> tuple[int, int, int]:
    """Where a training is kept: architecture, configuration, seed."""
    architecture, draw, seed = task.split("-")
    return ARCHITECTURES.index(architecture), int(draw), int(seed)


def complete(arrays: Arrays, architecture: str) -> int:
    """How many configurations have all their seeds, counted from the first to the first that lacks one."""
    at = ARCHITECTURES.index(architecture)
    begun = (arrays["epochs"][at] > 0) | (arrays["status"][at] > 0)
    return int(np.append(begun.all(axis=1), False).argmin())


@functools.cache
def load() -> Arrays:
    """What ships."""
    return atomic.read_npz(FILE)


def known() -> list[str]:
    """Names of the trainings that ship."""
    if not FILE.exists():
        return []
    begun = (load()["epochs"] > 0) | (load()["status"] > 0)
    return [f"{ARCHITECTURES[a]}-{draw}-{seed}" for a, draw, seed in np.argwhere(begun)]
