"""One code for each language of all families: ISO 639-2/B, by which most sources name theirs.

What a table's language is decides which agents may not have learned from it, so one language must have one code.
"""

from __future__ import annotations

from collections.abc import Iterable

ALIASES = {
    "arm_e": "arm",  # SIGMORPHON 2021: Eastern Armenian
    "rom": "rum",  # SIGMORPHON 2017: Romanian; ISO 639's `rom` is Romani, of which there is no table
    **{"ar": "ara", "bg": "bul", "ca": "cat", "el": "gre", "en": "eng", "fr": "fre", "ga": "gle", "hi": "hin"},
    **{"hu": "hun", "hy": "arm", "is": "ice", "ja": "jpn", "ka": "geo", "ko": "kor", "lt": "lit", "nl": "dut"},
    **{"ro": "rum", "ru": "rus", "so": "som", "sq": "alb", "sw": "swa", "vi": "vie", "zh": "chi"},
    **{"ell": "gre", "fra": "fre", "hye": "arm", "isl": "ice", "kat": "geo", "nld": "dut", "ron": "rum"},
    **{"sqi": "alb", "zho": "chi"},
}
"""Other codes of the families' languages: upstream's, ISO 639-1, and ISO 639-2/T."""


def canonical(code: str) -> str:
    """Return the code of a language, whichever of its codes is given; a code of no family's language as it is."""
    return ALIASES.get(code, code)


def overlap(some: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the languages that are in both, sorted, whichever of their codes each has."""
    return sorted(set(map(canonical, some)) & set(map(canonical, others)))
