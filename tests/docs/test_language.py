"""Phrases that are never right, in documentation, docstrings, help and messages; the glossary."""

import re
from pathlib import Path

import pytest

from tests.helpers import ROOT

NEVER = {
    "side by side": "vectorized, batched",
    "told apart": "significantly different",
    "cannot be told": "inconclusive",
    "may be best": "tied for best",
    "others like these": "across tasks",
    "environments like these": "across tasks",
    "on others": "across tasks",
    "let go": "removed",
    "lets go": "removes",
    "middling": "median",
    "that there is": "the noun alone",
    "best there is": "best known",
    "of one's own": "custom, own",
    "of yours": "your",
    "makes a mess": "fails",
    "swells": "exceeds its limit",
    "dearest": "most expensive",
    "on its way": "pending",
    "on their way": "pending",
    "under way": "in flight",
    "results are out": "pending",
    "what was spent": "budget used",
    "embedded table": "table",
    "contestant": "entrant",
    "says nothing about": "does not generalise to",
    "trained anew": "retrained",
    "made anew": "recomputed",
}
"""Phrase -> what to write instead."""

FOLDERS = ("agents", "benchmarks", "hpo_envs", "tables", "docs")
FILES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(p for folder in FOLDERS for kind in ("*.py", "*.md", "*.html", "*.js") for p in (ROOT / folder).rglob(kind)),
]

DECIMAL = re.compile(r"(?:^|[ (\[])\.\d")

GENERATED = re.compile(r"(?ms)<!-- verdict: \w+ -->.*?<!-- end -->|<!-- modules -->.*|^\| agent \| package \|.*?\n\n")
"""Blocks of the pages that code writes: the verdict, the index of modules, the adapters of other packages."""

MOST_WORDS = 27_000
"""Limit of the handwritten words of README.md and docs, as `wc -w` counts them."""


def read(path: Path) -> str:
    return re.sub(r"\s+", " ", path.read_text("utf-8").replace("\n    ", " ").replace('" f"', "").replace('" "', ""))


@pytest.mark.skipif(not (ROOT / "docs" / "glossary.md").is_file(), reason="no checkout")
def test_phrases_that_are_never_right() -> None:
    found = []
    for path in FILES:
        if not path.is_file():
            continue
        text = read(path).lower()
        found += [
            f"{path.relative_to(ROOT)}: {phrase!r}, write: {better}"
            for phrase, better in NEVER.items()
            if phrase in text
        ]
    assert not sorted(set(found))


@pytest.mark.skipif(not (ROOT / "docs" / "glossary.md").is_file(), reason="no checkout")
def test_decimals_have_leading_zero() -> None:
    pages = [p for p in FILES if p.suffix == ".md" and p.is_file()]
    prose = ((p, re.sub(r"(?ms)^```.*?^```", "", p.read_text("utf-8"))) for p in pages)
    assert not [
        f"{p.relative_to(ROOT)}: {line[:80]}" for p, text in prose for line in text.splitlines() if DECIMAL.search(line)
    ]


@pytest.mark.skipif(not (ROOT / "docs" / "glossary.md").is_file(), reason="no checkout")
def test_glossary_has_at_most_60_sorted_terms() -> None:
    rows = re.findall(r"(?m)^\| ([^|]+) \| ([^|]+\.) \|$", (ROOT / "docs" / "glossary.md").read_text("utf-8"))
    terms = [term for term, _ in rows]
    assert 40 <= len(terms) <= 60
    assert terms == sorted(terms, key=str.lower)


@pytest.mark.skipif(not (ROOT / "docs" / "glossary.md").is_file(), reason="no checkout")
def test_handwritten_words_of_documentation_are_limited() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    words = {p.relative_to(ROOT).as_posix(): len(GENERATED.sub("", p.read_text("utf-8")).split()) for p in pages}
    longest = sorted(words, key=lambda page: -words[page])[:5]
    assert sum(words.values()) <= MOST_WORDS, f"{sum(words.values())} words; longest pages: {', '.join(longest)}"
