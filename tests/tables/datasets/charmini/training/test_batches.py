from __future__ import annotations

import numpy as np

from hpo_envs.tables.datasets.charmini.names import SPLITS
from hpo_envs.tables.datasets.charmini.training.batches import BOUNDARY, Packed, split
from hpo_envs.tables.datasets.charmini.words import LETTERS, phonemes, sample


def test_parts_are_the_sample_in_order():
    assert {name: len(split(name)) for name in SPLITS} == SPLITS
    words, (word, spoken) = split("development"), sample()[1500]
    assert "".join(LETTERS[i] for i in words.letters[0, : words.spelled[0]]) == word
    assert tuple(phonemes()[i] for i in words.phonemes[0, : words.spoken[0]]) == spoken
    assert (words.phonemes[0, words.spoken[0] :] == BOUNDARY).all()
    assert len(words[np.array([3, 1])]) == 2


def test_packed_symbols_come_step_by_step_and_mirror_reverses_each_sequence():
    padded = np.array([[1, 2, 9], [3, 4, 5], [6, 9, 9]])
    packed = Packed(np.array([2, 3, 1]))
    flat = packed.pack(padded)
    assert packed.sizes == [3, 2, 1]
    assert flat.tolist() == [3, 1, 6, 4, 2, 5]
    assert flat[packed.mirror].tolist() == [5, 2, 6, 4, 1, 3]
    assert np.where(packed.inside, flat[packed.place], 0).tolist() == [[3, 4, 5], [1, 2, 0], [6, 0, 0]]
