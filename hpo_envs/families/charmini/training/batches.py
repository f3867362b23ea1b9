"""Words as arrays, packed batches for recurrent and attention layers, and phoneme errors."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hpo_envs.tables import Ints
from hpo_envs.tables.datasets.charmini.words import alphabet, entries, phonemes

SymbolPairs = Sequence[tuple[Sequence[str], Sequence[str]]]
"""Pairs of input and output symbols, such as letters and phonemes."""


class Sizes(NamedTuple):
    """Sizes of the inputs and outputs of a model.

    Attributes:
        letters: Number of letters in the alphabet.
        phonemes: Number of phonemes; the boundary, with which a pronunciation begins and ends, is the next symbol.
    """

    letters: int
    phonemes: int

    @property
    def symbols(self) -> int:
        """Number of output symbols: the phonemes and the boundary."""
        return self.phonemes + 1


@dataclass(frozen=True)
class PaddedWords:
    """Words and pronunciations, padded with the boundary.

    Attributes:
        letters: (words, longest) indices of letters.
        spelled: (words,) numbers of letters.
        phonemes: (words, longest) indices of phonemes.
        spoken: (words,) numbers of phonemes.
    """

    letters: Ints
    spelled: Ints
    phonemes: Ints
    spoken: Ints

    def __len__(self) -> int:
        return len(self.spelled)

    def __getitem__(self, rows: slice | Ints) -> PaddedWords:
        return PaddedWords(self.letters[rows], self.spelled[rows], self.phonemes[rows], self.spoken[rows])


class Corpus(NamedTuple):
    """Words and pronunciations as arrays, by part such as `train`, and the numbers of letters and phonemes."""

    sizes: Sizes
    parts: Mapping[str, PaddedWords]


@functools.cache
def corpus(language: str) -> Corpus:
    """Return the words of a language.

    Raises:
        TableNotInstalled: The words do not ship, and their files are not in the data folder.
    """
    return encoded(entries(language), alphabet(language), phonemes(language))


def encoded(parts: Mapping[str, SymbolPairs], letters: Sequence[str], sounds: Sequence[str]) -> Corpus:
    """Return words and pronunciations as arrays of indices.

    Args:
        parts: Entries of each part.
        letters: The alphabet; its last letter encodes unknown ones.
        sounds: The phonemes.
    """
    code, sound = ({symbol: i for i, symbol in enumerate(symbols)} for symbols in (letters, sounds))
    sizes = Sizes(len(letters), len(sounds))
    return Corpus(
        sizes,
        {
            name: PaddedWords(
                _padded([[code.get(letter, len(letters) - 1) for letter in word] for word, _ in part], sizes.phonemes),
                np.array([len(word) for word, _ in part]),
                _padded([[sound[p] for p in spoken] for _, spoken in part], sizes.phonemes),
                np.array([len(spoken) for _, spoken in part]),
            )
            for name, part in parts.items()
        },
    )


def _padded(sequences: list[list[int]], boundary: int) -> Ints:
    out = np.full((len(sequences), max(map(len, sequences))), boundary)
    for row, symbols in zip(out, sequences, strict=True):
        row[: len(symbols)] = symbols
    return out


class Packed:
    """Packed sequences: all first symbols, then all second ones, and so on.

    Args:
        lengths: (n,) lengths, at least 1.

    Attributes:
        order: (n,) indices of the sequences, longest first; `words`, `place` and `inside` refer to this order.
        sizes: Numbers of sequences with a first, second, ... symbol.
        words: (symbols,) sequence of each packed symbol.
        steps: (symbols,) position of each packed symbol in its sequence.
        place: (n, longest) packed index of each symbol; 0 beyond a sequence's end.
        inside: (n, longest) whether there is a symbol.
        mirror: (symbols,) packed index of the symbol at the same position of the reversed sequence.
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
        """Pack (n, longest or more) padded sequences to (symbols,)."""
        return padded[self.order][self.words, self.steps]


def distances(a: Ints, b: Ints, boundary: int) -> Ints:
    """Return (n,) edit distances between rows that are padded with the boundary.

    Args:
        a: (n, i) symbols.
        b: (n, j) symbols.
        boundary: The padding symbol.
    """
    ends_a, ends_b = (a != boundary).sum(axis=1), (b != boundary).sum(axis=1)
    table = np.empty((a.shape[1] + 1, b.shape[1] + 1, len(a)), np.int64)
    table[:, 0], table[0] = np.arange(a.shape[1] + 1)[:, None], np.arange(b.shape[1] + 1)[:, None]
    for i in range(a.shape[1]):
        kept = table[i, :-1] + (a[:, i] != b.T)
        np.minimum(kept, table[i, 1:] + 1, out=table[i + 1, 1:])
        for j in range(b.shape[1]):
            np.minimum(table[i + 1, j + 1], table[i + 1, j] + 1, out=table[i + 1, j + 1])
    return np.asarray(table[ends_a, ends_b, np.arange(len(a))])
