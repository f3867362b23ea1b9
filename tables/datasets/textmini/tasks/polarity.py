"""Positive or negative sentences of film reviews (Pang and Lee 2005)."""

from hpo_envs.tables.datasets.textmini.readers import members
from hpo_envs.tables.datasets.textmini.tasks import Examples, TextTask, split


def read(archive: bytes) -> dict[str, Examples]:
    """The sentences of both classes, split by a hash."""
    texts = members(archive, "sentence_polarity")
    lines = [(line.strip(), kind) for kind in ("neg", "pos") for line in texts[f"rt-polarity.{kind}"].split("\n")]
    return split([line for line in lines if line[0]], 1200, 1200)


TASK = TextTask("classification", "eng", "texts", ("nltk_data/sentence_polarity.zip",), read, (3000, 1200, 1200))
