"""The words that CharMini's models learn to pronounce: 2,500 entries of CMUdict.

Words of the letters a to z, 4 to 9 of them, with one pronunciation of at most 10 phonemes, stress removed: 90,215 in
all, in the order of a hash. The first 2,500 are `words.csv`, whose licence is in `NOTICE.md`;
`python -m hpo_envs.tables.datasets.charmini.words` makes it again from the dictionary.
"""

from __future__ import annotations

import collections
import functools
import hashlib
import re
from pathlib import Path

from hpo_envs.tables.datasets.charmini.names import SPLITS
from hpo_envs.tables.files import atomic

FILE = "cmudict/cmudict.dict"
"""The dictionary, below the data folder."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SAMPLE = Path(__file__).with_name("words.csv")
_WORD = re.compile("[a-z]{4,9}")
_LONGEST = 10

Entry = tuple[str, tuple[str, ...]]
"""A word and its phonemes."""


def eligible(dictionary: str) -> list[Entry]:
    """The words of CMUdict that the sample is drawn from, in the order of a hash.

    Args:
        dictionary: Text of `cmudict.dict`: a word, `(2)` after it for a second pronunciation, and phonemes a line.
    """
    pronunciations = collections.defaultdict(list)
    for line in dictionary.splitlines():
        word, *phonemes = line.partition(" #")[0].split()
        pronunciations[word.partition("(")[0]].append(tuple(p.rstrip("012") for p in phonemes))
    kept = [
        (word, known[0])
        for word, known in pronunciations.items()
        if _WORD.fullmatch(word) and len(known) == 1 and len(known[0]) <= _LONGEST
    ]
    return sorted(kept, key=lambda entry: hashlib.sha256(entry[0].encode()).digest())


@functools.cache
def sample() -> tuple[Entry, ...]:
    """The 2,500 words in the order of their hash: training, development, test."""
    return tuple((row["word"], tuple(row["phonemes"].split())) for row in atomic.read_csv(_SAMPLE))


def phonemes() -> tuple[str, ...]:
    """The 39 phonemes in alphabetical order."""
    return tuple(sorted({p for _, spoken in sample() for p in spoken}))


def main() -> None:
    """Makes the sample again from the installed dictionary."""
    from hpo_envs.tables import store

    chosen = eligible(store.read(FILE).decode())[: sum(SPLITS.values())]
    atomic.write_csv(_SAMPLE, [{"word": word, "phonemes": " ".join(spoken)} for word, spoken in chosen])


if __name__ == "__main__":
    main()
