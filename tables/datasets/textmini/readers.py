"""Readers of upstream's text formats: ZIP archives, CoNLL-U, words with tags, inflections as edit scripts."""

import difflib
import io
import re
import zipfile
from collections.abc import Iterator

Sentence = tuple[tuple[str, ...], tuple[str, ...]]
"""Words and their tags."""


def members(archive: bytes, folder: str, encoding: str = "utf-8") -> dict[str, str]:
    """Texts of the files in a folder of a ZIP archive, by name."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        names = [name for name in opened.namelist() if name.startswith(f"{folder}/") and not name.endswith("/")]
        return {name.removeprefix(f"{folder}/"): opened.read(name).decode(encoding) for name in names}


def conllu(content: bytes, column: int = 3) -> Iterator[Sentence]:
    """Sentences of a CoNLL-U file with a column (3: parts of speech) as tags, without subtypes after a colon."""
    for block in content.decode().split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line[:1].isdigit()]
        rows = [row for row in rows if row[0].isdigit()]  # neither ranges of contractions nor empty nodes
        if rows:
            yield tuple(row[1] for row in rows), tuple(row[column].partition(":")[0] for row in rows)


def columns(content: bytes) -> Iterator[Sentence]:
    """Sentences of a file with a word, a tab and a tag on each line, and empty lines between sentences."""
    rows: list[tuple[str, ...]] = []
    for line in [*content.decode().splitlines(), ""]:
        if line.strip():
            rows.append(tuple(part.strip() for part in line.split("\t")[:2]))
        elif rows:
            words, tags = zip(*rows, strict=True)
            yield words, tags
            rows = []


def inflections(content: bytes) -> Iterator[Sentence]:
    """Yield features, `=` and letters of each lemma, with the edit script of its form; lines: lemma, features, form."""
    for line in content.decode().splitlines():
        lemma, features, form = line.split("\t")
        yield (*re.findall(r"[^;(),]+", features), "=", *lemma), script(lemma, form)


def script(lemma: str, form: str) -> tuple[str, ...]:
    """Edit script from a lemma to a form: how many letters to remove, and which to add, at the beginning and the end.

    The longest common substring is kept, the leftmost of several.
    """
    kept = difflib.SequenceMatcher(None, lemma, form, autojunk=False).find_longest_match()
    end = kept.a + kept.size
    return f"-{kept.a}", *form[: kept.b], f"-{len(lemma) - end}", *form[kept.b + kept.size :]
