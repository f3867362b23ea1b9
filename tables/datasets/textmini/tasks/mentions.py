"""Detection of messages in social media that mention a named entity (WNUT17)."""

from hpo_envs.tables.datasets.textmini.readers import columns
from hpo_envs.tables.datasets.textmini.tasks import Examples, TextTask


def read(train: bytes, development: bytes, test: bytes) -> dict[str, Examples]:
    """The messages with `yes` or `no`, in upstream's parts."""

    def messages(content: bytes) -> Examples:
        return [(" ".join(words), "no" if set(tags) <= {"O"} else "yes") for words, tags in columns(content)]

    return {"train": messages(train), "validation": messages(development), "test": messages(test)}


FILES = ("wnut17/wnut17train.conll", "wnut17/emerging.dev.conll", "wnut17/emerging.test.annotated")
TASK = TextTask("classification", "eng", "texts", FILES, read, (3000, 1000, 1200))
