"""Sentence BLEU and chrF in [0, 1]."""

from __future__ import annotations

import sys

import pytest

from hpo_envs.benchmarks.papers.cushlepor import text_metrics
from hpo_envs.tables import store


def test_equal_sentences_score_one_and_others_less() -> None:
    pytest.importorskip("sacrebleu", reason="extra mt is not installed")
    found = text_metrics.sentence_scores(["the cat sat down", "a dog"], ["the cat sat down", "the cat sat down"])
    assert set(found) == {"sentence BLEU", "chrF"}
    for values in found.values():
        assert values[0] == pytest.approx(1.0)
        assert 0.0 <= values[1] < 0.5


def test_without_sacrebleu_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(ModuleNotFoundError, match=r"hpo_envs\[mt\]"):
        text_metrics.sentence_scores(["a"], ["a"])


@pytest.mark.measured
def test_texts_are_those_of_the_rows() -> None:
    hypotheses, references = text_metrics.texts()
    rows = store.load("cushlepor/ted-ende", "measured")
    assert len(hypotheses) == len(references) == len(rows)
