"""The agreement of a metric with human scores: independent of the batch, cached by the table's content."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.cushlepor import agreement
from hpo_envs.tables.datasets.cushlepor.space import ParameterBox


def test_a_setting_has_the_same_bits_in_any_batch():
    corpus = agreement.prepare(store.load("cushlepor/ted-ende"), "released", None)
    vectors = ParameterBox("published").natural(np.random.default_rng(0).uniform(-1, 1, (40, 6)))
    many = corpus.evaluate(vectors, kendall=True)
    for i in (0, 15, 16, 39):
        for batch, one in zip(many, corpus.evaluate(vectors[[i]], kendall=True), strict=True):
            assert {k: v[i] for k, v in batch.items()} == {k: v[0] for k, v in one.items()}


def test_a_corpus_is_prepared_once_for_a_content():
    table = store.load("cushlepor/ted-ende")
    first = agreement.prepare(table, "released", None)
    assert agreement.prepare(replace(table), "released", None) is first
    assert agreement.prepare(table, "paper", None) is not first
    assert agreement.prepare(table, "released", ("talk.1",)).held_out == ("talk.1",)
    assert first.documents[0] == "talk.1"
    assert first.held_out == ("talk.5", "talk.6")


def test_a_corpus_needs_segments_and_a_document_to_train_on():
    with pytest.raises(ValueError, match="table must hold translated segments"):
        agreement.prepare(store.load("fiesta/ner"), "released", None)
    table = store.load("cushlepor/ted-ende")
    with pytest.raises(ValueError, match="held_out must name documents, .*, got 'talk.2', did you mean"):
        agreement.Agreement(table, held_out=("talk.2",))
    with pytest.raises(ValueError, match="held_out must leave a document to train on"):
        agreement.Agreement(table, held_out=agreement.Agreement(table).documents)
