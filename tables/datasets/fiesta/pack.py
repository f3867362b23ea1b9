"""Pack the tables from upstream's files: `python -m hpo_envs.tables.datasets.packing fiesta [--check]`."""

import json

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.datasets import packing
from hpo_envs.tables.datasets.fiesta import NER, NER_SEEDS, NER_SPLITS, TDSA, TDSA_EVALUATIONS
from hpo_envs.tables.datasets.fiesta.build import NER_FILE, PACK, TDSA_FILE


def make() -> packing.Packs:
    """Return the scores by model: (12, 500) of `TDSA`, and (2, 750, 2) test and validation F1 of `NER`."""
    scores = json.loads(store.read(TDSA_FILE))
    tdsa = np.array([scores[name] for name in TDSA])
    splits = json.loads(store.read(NER_FILE))  # split -> run -> validation F1, test F1, encoder
    if any([run[2] for run in split] != [name for name in NER for _ in range(NER_SEEDS)] for split in splits):
        raise ValueError(f"{NER_FILE} must list the runs of each split by encoder")
    runs = np.array([[run[1::-1] for run in split] for split in splits])
    ner = runs.reshape(NER_SPLITS, len(NER), NER_SEEDS, 2).swapaxes(0, 1).reshape(len(NER), NER_SPLITS * NER_SEEDS, 2)
    assert tdsa.shape == (len(TDSA), TDSA_EVALUATIONS)
    return {PACK: {"tdsa/scores": tdsa, "ner/scores": ner}}
