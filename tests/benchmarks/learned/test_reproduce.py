"""The study of the learned agents runs on embedded tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.benchmarks.learned import reproduce, settings, tables
from hpo_envs.benchmarks.papers.common import Reproduction


def test_study_runs_on_embedded_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    todo = [
        settings.Setting("nmthpo", f"nmthpo/{pair}", m, "surrogate")
        for pair in ("zhen", "jaen")
        for m in ("random", "start", "learned", "embedded", "generic", "japanese")
        if m != "japanese" or pair == "jaen"
    ]
    reproduce.compare("nmt", todo, Reproduction(tmp_path, trials=3))
    text = (tmp_path / "nmt_tables.csv").read_text()
    assert text.count("\n") == 1 + len(todo)
    assert (tmp_path / "nmt_overall.csv").read_text().count("\n") == 6
    assert "nmthpo/zhen" in capsys.readouterr().out


def test_every_family_table_and_part_is_covered() -> None:
    assert {c.table for c in settings.settings("charhpo", "surrogate")} == set(tables.names("charhpo"))
    assert len(settings.settings("nmthpo", "surrogate", ("japanese",))) == 2
    assert set(reproduce.PARTS) == set(reproduce.TITLES)
