"""Inflected forms of words (UniMorph, SIGMORPHON 2023 shared task), as edits of the lemma."""

from hpo_envs.tables.datasets.textmini.readers import inflections
from hpo_envs.tables.datasets.textmini.tasks import Examples, TextTask


def read(train: bytes, development: bytes, test: bytes) -> dict[str, Examples]:
    """Forms in upstream's parts, which share no lemmas."""
    parts = {"train": train, "validation": development, "test": test}
    return {part: list(inflections(content)) for part, content in parts.items()}


def task(language: str) -> TextTask:
    """The inflection task of a language."""
    files = tuple(f"sigmorphon2023/{language}.{part}" for part in ("trn", "dev", "tst"))
    return TextTask("inflection", language, "forms", files, read, (1000, 400, 400))
