"""Pack the tables from upstream's files: `python -m hpo_envs.tables.datasets.packing nmthpo [--check]`."""

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.datasets import packing
from hpo_envs.tables.datasets.nmthpo import PAIRS
from hpo_envs.tables.datasets.nmthpo.build import DECIMALS, PACK, grid
from hpo_envs.tables.files import packs


def make() -> packing.Packs:
    """Indices of the measured cells in each pair's grid, and their metrics, in the order of the files."""
    arrays = {}
    for pair, name in PAIRS.items():
        configs = _matrix(f"nmthpo/datasets/{name}.hyps")
        same = (configs[:, None] == grid(pair)).all(axis=2)
        if not (same.sum(axis=1) == 1).all():
            raise ValueError(f"every configuration of {name} must be a cell of the grid of Table 1")
        arrays[f"{pair}/cells"] = packs.smallest(same.argmax(axis=1))
        arrays[f"{pair}/evaluations"] = packs.scaled(_matrix(f"nmthpo/datasets/{name}.evals").T, DECIMALS)
    return {PACK: arrays}


def _matrix(file: str) -> np.ndarray:
    """(rows, 6) numbers separated by tabs."""
    return np.array([line.split("\t") for line in store.read(file).decode("ascii").splitlines()], np.float64)
