"""Tones of Vietnamese syllables written without tone marks (Universal Dependencies, VTB)."""

import unicodedata
from collections.abc import Iterator

from hpo_envs.tables.datasets.textmini.readers import Sentence, conllu
from hpo_envs.tables.datasets.textmini.tasks import TextTask, treebank, upstream

_MARKS = {"\u0300": "falling", "\u0301": "rising", "\u0303": "broken", "\u0309": "dipping", "\u0323": "heavy"}


def _bare(syllable: str) -> tuple[str, str]:
    """Return a syllable without its tone mark, and the name of its tone, `level` if it has no mark."""
    letters = unicodedata.normalize("NFD", syllable)
    tone = next((_MARKS[letter] for letter in letters if letter in _MARKS), "level")
    return unicodedata.normalize("NFC", "".join(letter for letter in letters if letter not in _MARKS)), tone


def syllables(content: bytes) -> Iterator[Sentence]:
    """The bare syllables of sentences, with their tones."""
    for words, _ in conllu(content):
        bare, tones = zip(*(_bare(syllable) for word in words for syllable in word.split()), strict=True)
        yield bare, tones


TASK = TextTask("tagging", "vie", "tokens", treebank("vi_vtb"), upstream(syllables), (15000, 6000, 6000))
