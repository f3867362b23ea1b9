"""Words as arrays, and batches of them packed for recurrent and attentive layers."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpo_envs.tables.datasets.charmini.names import SPLITS
from hpo_envs.tables.datasets.charmini.words import LETTERS, phonemes, sample

Ints = npt.NDArray[np.int64]

SYMBOLS = 40
"""39 phonemes, and `BOUNDARY`: what a pronunciation is begun and ended with."""

BOUNDARY = 39


@dataclass(frozen=True)
class Words:
    """Words and pronunciations, padded with `BOUNDARY`.

    Attributes:
        letters: (words, longest) letters, 0 to 25.
        spelled: (words,) numbers of letters.
        phonemes: (words, longest) phonemes, 0 to 38.
        spoken: (words,) numbers of phonemes.
    """

    letters: Ints
    spelled: Ints
    phonemes: Ints
    spoken: Ints

    def __len__(self) -> int:
        return len(self.spelled)

    def __getitem__(self, rows: slice | Ints) -> Words:
        return Words(self.letters[rows], self.spelled[rows], self.phonemes[rows], self.spoken[rows])


@functools.cache
def split(name: str) -> Words:
    """The words of a part: `train`, `development` or `test`."""
    code = {p: i for i, p in enumerate(phonemes())}
    entries = sample()
    letters = _padded([[LETTERS.index(letter) for letter in word] for word, _ in entries])
    sounds = _padded([[code[p] for p in spoken] for _, spoken in entries])
    whole = Words(letters, _lengths([w for w, _ in entries]), sounds, _lengths([s for _, s in entries]))
    ends = np.cumsum([0, *SPLITS.values()])
    at = [*SPLITS].index(name)
    return whole[slice(ends[at], ends[at + 1])]


def _lengths(sequences: list) -> Ints:
    return np.array([len(s) for s in sequences])


def _padded(sequences: list[list[int]]) -> Ints:
    out = np.full((len(sequences), max(map(len, sequences))), BOUNDARY)
    for row, symbols in zip(out, sequences, strict=True):
        row[: len(symbols)] = symbols
    return out


class Packed:
    """How sequences of several lengths are packed: the first symbols of all, then the second of those that have one.

    Args:
        lengths: (n,) lengths, at least 1.

    Attributes:
        order: (n,) the sequences, longest first: `words` and `place` count in this order.
        sizes: Sequences that have a first, second, ... symbol.
        words: (symbols,) sequence of each packed symbol.
        steps: (symbols,) its position there.
        place: (n, longest) where a symbol is packed; 0 beyond a sequence's end.
        inside: (n, longest) whether there is a symbol.
        mirror: (symbols,) where the symbol is packed that stands there in the reversed sequence.
    """

    def __init__(self, lengths: Ints) -> None:
        self.order = np.argsort(-lengths, kind="stable")
        lengths = lengths[self.order]
        inside = np.arange(lengths[0])[:, None] < lengths
        place = np.where(inside, inside.ravel().cumsum().reshape(inside.shape) - 1, 0)
        self.sizes: list[int] = inside.sum(axis=1).tolist()
        self.steps, self.words = np.nonzero(inside)
        self.mirror = place[lengths[self.words] - 1 - self.steps, self.words]
        self.place, self.inside = np.ascontiguousarray(place.T), np.ascontiguousarray(inside.T)

    def pack(self, padded: Ints) -> Ints:
        """(symbols,) of (n, longest or more) padded sequences."""
        packed: Ints = padded[self.order][self.words, self.steps]
        return packed
