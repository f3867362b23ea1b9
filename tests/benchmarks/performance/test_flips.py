"""Damaged parts and journals."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.benchmarks.performance import flips
from hpo_envs.benchmarks.study import parquet


def test_no_damage_is_read_as_other_data(tmp_path: Path) -> None:
    result = flips.trial(tmp_path, flips=200, truncations=50, seeds=2)
    assert result.refused + result.shortened == 250
    assert result.other == 0


def test_other_data_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "decode", lambda path: None)
    assert flips.trial(tmp_path, flips=14, truncations=0, seeds=2).other >= 10  # the others hit the journal
