"""Sentence BLEU and chrF in [0, 1]."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.cushlepor import text_metrics


def test_equal_sentences_score_one_and_others_less() -> None:
    pytest.importorskip("sacrebleu", reason="extra mt is not installed")
    found = text_metrics.sentence_scores(["the cat sat down", "a dog"], ["the cat sat down", "the cat sat down"])
    assert tuple(found) == text_metrics.NAMES
    for values in found.values():
        assert values[0] == pytest.approx(1.0)
        assert 0.0 <= values[1] < 0.5


def test_without_sacrebleu_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(ModuleNotFoundError, match=r"hpo_envs\[mt\]"):
        text_metrics.sentence_scores(["a"], ["a"])


def test_packed_scores_correlate_with_human_scores_as_those_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pearson on training and held-out talks, computed from the text with other code."""
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    table = store.load(text_metrics.PACKED[0])
    human, train = table.values[:, 0, 0, 0], table.configs[:, 3] == 0
    found = text_metrics.of_table(table.name)
    for name, want in {"sentence BLEU": (0.181, 0.159), "chrF": (0.139, 0.174)}.items():
        got = [np.corrcoef(found[name][part], human[part])[0, 1] for part in (train, ~train)]
        assert got == pytest.approx(want, abs=6e-4)
