"""Named entities of six kinds in social media (WNUT17, Derczynski et al. 2017)."""

from hpo_envs.tables.datasets.textmini.readers import Sentence, columns
from hpo_envs.tables.datasets.textmini.tasks import TextTask


def read(train: bytes, development: bytes, test: bytes) -> dict[str, list[Sentence]]:
    """The posts, in upstream's parts."""
    parts = {"train": train, "validation": development, "test": test}
    return {part: list(columns(content)) for part, content in parts.items()}


FILES = ("wnut17/wnut17train.conll", "wnut17/emerging.dev.conll", "wnut17/emerging.test.annotated")
TASK = TextTask("tagging", "eng", "spans", FILES, read, (40000, 16000, 24000))
