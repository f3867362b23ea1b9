"""Inflected forms of words (UniMorph, SIGMORPHON 2023 shared task), as edits of the lemma."""

from hpo_envs.tables.datasets.textmini.readers import inflections
from hpo_envs.tables.datasets.textmini.tasks import TextTask, upstream


def task(language: str) -> TextTask:
    """The inflection task of a language; the parts share no lemmas."""
    files = tuple(f"sigmorphon2023/{language}.{part}" for part in ("trn", "dev", "tst"))
    return TextTask("inflection", language, "forms", files, upstream(inflections), (1000, 400, 400))
