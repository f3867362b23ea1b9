"""The batched form can be timed, and the figures are written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hpo_envs.benchmarks.performance.tables import speed_cells


@pytest.mark.measured
def test_batches_are_timed() -> None:
    assert speed_cells.batched(2, rounds=1) > 0


def test_figures_are_printed_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {"step, unwrapped": 2.0, "released train and query": 50.0, "batched steps/s at 64": 1e6}
    monkeypatch.setattr(speed_cells, "measure", lambda: found)
    assert speed_cells.main(["--json", str(tmp_path / "cells.json")]) == 0
    assert "1,000,000" in capsys.readouterr().out
    assert json.loads((tmp_path / "cells.json").read_text()) == {**found, "ratio": 25.0}
