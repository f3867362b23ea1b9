"""Han et al. 2021: translations with human scores."""

PAIRS = tuple(f"{test_set}-{pair}" for test_set in ("ted", "newstest2020", "newstest2021") for pair in ("ende", "zhen"))
"""Test set and language pair, as in ids."""

LABELS = ("mqm", "psqm", "mqm-edited")
"""Kinds of human labels; `mqm-edited` has the translations with the edits that raters of newstest2020 made."""

TED = {"cushlepor/ted-ende": "A", "cushlepor/ted-zhen": "B", "cushlepor/ted-zhen-a": "A"}
"""Tables of TED talks -> their reference: A is `ref` in upstream's files, B `refB`."""

NEWS = tuple(
    f"cushlepor/newstest{labels}"
    for labels in (
        "2020-ende-psqm", "2020-ende-mqm", "2020-ende-mqm-edited", "2020-zhen-psqm", "2020-zhen-mqm",
        "2020-zhen-mqm-edited", "2021-ende-mqm", "2021-zhen-mqm",
    )
)  # fmt: skip
"""Tables of news, scored against the first reference."""

TABLES = (*TED, *NEWS)
"""Names of the tables."""

HELD_OUT = dict.fromkeys(TED, ("talk.7", "talk.9")) | {"cushlepor/ted-ende": ("talk.5", "talk.6")}
"""Table -> documents that no reward uses by default: 229 of 529 segments of each system; for news, `build.hold_out`."""

SPLITS = ("train", "held-out")


def table(pair: str, labels: str, reference: str) -> str:
    """Name of the table of a pair (of `PAIRS`) with labels (of `LABELS`) and a reference."""
    if not pair.startswith("ted-") or labels != "mqm":
        return f"cushlepor/{pair}-{labels}"
    return f"cushlepor/{pair}" if reference == references(pair)[0] else f"cushlepor/{pair}-{reference.lower()}"


def references(pair: str) -> tuple[str, ...]:
    """Return the names of the references that a pair can be scored against, the default first."""
    return ("B", "A") if pair == "ted-zhen" else ("A",)
