"""Tables of NAS-Bench-NLP: how they are put together."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import catalogue, store
from hpo_envs.tables.datasets import nasbenchnlp as names
from hpo_envs.tables.datasets.nasbenchnlp import EPOCHS, build, features


@pytest.mark.parametrize("name", names.TABLES)
def test_tables_ship_or_have_files_in_catalogue(name: str) -> None:
    assert set(build.files(name)) <= set(catalogue.files())
    assert bool(build.files(name)) == (name not in catalogue.pins())


def run(epochs: int, parameters: int, diverged: bool = False) -> Any:
    losses, seconds = np.full((epochs, 3), 5.0), np.full(epochs, 2.0)
    return SimpleNamespace(losses=losses, seconds=seconds, parameters=parameters, diverged=diverged)


def test_runs_become_arrays() -> None:
    runs = [[run(EPOCHS, 10), run(7, 10)], [run(3, 20, diverged=True)], []]
    values, cost, status = build.arrays(runs, 2)
    assert values.shape == (3, 2, EPOCHS, 4)
    assert status[0].tolist() == [build.OK, build.TRUNCATED]
    assert status[1:, 0].tolist() == [build.DIVERGED, build.FAILED]
    assert cost[0, 1, :8].tolist()[:7] == [2.0 * k for k in range(1, 8)]
    assert np.isnan(cost[0, 1, 7:]).all()
    assert values[1, 0, :3, 3].tolist() == [20.0] * 3
    assert (values[2, 0, 0, 3], cost[2, 0, 0]) == (0.0, 0.0)


WT2 = "nasbenchnlp/wikitext2"


def test_released_features_are_joined_by_group() -> None:
    table = store.load(WT2)
    assert table.features[:, -1].sum() == 274
    assert features.group(1002003) == features.group(1004003) == 1000003
    assert features.group(1006003) == features.group(1010003) == 1006003
    assert features.group(1012738) == 1012003
    assert features.group(2004071) == 2004071
    assert features.group(1000001) == 1000001


def test_losses_are_those_of_final_table() -> None:
    final = store.load("nasbenchnlp/ptb-final")
    wikitext2, ptb = build.paired_losses(store.load("nasbenchnlp/wikitext2"), final)
    assert wikitext2.shape == ptb.shape == (260,)
    assert np.isfinite(wikitext2).all()
    assert np.isin(ptb, final.final("test_loss")).all()
