"""Punctuation restoration of Maltese text: the mark after each word (Universal Dependencies, MUDT)."""

from hpo_envs.tables.datasets.textmini.readers import Sentence, conllu
from hpo_envs.tables.datasets.textmini.tasks import TextTask

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


def read(train: bytes, development: bytes, test: bytes) -> dict[str, list[Sentence]]:
    """Texts of five sentences in upstream's parts, because the end of a sentence is predicted, too."""
    found: dict[str, list[Sentence]] = {}
    for name, content in {"train": train, "validation": development, "test": test}.items():
        sentences = [_unmarked(sentence) for sentence in conllu(content, 3)]
        fives = [[s for s in sentences[i : i + 5] if s[0]] for i in range(0, len(sentences), 5)]
        found[name] = [tuple(tuple(x for s in five for x in s[i]) for i in range(2)) for five in fives if five]  # type: ignore[misc]
    return found


FILES = tuple(f"ud/mt_mudt-ud-{part}.conllu" for part in ("train", "dev", "test"))
TASK = TextTask("tagging", "mlt", "spans", FILES, read, (15000, 6000, 6000))
