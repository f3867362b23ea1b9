"""Constants of the translations with human scores: table names, systems, documents, splits. Imports nothing."""

from __future__ import annotations

PAIRS = tuple(f"{test_set}-{pair}" for test_set in ("ted", "newstest2020", "newstest2021") for pair in ("ende", "zhen"))
"""Test set and language pair, as in ids."""

LABELS = ("mqm", "psqm")
"""How humans judged."""

TED = ("cushlepor/ted-ende", "cushlepor/ted-zhen")
"""Test sets of TED talks."""

REFERENCES = {"cushlepor/ted-ende": ("A",), "cushlepor/ted-zhen": ("A", "B")}
"""References of the TED talks."""

NEWS = {
    "cushlepor/newstest2020-ende-psqm": (7, 1418),
    "cushlepor/newstest2020-ende-mqm": (7, 1418),
    "cushlepor/newstest2020-zhen-psqm": (8, 2000),
    "cushlepor/newstest2020-zhen-mqm": (8, 2000),
    "cushlepor/newstest2021-ende-mqm": (13, 527),
    "cushlepor/newstest2021-zhen-mqm": (13, 650),
}
"""Test sets of news -> systems without references, and segments rated of each."""

TABLES = (*TED, *NEWS)
"""Names of the tables."""

HELD_OUT = {"cushlepor/ted-ende": ("talk.5", "talk.6"), "cushlepor/ted-zhen": ("talk.7", "talk.9")}
"""Documents that no reward sees: 229 of 529 segments of each system; of news the last ones, about 40 %."""

SPLITS = ("train", "held-out")

SYSTEMS = 13
"""Systems of the TED talks."""

DOCUMENTS = {
    "cushlepor/ted-ende": {"talk.1": 140, "talk.3": 31, "talk.4": 129, "talk.5": 70, "talk.6": 159},
    "cushlepor/ted-zhen": {"talk.2": 140, "talk.5": 31, "talk.6": 129, "talk.7": 70, "talk.9": 159},
}
"""Documents of the TED talks -> their segments."""

STORY = 12
"""Segments of a document of the embedded news."""


def shape(table: str) -> tuple[int, dict[str, int]]:
    """Systems of an embedded table, and its documents with their segments."""
    if table in DOCUMENTS:
        return SYSTEMS, DOCUMENTS[table]
    systems, segments = NEWS[table]
    starts = range(0, segments, STORY)
    return systems, {f"doc.{i + 1:03}": min(STORY, segments - start) for i, start in enumerate(starts)}
