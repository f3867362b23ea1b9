"""Language identification from 25 characters of the Universal Declaration of Human Rights: 24 languages."""

import re

from hpo_envs.tables.datasets.textmini.readers import members
from hpo_envs.tables.datasets.textmini.tasks import Examples, TextTask, split

LANGUAGES = (
    "dan", "nob", "nno", "swe", "isl", "fao", "spa", "por_PT", "glg", "cat", "ast", "ita", "cos", "fur", "ces", "slk",
    "pol", "hrv", "slv", "nld", "afr", "zul", "xho", "ssw",
)  # fmt: skip

LENGTH = 25
"""Number of characters of a text."""


def read(archive: bytes) -> dict[str, Examples]:
    """Consecutive segments of the declaration in each language, with normalised white space, split by a hash."""
    texts, found = members(archive, "udhr2"), []
    for language in LANGUAGES:
        text = re.sub(r"\s+", " ", texts[f"{language}.txt"]).strip()
        found += [(text[i : i + LENGTH], language) for i in range(0, len(text) - LENGTH, LENGTH)]
    return split(found, 1200, 1200)


TASK = TextTask("classification", "mul", "texts", ("nltk_data/udhr2.zip",), read, (3000, 1200, 1200))
