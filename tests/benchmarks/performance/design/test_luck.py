"""The luck of a seed on one environment says nothing of another."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.benchmarks.performance.design import luck


def test_seeds_do_not_correlate_between_environments(capsys: pytest.CaptureFixture[str]) -> None:
    ids = [f"NMTHPO-{pair}-v0" for pair in ("zhen", "ruen", "jaen", "enja")]
    found = luck.correlations(ids, 200, "surrogate")
    assert found.shape == (6,)
    assert np.abs(found).max() < 3.5 / np.sqrt(200)
    assert luck.main(["--family", "FIESTA", "--seeds", "4", "--table", "surrogate"]) == 0
    assert "of independent runs 0.500" in capsys.readouterr().out
