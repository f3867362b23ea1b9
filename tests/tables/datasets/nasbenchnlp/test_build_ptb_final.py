"""Final losses on the Penn Treebank."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.nasbenchnlp import features, pack
from hpo_envs.tables.datasets.nasbenchnlp.names import PARAMETERS, PTB_FINAL
from hpo_envs.tables.table import STATUSES


def test_final_losses_are_those_of_the_file() -> None:
    table = store.load(PTB_FINAL)
    losses = pack.read_final(store.read(PARAMETERS).decode("utf-8-sig"))
    assert len(losses) == 12_341
    assert sum(not math.isnan(v) for v, _ in losses.values()) == 10_032
    assert table.values.shape == (4114, 3, 1, 2)
    # Another file of the release lists a part of them, all finite.
    lines = store.read("nasbenchnlp-ptb/data/RNN_results.csv").decode("utf-8-sig").splitlines()[1:]
    for line in lines:
        name, loss = line.split(",")[:2]
        assert losses[int(name.split("_")[3])][0] == float(loss)
    assert len(lines) == 8_794
    found: dict[int, list[float]] = {}
    for i, (v, _) in sorted(losses.items()):
        found.setdefault(features.group(i), []).append(v)
    assert len(found) == 4_244
    for row, name in enumerate(table.keys):
        of_row = table.values[row, : len(found[int(name)]), 0, 0]
        assert np.array_equal(of_row, found[int(name)], equal_nan=True)
        expected = ["diverged" if math.isnan(v) else "ok" for v in found[int(name)]]
        assert [STATUSES[s] for s in table.status[row, : len(expected)]] == expected
    assert np.nanmin(table.values[..., 0]) == pytest.approx(4.4287, abs=1e-4)


def test_embedded_final_losses_resemble_the_measured_ones() -> None:
    e, m = (store.load(PTB_FINAL, kind) for kind in ("surrogate", "measured"))
    assert e.values.shape == m.values.shape
    assert e.feature_names == m.feature_names
    assert np.array_equal(np.bincount((~np.isnan(e.cost)).sum((1, 2))), np.bincount((~np.isnan(m.cost)).sum((1, 2))))
    a, b = e.final("test_loss"), m.final("test_loss")
    assert abs(np.isnan(a).mean() - np.isnan(b).mean()) < 0.05
    for q in (5, 50, 95):
        assert abs(np.nanpercentile(a, q) - np.nanpercentile(b, q)) < 0.2
    rows = {r.tobytes() for r in m.values}
    assert not any(r.tobytes() in rows for r in e.values if not np.isnan(r[..., 0]).any())
