"""Sentences of plots or of reviews of films: objective or subjective (Pang and Lee 2004)."""

from hpo_envs.tables.datasets.textmini.readers import members
from hpo_envs.tables.datasets.textmini.tasks import Examples, TextTask, split


def read(archive: bytes) -> dict[str, Examples]:
    """The sentences of both classes, split by a hash."""
    texts = members(archive, "subjectivity", "latin-1")
    files = {"objective": "plot.tok.gt9.5000", "subjective": "quote.tok.gt9.5000"}
    lines = [(line.strip(), kind) for kind, file in files.items() for line in texts[file].split("\n")]
    return split([line for line in lines if line[0]], 1200, 1200)


TASK = TextTask("classification", "eng", "texts", ("nltk_data/subjectivity.zip",), read, (3000, 1200, 1200))
