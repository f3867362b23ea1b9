"""Gender of first names by the lists of Kantrowitz and Ross (1994); some names are on both."""

from hpo_envs.tables.datasets.textmini.readers import members
from hpo_envs.tables.datasets.textmini.tasks import Examples, TextTask, split


def read(archive: bytes) -> dict[str, Examples]:
    """The names of both lists, split by a hash."""
    texts = members(archive, "names")
    names = [(name.strip(), kind) for kind in ("female", "male") for name in texts[f"{kind}.txt"].split("\n")]
    return split([name for name in names if name[0]], 1200, 1200)


TASK = TextTask("classification", "eng", "texts", ("nltk_data/names.zip",), read, (3000, 1200, 1200))
