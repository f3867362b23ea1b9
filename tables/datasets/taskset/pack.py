"""Pack the tables from upstream's files: `python -m hpo_envs.tables.datasets.packing taskset [--check]`."""

import json

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.datasets import packing
from hpo_envs.tables.datasets.taskset import DIGITS, HIGHEST, KEPT
from hpo_envs.tables.datasets.taskset.build import FILES, PACK, PARTS, SPACE
from hpo_envs.tables.files import packs


def make() -> packing.Packs:
    """Stored configurations, and losses and the number of checkpoints before divergence for each table."""
    arrays: dict[str, packs.Array] = {}
    for name, file in FILES.items():
        runs = json.loads(store.read(file))
        natural = np.array([[run["hp"][h.name] for h in SPACE] for run in runs])
        configs = np.where([h.complement for h in SPACE], 1.0 - natural, natural)
        same = [h.natural(v) for row in configs for h, v in zip(SPACE, row, strict=True)] == natural.ravel().tolist()
        if not same or (arrays.setdefault("all/configs", configs) != configs).any():
            raise ValueError(f"{file} must have the configurations of the others, and stored ones must give them")
        losses = np.array([[run[part]["loss"] for part in PARTS.values()] for run in runs], np.float64)
        lost = np.maximum.accumulate(np.isnan(losses).any(axis=1), axis=1)[:, KEPT]
        kept = np.clip(np.where(lost[:, None], 0.0, losses[:, :, KEPT]), 0.0, HIGHEST)
        arrays[f"{name}/ends"] = packs.smallest((~lost).sum(axis=1))
        for metric, loss in zip(PARTS, np.moveaxis(kept, 1, 0), strict=True):
            arrays[f"{name}/{metric}"] = packs.smallest(np.rint(loss * 10**DIGITS).astype(np.int64))
    return {PACK: arrays}
