"""Punctuation restoration of Maltese text: the mark after each word (Universal Dependencies, MUDT)."""

import itertools
from collections.abc import Iterator

from hpo_envs.tables.datasets.textmini.readers import Sentence, conllu
from hpo_envs.tables.datasets.textmini.tasks import TextTask, treebank, upstream

_NAMES = {",": "B-comma", ".": "B-stop", "?": "B-stop", "!": "B-stop", ";": "B-stop", ":": "B-stop"}


def _unmarked(sentence: Sentence) -> Sentence:
    words: list[str] = []
    tags: list[str] = []
    for word, part in zip(*sentence, strict=True):
        if part != "PUNCT":
            words.append(word)
            tags.append("O")
        elif tags and word in _NAMES:
            tags[-1] = _NAMES[word]
    return tuple(words), tuple(tags)


def texts(content: bytes) -> Iterator[Sentence]:
    """Yield texts of up to five sentences, with the mark after each word; ends of sentences are predicted, too."""
    sentences = [_unmarked(sentence) for sentence in conllu(content)]
    for i in range(0, len(sentences), 5):
        if five := [sentence for sentence in sentences[i : i + 5] if sentence[0]]:
            words, tags = (tuple(itertools.chain(*part)) for part in zip(*five, strict=True))
            yield words, tags


TASK = TextTask("tagging", "mlt", "spans", treebank("mt_mudt"), upstream(texts), (15000, 6000, 6000))
