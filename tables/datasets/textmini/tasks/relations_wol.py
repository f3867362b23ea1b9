"""Dependency labels of Wolof words (Universal Dependencies, WTB)."""

from hpo_envs.tables.datasets.textmini.readers import Sentence, conllu
from hpo_envs.tables.datasets.textmini.tasks import TextTask


def read(train: bytes, development: bytes, test: bytes) -> dict[str, list[Sentence]]:
    """The sentences, in upstream's parts."""
    parts = {"train": train, "validation": development, "test": test}
    return {part: list(conllu(content, 7)) for part, content in parts.items()}


FILES = tuple(f"ud/wo_wtb-ud-{part}.conllu" for part in ("train", "dev", "test"))
TASK = TextTask("tagging", "wol", "tokens", FILES, read, (15000, 6000, 6000))
