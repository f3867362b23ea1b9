"""Reading large files of runs can be measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.benchmarks.performance.tables import exports


@pytest.mark.parametrize("how", ["frame", "arrow", "parquet", "csv"])
def test_each_way_reads_the_same_rows(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "_status", lambda key: {"VmRSS": 100.0, "VmHWM": 160.0}[key])
    monkeypatch.setattr(exports, "_start_of_peak", lambda: None)
    made = exports.frame(50)
    made.to_csv(tmp_path / "runs.csv", index=False)
    made.to_parquet(tmp_path / "runs.parquet")
    exports.measure(how, tmp_path / "runs.csv")
    said = capsys.readouterr().out.split()
    assert said[:3] == [how, "50", "rows"]
    assert said[-2:] == ["60", "MB"]
