from __future__ import annotations

import pytest

from hpo_envs.tables.datasets.charmini import facts
from hpo_envs.tables.datasets.charmini.names import ENGLISH, SHARED_TASK
from tests.helpers import needs_upstream


def test_english_is_counted_in_the_words_that_ship():
    assert facts.of(ENGLISH) == facts.counted(ENGLISH) == (26, 39, 500, 500, 2801, 2831, 6.7, 6.65)


@needs_upstream
@pytest.mark.parametrize("language", SHARED_TASK)
def test_others_are_counted_in_their_files(language):
    assert facts.of(language) == facts.counted(language)


def test_development_and_test_sets_have_the_sizes_that_rates_are_divided_by():
    for language in SHARED_TASK:
        of = facts.of(language)
        assert 250 < of.development < 450
        assert 250 < of.test < 450
        assert 1.0 < of.development_phonemes / of.development < 10.0


def test_unknown_languages_are_refused():
    with pytest.raises(ValueError, match="language must be one of eng, ady, .*, got 'rom', did you mean 'rum'"):
        facts.of("rom")
