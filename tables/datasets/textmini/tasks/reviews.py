"""Sentences of product reviews: positive, negative or without an opinion (Hu and Liu 2004)."""

import re

from hpo_envs.tables.datasets.textmini.readers import members
from hpo_envs.tables.datasets.textmini.tasks import Examples, TextTask, split

_OPINION = re.compile(r"\[([+-]\d)\]")


def read(archive: bytes) -> dict[str, Examples]:
    """Split the sentences by a hash; a class is the sign of the sum of opinions on features, `none` if it is 0."""
    found = []
    for name, text in members(archive, "product_reviews_1", "latin-1").items():
        for line in () if name == "README.txt" else text.split("\n"):
            features, mark, sentence = line.partition("##")
            if mark and sentence.strip():
                total = sum(int(sign) for sign in _OPINION.findall(features))
                found.append((sentence.strip(), "positive" if total > 0 else "negative" if total < 0 else "none"))
    return split(found, 900, 900)


TASK = TextTask("classification", "eng", "texts", ("nltk_data/product_reviews_1.zip",), read, (4000, 900, 900))
