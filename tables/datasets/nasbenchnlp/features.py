"""Features of a row: those of its graph, the released ones, and a flag for whether these are known.

There are 50 of the graph (`wl_*`, see `hpo_envs.tables.cells.features`; the first 10 can be used alone), the 10
released graph2vec features (`g2v_*`, scaled by the range over all 14,322 released ones) and `g2v_known`: 0 if none was
released for the architecture, in which case `g2v_*` are predicted linearly from the graph features.

Quirks of the file: seeds of one architecture have different ids, and only one id of each group has features (see
`group`).
"""

import csv
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hpo_envs.tables import exact
from hpo_envs.tables.cells import features as graph
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets.nasbenchnlp import RELEASED
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Floats

RELEASED_NAMES = tuple(f"g2v_{i}" for i in range(RELEASED))

FEATURE_NAMES = (*graph.NAMES, *RELEASED_NAMES, "g2v_known")


def group(architecture: int) -> int:
    """The group of an id: the first id among the seeds of its architecture.

    1000003 to 1006002 and 1006003 to 1012002 are three seeds each in steps of 2000, the ids from 1012003 on in steps of
    735; other ids are single.
    """
    if 1_000_003 <= architecture <= 1_012_002:
        block, place = divmod(architecture - 1_000_003, 6000)
        return 1_000_003 + 6000 * block + place % 2000
    if 1_012_003 <= architecture < 2_000_000:
        return 1_012_003 + (architecture - 1_012_003) % 735
    return architecture


def read_released(content: bytes, file: str) -> dict[int, Floats]:
    """The released features by group, each scaled to [0, 1] by its range over all architectures."""
    _, *lines = csv.reader(content.decode("utf-8").splitlines())
    groups = [group(int(line[0])) for line in lines]
    x = np.array([line[1:] for line in lines], float)
    if len(set(groups)) != len(groups) or x.shape[1] != RELEASED:
        raise ValueError(f"{file}: must have {RELEASED} numbers for one id per group of seeds")
    low, high = x.min(axis=0), x.max(axis=0)
    scaled = np.round((x - low) / np.maximum(high - low, 1e-12), graph.DECIMALS)
    return dict(zip(groups, scaled, strict=True))


def row_features(cells: Sequence[Cell], known: Sequence[Floats | None]) -> Floats:
    """(rows, len(FEATURE_NAMES)) features; `known` has the released ones, None for those to predict."""
    own, weights = graph.embed(cells), _released_from_own()
    guess = np.clip(exact.product(own, weights[1:]) + weights[0], 0.0, 1.0)
    guess = np.round(guess, graph.DECIMALS) + 0.0
    released = np.stack([g if k is None else k for g, k in zip(guess, known, strict=True)])
    flags = np.array([[float(k is not None)] for k in known])
    return np.hstack([own, released, flags])


@functools.cache
def _released_from_own() -> Floats:
    """(1 + SIZE, RELEASED) intercept and weights of the linear model of the released features."""
    return atomic.read_npz(Path(__file__).parent / "data" / "cells_released.npz")["weights"].astype(np.float64)
