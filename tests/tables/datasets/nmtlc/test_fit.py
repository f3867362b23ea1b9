"""Errors of curves that are predicted for held-out rows."""

from __future__ import annotations

import numpy as np

from hpo_envs.tables import store
from hpo_envs.tables.datasets.nmtlc import fit


def test_curves_without_an_error_have_none() -> None:
    table = store.load("nmtlc/zhen", "surrogate")
    curves = fit.measured_curves(table)
    assert len(curves) == len(table)
    assert all(np.isfinite(c[:, 0]).all() for c in curves)
    drawn = [np.insert(c, 1, 0.0, axis=1) for c in curves]  # BLEU is the third column of what is drawn
    rows = fit.errors("zhen", "test", curves, drawn)
    assert {float(r["rmse"]) for r in rows} == {0.0}
    assert {r["rows"] for r in rows} == {len(table)}
    assert rows[0]["quantity"] == "best log perplexity"
