"""Case of Russian nouns and adjectives, from their spelling (UniMorph, as in SIGMORPHON 2023)."""

import re

from hpo_envs.tables.datasets.textmini.tasks import Examples, TextTask, split

_CASE = re.compile(r"(?:N|ADJ);(NOM|GEN|DAT|ACC|INS|ESS)\(")


def read(train: bytes, development: bytes, test: bytes) -> dict[str, Examples]:
    """The forms of upstream's three parts, pooled and split by a hash, with one case each: the first listed."""
    cases: dict[str, str] = {}
    for line in b"\n".join((train, development, test)).decode().splitlines():
        features, _, form = line.partition("\t")[2].partition("\t")
        if found := _CASE.match(features):
            cases.setdefault(form, found[1])
    return split(cases.items(), 1200, 1200)


FILES = tuple(f"sigmorphon2023/rus.{part}" for part in ("trn", "dev", "tst"))
TASK = TextTask("classification", "rus", "texts", FILES, read, (3000, 1200, 1200))
