"""Nobody 2026: accuracies of twelve taggers. Nothing else is known of them, so rows have no features."""

import csv
from collections.abc import Callable

import numpy as np

from hpo_envs.tables import catalogue
from hpo_envs.tables.table import Metric, Provenance, Table

NAMES = ("tiny/taggers",)

FILE = "tiny/taggers.csv"

METRICS = (Metric("accuracy", "", "max", 0.0, 1.0, "On the test set."),)


def files(name: str) -> tuple[str, ...]:
    """The upstream file of the table."""
    return (FILE,)


def build(name: str, read: Callable[[str], bytes]) -> Table:
    """The measured table."""
    accuracies = [float(row["accuracy"]) for row in csv.DictReader(read(FILE).decode().splitlines())]
    record, citation = catalogue.files()[FILE], catalogue.dataset("tiny").citation
    return Table(
        name=name,
        keys=tuple(f"tagger-{i:02}" for i in range(12)),
        space=(),
        configs=np.zeros((12, 0)),
        feature_names=(),
        features=np.zeros((12, 0)),
        metrics=METRICS,
        values=np.array(accuracies)[:, None, None, None],
        cost=np.ones((12, 1, 1)),
        cost_unit="evaluations",
        provenance=Provenance("measured", record.repository, record.commit, record.licence, citation),
    )
