"""Compiled trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpo_envs.tables.datasets.charhpo import forests


def walk(features: Any, thresholds: Any, leaves: Any, row: Any) -> int:
    total = 0
    for f, t, v in zip(features, thresholds, leaves, strict=True):
        node = 0
        while node < forests.SPLITS:
            node = 2 * node + (1 if row[f[node]] <= t[node] else 2)
        total += int(v[node - forests.SPLITS])
    return total


def test_compiled_trees_equal_a_walk_down_each_tree() -> None:
    rng = np.random.default_rng(3)
    features = rng.integers(0, 6, (7, 31)).astype(np.uint8)
    thresholds = np.where(features < 3, rng.integers(0, 50, (7, 31)), 0).astype(np.uint16)
    leaves = rng.integers(-999, 999, (7, 32)).astype(np.int16)
    compiled = forests.compile_forest(features, thresholds, leaves, (1, 1, 1, 3), 50)
    x = np.column_stack([rng.integers(0, 50, (300, 3)), rng.integers(0, 3, 300)])
    expanded = np.hstack([x[:, :3], x[:, 3:] == np.arange(3)])
    assert compiled(x).tolist() == [walk(features, thresholds, leaves, row) for row in expanded]
    assert [int(compiled(row[None])[0]) for row in x] == compiled(x).tolist()
