"""Intents of requests to a bank: BANKING77 (Casanueva et al. 2020), 77 classes."""

import csv

from hpo_envs.tables.datasets.textmini.tasks import Examples, TextTask, split


def read(train: bytes, test: bytes) -> dict[str, Examples]:
    """Split upstream's training set into training and validation requests; the test set is upstream's."""
    known, unseen = (
        [(row["text"].strip(), row["category"]) for row in csv.DictReader(content.decode().splitlines(keepends=True))]
        for content in (train, test)
    )
    return split(known, 1200, 0) | {"test": unseen}


FILES = ("banking77/train.csv", "banking77/test.csv")
TASK = TextTask("classification", "eng", "texts", FILES, read, (3000, 1200, 1200))
