"""Trainings as a table, epoch by epoch."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpo_envs.tables import catalogue
from hpo_envs.tables.datasets.trained.packed import Arrays, machines
from hpo_envs.tables.table import STATUSES, Floats, Metric, Provenance, Table


def table(
    name: str,
    keys: tuple[str, ...],
    metrics: tuple[Metric, ...],
    measured: Floats,
    arrays: Arrays,
    costs: list[float],
    provenance: Provenance,
    **axes: Any,
) -> Table:
    """A table of trainings.

    The epoch in which a training diverged is paid for, and only its parameters are known.

    Args:
        name: Of the table.
        keys: Of its rows.
        metrics: One of them is called `parameters`.
        measured: (rows, seeds, epochs, other metrics) in their order, any numbers where nothing was trained.
        arrays: (rows, seeds) `epochs`, `status` and `parameters`.
        costs: (rows,) seconds of an epoch.
        provenance: Of the table.
        **axes: Search space or features, as fields of a `Table`.
    """
    levels = np.arange(1.0, measured.shape[2] + 1.0)
    finished = levels <= arrays["epochs"][..., None]
    paid = levels <= (arrays["epochs"] + (arrays["status"] == STATUSES.index("diverged")))[..., None]
    values = np.where(finished[..., None], measured, np.nan)
    sizes = np.where(paid, arrays["parameters"][..., None], np.nan)
    values = np.insert(values, [metric.name for metric in metrics].index("parameters"), sizes, axis=3)
    spent = np.where(paid, np.array(costs)[:, None, None] * levels, np.nan)
    return Table(
        name, keys, metrics, values, spent, provenance, "s",
        levels=levels, level_unit="epochs", status=arrays["status"], **axes,
    )  # fmt: skip


def provenance(
    dataset: str, commit: str, arrays: Arrays, used: Any, licence: str = "MIT", more: str = ""
) -> Provenance:
    """Provenance of what this project measured.

    Args:
        dataset: Name of the data set.
        commit: Since which what trains is what it is.
        arrays: All that was measured.
        used: Indices in its `machines`, of any shape.
        licence: Of the table.
        more: What else is to be said of the machines.
    """
    notes = (
        f"Measured by this project: benchmarks.study.measure, with what trains as of commit {commit[:7]}.",
        f"Trained on {machines(arrays, used)}{more}.",
    )
    return Provenance("measured", "this project", commit, licence, catalogue.dataset(dataset).citation, notes=notes)
