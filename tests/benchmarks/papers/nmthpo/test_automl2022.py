"""The AutoML-2022 protocol."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.papers.common import Reproduction
from hpo_envs.benchmarks.papers.nmthpo import automl2022


def test_scores_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automl2022, "LOOKUPS", 25)
    monkeypatch.setattr(automl2022, "OURS", ("bo-ehvi-matern52",))
    monkeypatch.setattr(automl2022, "LEARNING", ("tst-tpe",))
    monkeypatch.setattr(automl2022, "PUBLIC", ("soen",))
    with Reproduction(tmp_path, trials=2) as r:
        rows = automl2022.run(r)["automl2022"]
    assert [row["method"] for row in rows] == ["random search, exact", "bo-ehvi-matern52", "tst-tpe"]
    found = [float(row["soen"].split()[0]) for row in rows]
    assert np.isfinite(found).all()
    assert max(found) > 0.0
