"""The embedded segments: translations of an invented language, stored as integers, scored by planted parameters.

`hpo_envs.tables.datasets.cushlepor.fit` makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.tables import hlepor
from hpo_envs.tables.datasets.cushlepor.names import DOCUMENTS, SYSTEMS, TABLES, TED, shape
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Floats

PLANTED = hlepor.Parameters(alpha=2.0, beta=8.0, n=3, weight_elp=7.0, weight_pos=3.0, weight_pr=5.0)
"""What a perfect tuner without noise would find, up to the metric's own symmetries (scale of the weights)."""

FILE = Path(__file__).with_name("cushlepor.npz")

THIRDS = 18.0
"""pSQM labels of three raters, 0 to 6 each, summed."""


def load(name: str) -> Floats:
    """(rows, metrics) human scores and hLEPOR statistics of a table, columns as in `build.metrics`."""
    data = atomic.read_npz(FILE)
    statistics, points = base(data), data[name.partition("/")[2]]
    human = points / THIRDS if name.endswith("-psqm") else 1.0 - points / 25.0
    return np.column_stack([human, statistics[sources(name)]])


def base(data: Mapping[str, Any]) -> Floats:
    """(6877, metrics - 1) statistics of the segments that all embedded tables consist of."""
    h, r, a = data["lengths"].astype(np.float64)
    columns = [h, r, a]
    columns += [data[variant].T / scale(variant, h, r)[:, 0] for variant in hlepor.VARIANTS]
    return np.vstack(columns).T


def sources(name: str) -> npt.NDArray[np.intp]:
    """(rows,) which row of `base` each row of a table is.

    TED en-de has them all, in order. The others have the same segments in another order, again from the first where
    they have more, each translated by systems that change places from segment to segment.
    """
    systems, documents = shape(name)
    count = sum(DOCUMENTS[TED[0]].values())
    if name == TED[0]:
        return np.arange(SYSTEMS * count)
    segment = np.resize(np.random.default_rng(TABLES.index(name)).permutation(count), sum(documents.values()))
    turn = np.arange(len(segment)) % SYSTEMS
    system = (np.arange(systems)[:, None] + turn) % SYSTEMS
    return (system * count + segment).ravel()


def scale(variant: str, h: Floats, r: Floats) -> Floats:
    """(rows, 1) what turns NPD into an integer: the mean's denominator, and that of relative positions."""
    return (h if variant == "paper" else h * h * r)[:, None]
