"""The surrogate of a cell's training."""

import json
import math

import numpy as np
import pytest

from hpo_envs.tables import cells, store
from hpo_envs.tables.cells.recipe import Cell
from hpo_envs.tables.datasets.nasbenchnlp import EPOCHS, model
from tests.tables.cells.helpers import drawn


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
    """The held-out error in the report is that of what the model serves."""
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
