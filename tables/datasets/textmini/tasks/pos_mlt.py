"""Parts of speech of Maltese words (Universal Dependencies, MUDT)."""

from hpo_envs.tables.datasets.textmini.readers import Sentence, conllu
from hpo_envs.tables.datasets.textmini.tasks import TextTask


def read(train: bytes, development: bytes, test: bytes) -> dict[str, list[Sentence]]:
    """The sentences of each part of upstream's split."""
    parts = {"train": train, "validation": development, "test": test}
    return {part: list(conllu(content, 3)) for part, content in parts.items()}


FILES = tuple(f"ud/mt_mudt-ud-{part}.conllu" for part in ("train", "dev", "test"))
TASK = TextTask("tagging", "mlt", "tokens", FILES, read, (15000, 6000, 6000))
