"""Features against features: the table of known cells, and runs that see some of its columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.nasbenchnlp import feature_study as study
from hpo_envs.tables import store
from hpo_envs.tables.files import atomic

pytestmark = pytest.mark.measured


def test_known_cells_have_their_features_and_losses() -> None:
    final = store.load(study.FINAL, "measured")
    table = study.known_cells(final)
    assert 250 <= len(table) <= 291
    row = final.keys.index(table.keys[7])
    assert np.array_equal(table.features[7, 50:60], final.features[row])
    assert table.final("test_loss")[7] == pytest.approx(final.final("test_loss")[row], nan_ok=True)
    assert np.ptp(table.features[:, :50], axis=0).max() > 0


def test_runs_repeat_and_depend_on_the_features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "BUDGET", 12)
    monkeypatch.setattr(study, "AGENTS", ("graph-ei-matern52",))
    with Reproduction(tmp_path, trials=3) as r:
        study.run(r)
    rows = atomic.read_csv(tmp_path / "features.csv")
    assert [row["features"] for row in rows] == [*study.SETS, ""]
    assert len({row["regret"] for row in rows}) > 2
    table = study.known_cells(store.load(study.FINAL, "measured"))
    one = [study.regret(table, "graph-ei-matern52", study.SETS["WL, 10"], 0) for _ in range(2)]
    assert one[0] == one[1]
