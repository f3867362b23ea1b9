"""Parts of speech of Nigerian Pidgin, spoken (Universal Dependencies, NSC)."""

from hpo_envs.tables.datasets.textmini.readers import conllu
from hpo_envs.tables.datasets.textmini.tasks import Examples, TextTask, split


def read(development: bytes, test: bytes) -> dict[str, Examples]:
    """Upstream's development part for training, one half of its test part for validation and one for testing."""
    unseen = list(conllu(test))
    return split(unseen, len(unseen) // 2, len(unseen) // 2) | {"train": list(conllu(development))}


FILES = ("ud/pcm_nsc-ud-dev.conllu", "ud/pcm_nsc-ud-test.conllu")
TASK = TextTask("tagging", "pcm", "tokens", FILES, read, (15000, 6000, 6000))
