"""Shapes of the tables."""

from __future__ import annotations

import pytest

from hpo_envs.tables.datasets.cushlepor import names


def test_talks_hold_out_229_of_529_segments():
    for table in names.TED:
        systems, documents = names.shape(table)
        assert (systems, sum(documents.values())) == (13, 529)
        assert sum(documents[d] for d in names.HELD_OUT[table]) == 229


@pytest.mark.parametrize("table", names.NEWS)
def test_news_is_cut_into_stories(table):
    systems, documents = names.shape(table)
    assert (systems, sum(documents.values())) == names.NEWS[table]
    assert max(documents.values()) == names.STORY
    assert list(documents) == sorted(documents)
