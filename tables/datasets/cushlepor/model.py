"""The embedded segments: translations of an invented language, stored as integers, scored by planted parameters.

`hpo_envs.tables.datasets.cushlepor.fit` makes them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hpo_envs.tables import hlepor
from hpo_envs.tables.files import atomic
from hpo_envs.tables.table import Floats

PLANTED = hlepor.Parameters(alpha=2.0, beta=8.0, n=3, weight_elp=7.0, weight_pos=3.0, weight_pr=5.0)
"""What a perfect tuner without noise would find, up to the metric's own symmetries (scale of the weights)."""

FILE = Path(__file__).with_name("cushlepor.npz")


def load() -> Floats:
    """(rows, metrics) human scores and hLEPOR statistics, columns as in `build.metrics`."""
    data = atomic.read_npz(FILE)
    h, r, a = data["lengths"].astype(np.float64)
    columns = [1.0 - data["points"] / 25.0, h, r, a]
    columns += [data[variant].T / scale(variant, h, r)[:, 0] for variant in hlepor.VARIANTS]
    return np.vstack(columns).T


def scale(variant: str, h: Floats, r: Floats) -> Floats:
    """(rows, 1) what turns NPD into an integer: the mean's denominator, and that of relative positions."""
    return (h if variant == "paper" else h * h * r)[:, None]
