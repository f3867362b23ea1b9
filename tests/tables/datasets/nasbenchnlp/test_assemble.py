"""Runs of cells as arrays: what ended early, diverged or never ran."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from hpo_envs.tables.datasets.nasbenchnlp import assemble
from hpo_envs.tables.datasets.nasbenchnlp.names import EPOCHS


def run(epochs: int, parameters: int, diverged: bool = False) -> Any:
    losses, seconds = np.full((epochs, 3), 5.0), np.full(epochs, 2.0)
    return SimpleNamespace(losses=losses, seconds=seconds, parameters=parameters, diverged=diverged)


def test_runs_become_arrays() -> None:
    runs = [[run(EPOCHS, 10), run(7, 10)], [run(3, 20, diverged=True)], []]
    values, cost, status = assemble.arrays(runs, 2)
    assert values.shape == (3, 2, EPOCHS, 4)
    assert status[0].tolist() == [assemble.OK, assemble.TRUNCATED]
    assert status[1:, 0].tolist() == [assemble.DIVERGED, assemble.FAILED]
    assert cost[0, 1, :8].tolist()[:7] == [2.0 * k for k in range(1, 8)]
    assert np.isnan(cost[0, 1, 7:]).all()
    assert values[1, 0, :3, 3].tolist() == [20.0] * 3
    assert (values[2, 0, 0, 3], cost[2, 0, 0]) == (0.0, 0.0)
