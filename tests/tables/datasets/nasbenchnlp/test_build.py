"""Tables of NAS-Bench-NLP: their construction, and the surrogate of a cell's training."""

import json
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables import cells, store
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets.nasbenchnlp import EPOCHS, build, features, model
from tests.tables.cells.helpers import drawn


def run(epochs: int, parameters: int, diverged: bool = False) -> Any:
    losses, seconds = np.full((epochs, 3), 5.0), np.full(epochs, 2.0)
    return SimpleNamespace(losses=losses, seconds=seconds, parameters=parameters, diverged=diverged)


def test_runs_become_arrays() -> None:
    runs = [[run(EPOCHS, 10), run(7, 10)], [run(3, 20, diverged=True)], []]
    values, cost, status = build.arrays(runs, 2)
    assert (values.shape, status[0].tolist()) == ((3, 2, EPOCHS, 4), [build.OK, build.TRUNCATED])
    assert status[1:, 0].tolist() == [build.DIVERGED, build.FAILED]
    assert cost[0, 1, :8].tolist()[:7] == [2.0 * k for k in range(1, 8)]
    assert np.isnan(cost[0, 1, 7:]).all()
    assert (values[1, 0, :3, 3].tolist(), values[2, 0, 0, 3], cost[2, 0, 0]) == ([20.0] * 3, 0.0, 0.0)


WT2 = "nasbenchnlp/wikitext2"


def test_released_features_are_joined_by_group() -> None:
    table = store.load(WT2)
    assert table.features[:, -1].sum() == 274
    assert features.group(1002003) == features.group(1004003) == 1000003
    assert features.group(1006003) == features.group(1010003) == 1006003
    assert (features.group(1012738), features.group(2004071), features.group(1000001)) == (1012003, 2004071, 1000001)


def test_losses_are_those_of_final_table() -> None:
    final = store.load("nasbenchnlp/ptb-final")
    wikitext2, ptb = build.paired_losses(store.load("nasbenchnlp/wikitext2"), final)
    assert wikitext2.shape == ptb.shape == (260,)
    assert np.isfinite(wikitext2).all()
    assert np.isin(ptb, final.final("test_loss")).all()


def test_surrogate_is_function_of_computation() -> None:
    cell = drawn(9)
    twin = cells.parse(cells.canonical(cell).to_json())
    a, b = model.simulate(cell, 1), model.simulate(twin, 1)
    assert np.array_equal(a.losses, b.losses, equal_nan=True)
    assert np.array_equal(a.seconds, b.seconds)
    assert not np.array_equal(model.simulate(cell, 0).losses, a.losses)
    assert (np.array(model.FLOORS) < np.nanmin(a.losses, axis=0)).all()


def test_divergence_ends_curve_with_nan() -> None:
    run = model.outcome(model.predict(drawn(3)), np.zeros(EPOCHS), "name", 0, True, 0.5)
    assert len(run.losses) == len(run.seconds) < 50
    assert np.isnan(run.losses[-1]).all()
    assert not np.isnan(run.losses[:-1]).any()
    assert all(model.divergence_probability(c) == 0.0 for c in cells.EXAMPLES.values())


def test_served_cells_were_not_seen_in_training() -> None:
    """The held-out error in the report is that of the predictions in use."""
    m = store.load("nasbenchnlp/wikitext2")
    report = json.loads((store.Path(model.__file__).parent / "data" / "cells_report.json").read_text())
    values: dict[str, list[float]] = {}
    for row, name in enumerate(m.keys):
        for repeat in range(m.repeats):
            final = m.values[row, repeat, -1, 0]
            if not math.isnan(final):
                values.setdefault(name.split("#")[0], []).append(final)
    y = np.array([np.mean(v) for v in values.values()])
    p = model._parameters()
    logs = [p["mean"] + model.predict(Cell.from_text(k))[:-1] @ p["components"] for k in values]
    plain = model.curves(np.exp(logs))[:, -1, 0]
    r2 = 1 - ((plain - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert r2 == pytest.approx(report["validation_loss@50"]["predicted"]["r2"], abs=0.02)
    assert r2 > 0.6
