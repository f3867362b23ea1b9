from __future__ import annotations

import numpy as np

from hpo_envs.tables.datasets.charmini.training.batches import Packed, Sizes, corpus, encoded
from hpo_envs.tables.datasets.charmini.words import LETTERS, UNKNOWN, phonemes, sample


def test_english_parts_are_the_sample_in_order():
    sizes, parts = corpus("eng")
    assert sizes == Sizes(26, 39)
    assert sizes.symbols == 40
    assert {name: len(words) for name, words in parts.items()} == {"train": 1500, "development": 500, "test": 500}
    words, (word, spoken) = parts["development"], sample()[1500]
    assert "".join(LETTERS[i] for i in words.letters[0, : words.spelled[0]]) == word
    assert tuple(phonemes()[i] for i in words.phonemes[0, : words.spoken[0]]) == spoken
    assert (words.phonemes[0, words.spoken[0] :] == 39).all()
    assert len(words[np.array([3, 1])]) == 2


def test_letters_beyond_the_alphabet_are_the_unknown_letter():
    parts = {"train": [("ab", ("x",)), ("b", ("y", "x"))], "test": [("cbd", ("x", "y", "z"))]}
    sizes, encoded_parts = encoded(parts, "ab" + UNKNOWN, ("x", "y", "z"))
    assert sizes == Sizes(3, 3)
    assert encoded_parts["test"].letters.tolist() == [[2, 1, 2]]
    assert encoded_parts["train"].letters.tolist() == [[0, 1], [1, 3]]
    assert encoded_parts["train"].phonemes.tolist() == [[0, 3], [1, 0]]
    assert encoded_parts["train"].spoken.tolist() == [1, 2]


def test_packed_symbols_come_step_by_step_and_mirror_reverses_each_sequence():
    padded = np.array([[1, 2, 9], [3, 4, 5], [6, 9, 9]])
    packed = Packed(np.array([2, 3, 1]))
    flat = packed.pack(padded)
    assert packed.sizes == [3, 2, 1]
    assert flat.tolist() == [3, 1, 6, 4, 2, 5]
    assert flat[packed.mirror].tolist() == [5, 2, 6, 4, 1, 3]
    assert np.where(packed.inside, flat[packed.place], 0).tolist() == [[3, 4, 5], [1, 2, 0], [6, 0, 0]]
