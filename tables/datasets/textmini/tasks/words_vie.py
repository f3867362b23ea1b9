"""Word segmentation of Vietnamese text: the first syllable of each word (Universal Dependencies, VTB)."""

from hpo_envs.tables.datasets.textmini.readers import Sentence, conllu
from hpo_envs.tables.datasets.textmini.tasks import TextTask


def _syllables(sentence: Sentence) -> Sentence:
    words = [word.split() for word in sentence[0]]
    tags = ["I" if i else "B" for word in words for i in range(len(word))]
    return tuple(syllable for word in words for syllable in word), tuple(tags)


def read(train: bytes, development: bytes, test: bytes) -> dict[str, list[Sentence]]:
    """The syllables of the sentences, `B` at the beginning of a word, else `I`, in upstream's parts."""
    parts = {"train": train, "validation": development, "test": test}
    return {part: [_syllables(sentence) for sentence in conllu(content, 3)] for part, content in parts.items()}


FILES = tuple(f"ud/vi_vtb-ud-{part}.conllu" for part in ("train", "dev", "test"))
TASK = TextTask("tagging", "vie", "spans", FILES, read, (15000, 6000, 6000))
