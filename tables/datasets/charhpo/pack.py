"""Pack the sweeps from upstream's files: `python -m hpo_envs.tables.datasets.packing charhpo [--check]`."""

import csv
import io

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.datasets import packing
from hpo_envs.tables.datasets.charhpo import ARCHITECTURES, LANGUAGES, TABLES, TASKS, WARMUP_STEP, parts
from hpo_envs.tables.datasets.charhpo.build import CLOCK, pack_of
from hpo_envs.tables.datasets.charhpo.hyperparameters import space
from hpo_envs.tables.files import packs
from hpo_envs.tables.table import Floats

UPSTREAM = {"warmup_samples": "num_warmup_samples", "patience": "reduce_lr_patience"}
"""Hyperparameter -> upstream's column, where the names differ."""

TEST_FILE = "charhpo/TEST_ACCS.tsv"
"""Upstream's file of the test accuracy of each sweep's best run (section 4: "the best model in each sweep")."""


def make() -> packing.Packs:
    """Arrays of all runs of each sweep, in file order, with the drawn values."""
    lines = [line.split("\t") for line in store.read(TEST_FILE).decode().splitlines()]
    tests = {tuple(line[:3]): float(line[4]) for line in lines}
    return {pack_of(name): _sweep(name, tests[_upstream(name)]) for name in TABLES}


def file_of(name: str) -> str:
    """Upstream's file of a sweep."""
    return f"charhpo/results/{'-'.join(_upstream(name))}.tsv"


def _upstream(name: str) -> tuple[str, str, str]:
    task, lang, architecture = parts(name)
    return LANGUAGES[task][lang], ARCHITECTURES[architecture], TASKS[task]


def _sweep(name: str, test: float) -> dict[str, packs.Array]:
    records = list(csv.DictReader(io.StringIO(store.read(file_of(name)).decode()), delimiter="\t"))
    columns = {h: [r[UPSTREAM.get(h.name, h.name)].lower() for r in records] for h in space(parts(name)[2])}
    choices = [[list(map(str, h.values)).index(text) for text in texts] for h, texts in columns.items() if h.values]
    ranges = [texts for h, texts in columns.items() if h.kind == "float"]
    (warmups,) = (np.array(texts, np.int64) for h, texts in columns.items() if h.kind == "int" and not h.values)
    assert (warmups % WARMUP_STEP == 0).all()
    accuracy = np.array([r["max_val_accuracy"] for r in records], np.float64)
    thousandths = np.rint(1000.0 * accuracy).astype(np.uint16)
    runtime = np.array([r["_runtime"] for r in records], np.float64)
    ticks = np.rint(runtime / CLOCK)
    names = [r["name"].split("-sweep-") for r in records]
    return {
        "words": np.array([word for word, _ in names], np.bytes_),
        "numbers": packs.smallest(np.array([number for _, number in names], np.int64)),
        "choices": np.array(choices, np.uint8), "ranges": np.array(ranges, np.float64),
        "warmups": packs.smallest(warmups // WARMUP_STEP), "accuracy": thousandths,
        "accuracy_ulps": _ulps(accuracy, (thousandths / 1000).astype(np.float32).astype(np.float64)),
        "runtime": packs.smallest(ticks.astype(np.int64)), "runtime_ulps": _ulps(runtime, ticks * CLOCK),
        "test_accuracy": np.array(test),
    }  # fmt: skip


def _ulps(values: Floats, near: Floats) -> packs.Array:
    """int8 distances of values from `near` in units in the last place; upstream's printing and parsing lost a digit."""
    ulps = values.view(np.int64) - near.view(np.int64)
    assert np.abs(ulps).max() < 128
    return ulps.astype(np.int8)
