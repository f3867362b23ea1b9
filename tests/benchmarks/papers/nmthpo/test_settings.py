"""Targets and orders of the paper."""

from __future__ import annotations

from hpo_envs.benchmarks.papers.nmthpo import settings
from hpo_envs.tables import store


def test_fixed_target_of_the_tied_rows() -> None:
    table = store.load("nmthpo/zhen")
    bleu = table.final("bleu")
    row = settings.target_row(table, "zhen")
    assert (bleu == bleu.max()).sum() == 3
    assert bleu[row] == bleu.max() == 14.66
    assert table.configs[row].tolist() == list(settings.ZHEN_TARGET)
