"""Detection of messages in social media that mention a named entity (WNUT17)."""

from hpo_envs.tables.datasets.textmini.readers import columns
from hpo_envs.tables.datasets.textmini.tasks import TextTask, upstream
from hpo_envs.tables.datasets.textmini.tasks.entities import FILES


def messages(content: bytes) -> list[tuple[str, str]]:
    """Return the messages of a file, each with `yes` if it mentions an entity, else `no`."""
    return [(" ".join(words), "no" if set(tags) <= {"O"} else "yes") for words, tags in columns(content)]


TASK = TextTask("classification", "eng", "texts", FILES, upstream(messages), (3000, 1000, 1200))
