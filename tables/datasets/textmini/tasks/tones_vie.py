"""Tones of Vietnamese syllables written without tone marks (Universal Dependencies, VTB)."""

import unicodedata

from hpo_envs.tables.datasets.textmini.readers import Sentence, conllu
from hpo_envs.tables.datasets.textmini.tasks import TextTask

_MARKS = {"\u0300": "falling", "\u0301": "rising", "\u0303": "broken", "\u0309": "dipping", "\u0323": "heavy"}


def _bare(syllable: str) -> tuple[str, str]:
    """A syllable without its tone mark, and its tone."""
    letters = unicodedata.normalize("NFD", syllable)
    tone = next((_MARKS[letter] for letter in letters if letter in _MARKS), "level")
    return unicodedata.normalize("NFC", "".join(letter for letter in letters if letter not in _MARKS)), tone


def _syllables(sentence: Sentence) -> Sentence:
    bare, tones = zip(*(_bare(syllable) for word in sentence[0] for syllable in word.split()), strict=True)
    return bare, tones


def read(train: bytes, development: bytes, test: bytes) -> dict[str, list[Sentence]]:
    """The bare syllables of the sentences with their tones, in upstream's parts."""
    parts = {"train": train, "validation": development, "test": test}
    return {part: [_syllables(sentence) for sentence in conllu(content, 3)] for part, content in parts.items()}


FILES = tuple(f"ud/vi_vtb-ud-{part}.conllu" for part in ("train", "dev", "test"))
TASK = TextTask("tagging", "vie", "tokens", FILES, read, (15000, 6000, 6000))
