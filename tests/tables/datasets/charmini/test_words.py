from __future__ import annotations

import pytest

from hpo_envs.tables import store
from hpo_envs.tables.datasets.charmini import words
from hpo_envs.tables.files import atomic

SOME = """'bout B AW1 T
aback AH0 B AE1 K
aback(2) AE1 B AE0 K
abbey AE1 B IY0 # place
abc EY1 B IY2 S IY2
abbé AE1 B EY0
abbreviated AH0 B R IY1 V IY0 EY2 T AH0 D
inquiries IH2 N K W AY1 R IY0 Z AH0 B AH0 B
"""


def test_only_words_with_one_short_pronunciation_are_eligible():
    assert words.eligible(SOME) == [("abbey", ("AE", "B", "IY"))]


def test_the_sample_has_2500_words_and_39_phonemes():
    sample = words.sample()
    assert len({word for word, _ in sample}) == 2500
    assert len(words.phonemes()) == 39
    assert all(4 <= len(word) <= 9 and 1 <= len(spoken) <= 10 for word, spoken in sample)


@pytest.mark.measured
def test_the_sample_is_made_from_the_dictionary(monkeypatch, tmp_path):
    eligible = words.eligible(store.read(words.FILE).decode())
    assert len(eligible) == 90_215
    monkeypatch.setattr(words, "_SAMPLE", tmp_path / "words.csv")
    words.main()
    assert [(r["word"], tuple(r["phonemes"].split())) for r in atomic.read_csv(tmp_path / "words.csv")] == [
        *words.sample()
    ]
