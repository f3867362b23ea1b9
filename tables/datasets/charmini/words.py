"""The words for CharMini's models.

English: 2,500 entries of CMUdict. Eligible are words of 4 to 9 letters a to z with one pronunciation of at most 10
phonemes, stress removed: 90,215 in all, in the order of a hash. The first 2,500 are `words.csv`, whose licence is in
`NOTICE.md`; `python -m hpo_envs.tables.datasets.charmini.words` recreates it from the dictionary.

Other languages: the entries of at most 9 letters and 10 phonemes in the files of SIGMORPHON 2020, task 1 (Gorman et al.
2020), which do not ship: `hpo-envs fetch charmini`. Letters are code points of the file, for Korean those of its
decomposed syllables. The first 1,500 training entries in the order of a hash, and all development and test entries, are
used as they are: the files list each word once, with one pronunciation. The alphabet is that of the training words and
one unknown letter. The phonemes are those of all entries, as in English: one that is in no training word is never
predicted.
"""

import collections
import functools
import hashlib
import itertools
import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path

from hpo_envs.tables import store
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.charmini import ENGLISH, SHARED_TASK, TRAINED_ON
from hpo_envs.tables.files import atomic

FILE = "cmudict/cmudict.dict"
"""The dictionary, below the data folder."""

FILES = {
    part: f"sigmorphon2020/{{}}_{short}.tsv"
    for part, short in (("train", "train"), ("development", "dev"), ("test", "test"))
}
"""Files of a language other than English, by part."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"
UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""Letter that stands for all letters that no training word has."""

_SAMPLE = Path(__file__).with_name("words.csv")
_SPLITS = {"train": TRAINED_ON, "development": 500, "test": 500}
_WORD = re.compile("[a-z]{4,9}")
_LETTERS, _PHONEMES = 9, 10
"""Largest numbers of letters and phonemes of an entry."""

Pronunciation = tuple[str, tuple[str, ...]]
"""A word and its phonemes."""


def eligible(dictionary: str) -> list[Pronunciation]:
    """Return the eligible words of the text of `cmudict.dict`, in the order of a hash.

    Each line has a word, followed by `(2)` for a second pronunciation, and phonemes.
    """
    pronunciations = collections.defaultdict(list)
    for line in dictionary.splitlines():
        word, *phonemes = line.partition(" #")[0].split()
        pronunciations[word.partition("(")[0]].append(tuple(p.rstrip("012") for p in phonemes))
    return _hashed(
        (word, known[0])
        for word, known in pronunciations.items()
        if _WORD.fullmatch(word) and len(known) == 1 and len(known[0]) <= _PHONEMES
    )


def listed(text: str, decompose: bool = False) -> list[Pronunciation]:
    """Return the short entries of the text of a file of the shared task, in its order.

    Each line has a word, a tab, and phonemes separated by spaces. With `decompose`, words are decomposed (NFD).
    """
    lines = (line.split("\t") for line in text.splitlines())
    entries = ((unicodedata.normalize("NFD", word) if decompose else word, spoken.split()) for word, spoken in lines)
    return [(w, tuple(spoken)) for w, spoken in entries if len(w) <= _LETTERS and len(spoken) <= _PHONEMES]


@functools.cache
def sample() -> tuple[Pronunciation, ...]:
    """The 2,500 English words in the order of their hash: training, development, test."""
    return tuple((row["word"], tuple(row["phonemes"].split())) for row in atomic.read_csv(_SAMPLE))


@functools.cache
def entries(language: str) -> Mapping[str, tuple[Pronunciation, ...]]:
    """Return the entries of a language by part: `train`, `development`, `test`.

    Raises:
        ValueError: The language is unknown.
        TableNotInstalled: The words do not ship, and their files are not in the data folder.
    """
    if one_of("language", language, (ENGLISH, *SHARED_TASK)) == ENGLISH:
        ends = [0, *itertools.accumulate(_SPLITS.values())]
        return {part: sample()[a:b] for part, a, b in zip(_SPLITS, ends, ends[1:], strict=False)}
    parts = {
        part: listed(store.read(file.format(language)).decode(), decompose=language == "kor")
        for part, file in FILES.items()
    }
    return {part: tuple(_hashed(e)[:TRAINED_ON] if part == "train" else e) for part, e in parts.items()}


def alphabet(language: str) -> str:
    """Return the letters of a language; the last one encodes unknown letters, except in English."""
    if language == ENGLISH:
        return LETTERS
    return "".join(sorted({letter for word, _ in entries(language)["train"] for letter in word})) + UNKNOWN


def phonemes(language: str = ENGLISH) -> tuple[str, ...]:
    """Return the phonemes of a language in alphabetical order."""
    return tuple(sorted({p for part in entries(language).values() for _, spoken in part for p in spoken}))


def _hashed(entries: Iterable[Pronunciation]) -> list[Pronunciation]:
    return sorted(entries, key=lambda entry: hashlib.sha256(entry[0].encode()).digest())


def main() -> None:
    """Recompute the sample from the installed dictionary and write it to `words.csv`."""
    chosen = eligible(store.read(FILE).decode())[: sum(_SPLITS.values())]
    atomic.write_csv(_SAMPLE, [{"word": word, "phonemes": " ".join(spoken)} for word, spoken in chosen])


if __name__ == "__main__":
    main()
