"""Catalogue of data sets: pinned upstream files, sha256, licences, task groups, held-out languages, language codes."""

from __future__ import annotations

import csv
import functools
import hashlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import Provenance

LARGEST = 100 * 2**20
"""Largest accepted size in bytes of a file of unknown size: GitHub refuses larger blobs."""

PINS = Path(__file__).with_name("packs.csv")

_GITBLOB = "gitblob:"
_Bytes = bytes  # a file has a field of that name


class Dataset(NamedTuple):
    """One data set: an upstream release, trainings of this project, or the users' own tables.

    Attributes:
        name: First part of the names of its tables, `name/...`.
        title: Title in one line.
        citation: Reference to cite.
        builder: Module with `NAMES` and `shipped(name)`, see `hpo_envs.tables.store`.
    """

    name: str
    title: str
    citation: str
    builder: str


class File(NamedTuple):
    """One upstream file.

    Attributes:
        dataset: Name under which it is fetched: its data set, or a part of one, see `datasets`.
        file: Path below the data folder.
        repository: GitHub repository, owner/name.
        commit: Commit, 40 hex digits.
        path: Path in the repository.
        licence: Upstream's licence.
        bytes: Size; 0 = not known before the first download.
        sha256: Checksum: 64 hex digits, or `gitblob:` and the 40 hex digits of git's blob id for a file of which only
            the commit is known.
    """

    dataset: str
    file: str
    repository: str
    commit: str
    path: str
    licence: str
    bytes: int
    sha256: str

    @property
    def promise(self) -> str:
        """Expected size and checksum of the file, for messages."""
        digest = self.sha256 if self.sha256.startswith(_GITBLOB) else f"sha256 {self.sha256}"
        return f"{self.bytes} bytes with {digest}" if self.bytes else digest

    @property
    def limit(self) -> int:
        """Largest accepted size of the file in bytes."""
        return self.bytes or LARGEST

    def fault(self, content: _Bytes) -> str:
        """Return an error message if content does not have the pinned size and checksum; otherwise an empty string."""
        if self.sha256.startswith(_GITBLOB):
            head = b"blob %d\0" % len(content)
            digest = _GITBLOB + hashlib.sha1(head + content, usedforsecurity=False).hexdigest()
        else:
            digest = hashlib.sha256(content).hexdigest()
        if digest == self.sha256 and len(content) == (self.bytes or len(content)):
            return ""
        return f"must have {self.promise}, got {len(content)} bytes with {digest}"


class TableSetting(NamedTuple):
    """Training data and task of the models of a table.

    Attributes:
        table: Name of the table.
        data: Data set for training and evaluation, shared by tables of one problem.
        annotation: Annotation to predict, or human scores to agree with.
        model: Class of the models.
        language: Code of the language (of two, the one other than English), see `canonical`; `mul` for several.
        objective: Metric on validation data by which configurations are selected; empty if none was measured.
    """

    table: str
    data: str
    annotation: str
    model: str
    language: str
    objective: str

    @property
    def group(self) -> str:
        """The task group: data set and annotation, regardless of the model class."""
        return f"{self.data}, {self.annotation}"


@functools.cache
def settings() -> dict[str, TableSetting]:
    """Return the settings of tables by name of the table; users' and synthetic tables have none."""
    return {row["table"]: TableSetting(**row) for row in _rows(Path(__file__).with_name("settings.csv"))}


@functools.cache
def held_out() -> dict[str, str]:
    """Language or task group held out in meta-training, by the name of the problem's table.

    This is the table's language, which may be shared by several task groups; or the table's task group, if all tables
    of the group are in English or in several languages.
    """
    spoken = defaultdict(set)
    for s in settings().values():
        spoken[s.group].add(s.language)
    return {name: s.group if spoken[s.group] <= {"eng", "mul"} else s.language for name, s in settings().items()}


@functools.cache
def known() -> dict[str, Dataset]:
    """All data sets by name."""
    return {row["name"]: Dataset(**row) for row in _rows(Path(__file__).with_name("datasets.csv"))}


def dataset(name: str) -> Dataset:
    """Return a data set by name; ValueError if it is unknown."""
    return known()[one_of("dataset", name, known())]


@functools.cache
def files() -> dict[str, File]:
    """All upstream files by their path below the data folder."""
    rows = _rows(Path(__file__).with_name("catalogue.csv"))
    return {row["file"]: File(**{**row, "bytes": int(row["bytes"])}) for row in rows}  # type: ignore[arg-type]


def _rows(file: Path) -> list[dict[str, str]]:
    with open(file, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@functools.cache
def pins() -> dict[str, str]:
    """The sha256 of packs made from upstream's files, by path below `tables/datasets`, and of their tables, by name."""
    return {row["name"]: row["sha256"] for row in _rows(PINS)}


def files_of(name: str) -> list[File]:
    """The upstream files of a data set without those of its parts, see `datasets`; ValueError for unknown data sets."""
    dataset(name)
    return [f for f in files().values() if f.dataset == name]


def provenance(name: str, kind: Literal["measured", "surrogate"], *notes: str, file: str | None = None) -> Provenance:
    """Return the provenance of a data set's table from `file`, by default the data set's first upstream file."""
    source = files()[file] if file else files_of(name)[0]
    return Provenance(kind, source.repository, source.commit, source.licence, dataset(name).citation, notes=notes)


def datasets() -> list[str]:
    """Names under which files are fetched, in catalogue order: data sets, and parts such as `cushlepor-news`."""
    return list(dict.fromkeys(f.dataset for f in files().values()))


ALIASES = {
    "arm_e": "arm",  # SIGMORPHON 2021: Eastern Armenian
    "rom": "rum",  # SIGMORPHON 2017: Romanian; ISO 639's `rom` is Romani, of which there is no table
    **{"ar": "ara", "bg": "bul", "ca": "cat", "el": "gre", "en": "eng", "fr": "fre", "ga": "gle", "hi": "hin"},
    **{"hu": "hun", "hy": "arm", "is": "ice", "ja": "jpn", "ka": "geo", "ko": "kor", "lt": "lit", "nl": "dut"},
    **{"ro": "rum", "ru": "rus", "so": "som", "sq": "alb", "sw": "swa", "vi": "vie", "zh": "chi"},
    **{"ell": "gre", "fra": "fre", "hye": "arm", "isl": "ice", "kat": "geo", "nld": "dut", "ron": "rum"},
    **{"sqi": "alb", "zho": "chi"},
}
"""Other code of a language (upstream's, ISO 639-1 or ISO 639-2/T) -> its canonical code."""


def canonical(code: str) -> str:
    """Return the canonical code of a language; unknown codes are returned unchanged."""
    return ALIASES.get(code, code)


def overlap(some: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the common languages, sorted, after conversion to canonical codes."""
    return sorted(set(map(canonical, some)) & set(map(canonical, others)))
