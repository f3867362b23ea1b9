"""Word segmentation of Vietnamese text: the first syllable of each word (Universal Dependencies, VTB)."""

from collections.abc import Iterator

from hpo_envs.tables.datasets.textmini.readers import Sentence, conllu
from hpo_envs.tables.datasets.textmini.tasks import TextTask, treebank, upstream


def syllables(content: bytes) -> Iterator[Sentence]:
    """The syllables of sentences, `B` at the beginning of a word, else `I`."""
    for sentence, _ in conllu(content):
        words = [word.split() for word in sentence]
        tags = tuple("I" if i else "B" for word in words for i in range(len(word)))
        yield tuple(syllable for word in words for syllable in word), tags


TASK = TextTask("tagging", "vie", "spans", treebank("vi_vtb"), upstream(syllables), (15000, 6000, 6000))
