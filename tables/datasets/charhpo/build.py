"""Wiemerslage, Gorman and von der Wense 2024: 24 random searches of 200 runs on character transduction.

Two tasks (morphological inflection in eight languages, grapheme-to-phoneme conversion in four), each with an LSTM and
a transformer. `charhpo/{task}-{lang}-{architecture}` has the runs of one sweep, language codes as in Table 6.

Rules for the upstream files, which have 205 to 291 rows each: the sweep is the first 200 rows in file order, which is
what the published numbers were computed from (the Irish LSTM's best row lies beyond). No configuration occurs twice
among them. No accuracy is missing; a run that never learned has accuracy 0 and is an ordinary run. Upstream's
scheduler "None" is `none` here. Conditional hyperparameters are 0 where their scheduler was not chosen (appendix A),
although upstream recorded what was drawn; `sampled` returns the values as drawn.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import catalogue
from hpo_envs.tables.datasets.charhpo.hyperparameters import deactivate, space
from hpo_envs.tables.datasets.charhpo.names import ARCHITECTURES, LANGUAGES, RUNS, TABLES, TASKS, parts
from hpo_envs.tables.table import Floats, Hyperparameter, Metric, Provenance, Table, searched

NAMES = TABLES

METRICS = (
    Metric("accuracy", "%", "max", 0.0, 100.0, "Exact match accuracy on the development set, best epoch."),
    Metric("runtime", "s", "min", 0.0, 1e6, "Wall clock time of the run on one GPU."),
)
"""What an environment tells of a run. The cap of the runtime is an observation bound: the longest run took 9.5e4 s."""

UPSTREAM = {"warmup_samples": "num_warmup_samples", "patience": "reduce_lr_patience"}
"""Hyperparameter -> upstream's column, where the names differ."""


def files(name: str) -> tuple[str, ...]:
    """Upstream files of a table."""
    task, lang, architecture = parts(name)
    return (f"charhpo/results/{LANGUAGES[task][lang]}-{ARCHITECTURES[architecture]}-{TASKS[task]}.tsv",)


def build(name: str, read: Callable[[str], bytes]) -> Table:
    """Builds a measured table, see `store`; a message about a wrong file names file, row and value."""
    records = _records(name, read)
    values = np.column_stack([_accuracies(records), [float(r["_runtime"]) for r in records]])
    configs = deactivate(space(parts(name)[2]), _sampled(name, records))
    keys = tuple(r["name"] for r in records)
    return _assemble(name, keys, configs, values, catalogue.provenance("charhpo", "measured"))


def sampled(name: str, read: Callable[[str], bytes], runs: int | None = RUNS) -> Floats:
    """(runs, 16) the values that the sweep drew, conditional hyperparameters included where inactive; None: all runs.

    Raises:
        ValueError: A value outside its range in Table 2.
    """
    return _sampled(name, _records(name, read, runs))


def accuracies(name: str, read: Callable[[str], bytes], runs: int | None = RUNS) -> Floats:
    """(runs,) development accuracy in per cent; arguments as for `sampled`."""
    return _accuracies(_records(name, read, runs))


def _sampled(name: str, records: list[dict[str, str]]) -> Floats:
    hyperparameters = space(parts(name)[2])
    drawn = np.array([[_value(h, r) for h in hyperparameters] for r in records])
    for j, h in enumerate(hyperparameters):
        outside = ~np.isin(drawn[:, j], h.values) if h.kind == "int" and h.values else ~_between(h, drawn[:, j])
        if outside.any():
            row = int(outside.argmax())
            raise ValueError(f"{files(name)[0]}, row {row}: {h.name} must follow Table 2, got {drawn[row, j]}")
    return drawn


def _accuracies(records: list[dict[str, str]]) -> Floats:
    return np.array([100.0 * float(r["max_val_accuracy"]) for r in records])


def embedded(name: str) -> Table:
    """Seeded draws from the sweep's distributions, answered by the surrogate of `model`."""
    # Its forests are compiled only where they are used.
    from hpo_envs.tables.datasets.charhpo import model

    configs = model.draws(name)
    values = model.load().evaluate(NAMES.index(name), configs)
    note = f"{RUNS} seeded draws from the distributions of Table 2, answered by a surrogate fitted to the sweeps."
    provenance = catalogue.provenance("charhpo", "surrogate", note, model.held_out_error(name))
    return _assemble(name, tuple(f"draw-{i:03d}" for i in range(RUNS)), configs, values, provenance)


def _assemble(name: str, keys: tuple[str, ...], configs: Floats, values: Floats, provenance: Provenance) -> Table:
    """Puts (rows, 16) configurations and (rows, 2) metrics into a Table whose cost is the runtime."""
    axes, values = searched(space(parts(name)[2]), configs), values[:, None, None, :]
    return Table(name, keys, METRICS, values, values[..., 1], provenance, "s", **axes)


def _records(name: str, read: Callable[[str], bytes], runs: int | None = RUNS) -> list[dict[str, str]]:
    file = files(name)[0]
    try:
        records = list(csv.DictReader(io.StringIO(read(file).decode("utf-8")), delimiter="\t"))[:runs]
    except csv.Error as error:
        raise ValueError(f"{file} must be tab-separated text, got {error}") from None
    if len(records) < RUNS:
        raise ValueError(f"{file} must have at least {RUNS} rows, got {len(records)}")
    for row, record in enumerate(records):
        for column in ("max_val_accuracy", "_runtime", "name"):
            if not record.get(column):
                raise ValueError(f"{file}, row {row}: must have {column}, got {record.get(column)!r}")
    return records


def _value(h: Hyperparameter, record: dict[str, str]) -> float:
    text = record[UPSTREAM.get(h.name, h.name)]
    if h.kind != "categorical":
        return float(text)
    return float(h.values.index(text.lower())) if text.lower() in h.values else float("nan")


def _between(h: Hyperparameter, values: Floats) -> npt.NDArray[np.bool_]:
    return (values >= h.low) & (values <= h.high)
