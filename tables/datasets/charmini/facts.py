"""Statistics of the words of each language, which ship even if the words do not.

`python -m hpo_envs.tables.datasets.charmini.facts` recomputes them from the installed files.
"""

import functools
from pathlib import Path
from typing import NamedTuple

from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.charmini import ENGLISH, SHARED_TASK
from hpo_envs.tables.datasets.charmini.words import alphabet, entries, phonemes
from hpo_envs.tables.files import atomic

_FILE = Path(__file__).with_name("languages.csv")


class Facts(NamedTuple):
    """Statistics of the words of a language.

    Attributes:
        letters: Number of letters in the alphabet, including the unknown one (not in English).
        phonemes: Number of phonemes.
        development: Number of development words.
        test: Number of test words.
        development_phonemes: Total number of phonemes of the development words.
        test_phonemes: Total number of phonemes of the test words.
        word: Mean number of letters of all words, to one decimal.
        pronunciation: Mean number of phonemes of a pronunciation, including the end, to two decimals.
    """

    letters: int
    phonemes: int
    development: int
    test: int
    development_phonemes: int
    test_phonemes: int
    word: float
    pronunciation: float


def of(language: str) -> Facts:
    """Return the statistics of a language; ValueError if it is unknown."""
    return _read()[one_of("language", language, tuple(_read()))]


@functools.cache
def _read() -> dict[str, Facts]:
    rows = {row.pop("language"): row for row in atomic.read_csv(_FILE)}
    return {
        language: Facts(**{name: (float if "." in value else int)(value) for name, value in row.items()})  # type: ignore[arg-type]
        for language, row in rows.items()
    }


def counted(language: str) -> Facts:
    """Compute the statistics from the words of a language.

    Raises:
        ValueError: The language is unknown.
        TableNotInstalled: The words do not ship, and their files are not in the data folder.
    """
    parts = entries(language)
    every = [entry for part in parts.values() for entry in part]
    sounds = {part: sum(len(spoken) for _, spoken in parts[part]) for part in ("development", "test")}
    return Facts(
        len(alphabet(language)), len(phonemes(language)), len(parts["development"]), len(parts["test"]),
        sounds["development"], sounds["test"], round(sum(len(word) for word, _ in every) / len(every), 1),
        round(sum(len(spoken) + 1 for _, spoken in every) / len(every), 2),
    )  # fmt: skip


def main() -> None:
    """Recompute the statistics of all languages and write them to `languages.csv`."""
    languages = (ENGLISH, *SHARED_TASK)
    atomic.write_csv(_FILE, [{"language": code} | counted(code)._asdict() for code in languages])


if __name__ == "__main__":
    main()
