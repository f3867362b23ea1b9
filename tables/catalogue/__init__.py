"""Catalogue of upstream: one record per data set, one CSV row per file (size, commit, licence, sha256)."""

from __future__ import annotations

import csv
import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from hpo_envs.tables.checks import nearest
from hpo_envs.tables.table import Provenance

LARGEST = 100 * 2**20
"""Bytes that a file of unknown size may have: GitHub refuses larger blobs."""

PINS = Path(__file__).with_name("packs.csv")

_GITBLOB = "gitblob:"
_Bytes = bytes  # a file has a field of that name


class Dataset(NamedTuple):
    """One upstream release.

    Attributes:
        name: First part of the names of its tables, `name/...`.
        title: One line.
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
        dataset: Name of the data set it belongs to.
        file: Path below the data folder.
        repository: GitHub repository, owner/name.
        commit: Commit, 40 hex digits.
        path: Path in the repository.
        licence: Upstream's licence.
        bytes: Size; 0 = not known before the first download.
        sha256: Checksum: 64 hex digits, or `gitblob:` and the 40 hex digits of git's blob id for a file that is
            known only by what the commit says of it.
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
        """The most bytes that the file may have."""
        return self.bytes or LARGEST

    def fault(self, content: _Bytes) -> str:
        """Error of the file's content; empty if size and checksum are as pinned."""
        if self.sha256.startswith(_GITBLOB):
            head = b"blob %d\0" % len(content)
            digest = _GITBLOB + hashlib.sha1(head + content, usedforsecurity=False).hexdigest()
        else:
            digest = hashlib.sha256(content).hexdigest()
        if digest == self.sha256 and len(content) == (self.bytes or len(content)):
            return ""
        return f"must have {self.promise}, got {len(content)} bytes with {digest}"


DATASETS: dict[str, Dataset] = {
    d.name: d
    for d in (
        Dataset(
            "nmthpo",
            "1,983 transformers for machine translation on six language pairs",
            "Xuan Zhang and Kevin Duh. Reproducible and Efficient Benchmarks for Hyperparameter Optimization of "
            "Neural Machine Translation Systems. Transactions of the ACL 8:393-408, 2020.",
            "hpo_envs.tables.datasets.nmthpo.build",
        ),
        Dataset(
            "nasbenchnlp",
            "Recurrent cells as language models: learning curves on WikiText-2, final losses on PTB",
            "Nikita Klyuchnikov, Ilya Trofimov, Ekaterina Artemova, Mikhail Salnikov, Maxim Fedorov and Evgeny "
            "Burnaev. NAS-Bench-NLP: Neural Architecture Search Benchmark for Natural Language Processing. "
            "arXiv:2006.07116, 2020.",
            "hpo_envs.tables.datasets.nasbenchnlp.build",
        ),
        Dataset(
            "cushlepor",
            "Translated segments of TED talks and news with human MQM and pSQM scores, to German and from Chinese",
            "Markus Freitag, George Foster, David Grangier, Viresh Ratnakar, Qijun Tan and Wolfgang Macherey. Experts, "
            "Errors, and Context: A Large-Scale Study of Human Evaluation for Machine Translation. Transactions of the "
            "ACL 9:1460-1474, 2021. Tuning task: Lifeng Han, Irina Sorokina, Gleb Erofeev and Serge Gladkoff. "
            "cushLEPOR: customising hLEPOR metric using Optuna for higher agreement with human judgments or "
            "pre-trained language model LaBSE. WMT 2021.",
            "hpo_envs.tables.datasets.cushlepor.build",
        ),
        Dataset(
            "charhpo",
            "24 random searches of 200 runs on character transduction, LSTMs and transformers",
            "Adam Wiemerslage, Kyle Gorman and Katharina von der Wense. Quantifying the Hyperparameter Sensitivity of "
            "Neural Networks for Character-level Sequence-to-Sequence Tasks. EACL 2024.",
            "hpo_envs.tables.datasets.charhpo.build",
        ),
        Dataset(
            "fiesta",
            "Repeated evaluations of 12 sentiment models and 2 named entity recognisers, for model selection",
            "Henry B. Moss, Andrew Moore, David S. Leslie and Paul Rayson. FIESTA: Fast IdEntification of "
            "State-of-The-Art models using adaptive bandit algorithms. ACL 2019.",
            "hpo_envs.tables.datasets.fiesta.build",
        ),
        Dataset(
            "nmtlc",
            "2,483 learning curves of machine translation: from scratch on six corpora, fine-tuned LLMs on two",
            "Xuan Zhang and Kevin Duh. Reproducible and Efficient Benchmarks for Hyperparameter Optimization of "
            "Neural Machine Translation Systems. Transactions of the ACL 8:393-408, 2020. Curves: "
            "https://github.com/Este1le/hpo_nmt",
            "hpo_envs.tables.datasets.nmtlc.build",
        ),
        Dataset(
            "charmini",
            "Small LSTMs and transformers that learn to pronounce English words, trained by this project",
            "The hpo_envs developers. CharMini, measured by `benchmarks.study.measure`. Words: Carnegie Mellon "
            "University, The CMU Pronouncing Dictionary.",
            "hpo_envs.tables.datasets.charmini.build",
        ),
        Dataset(
            "cellmini",
            "Recurrent cells as character language models of Shakespeare, trained by this project",
            "The hpo_envs developers. CellMini, measured by `benchmarks.study.measure`. Search space: Nikita "
            "Klyuchnikov et al., NAS-Bench-NLP: Neural Architecture Search Benchmark for Natural Language Processing, "
            "arXiv:2006.07116, 2020.",
            "hpo_envs.tables.datasets.cellmini.build",
        ),
        Dataset("user", "users' own tables", "the user's own table", "hpo_envs.tables.datasets.user_table.build"),
    )
}


def dataset(name: str) -> Dataset:
    """A data set by name.

    Raises:
        ValueError: No such data set.
    """
    if name not in DATASETS:
        raise ValueError(f"dataset must be one of {', '.join(DATASETS)}, got {name!r}{nearest(name, [*DATASETS])}")
    return DATASETS[name]


@functools.cache
def files() -> dict[str, File]:
    """All upstream files by their path below the data folder."""
    with open(Path(__file__).with_name("catalogue.csv"), newline="", encoding="utf-8") as stream:
        records = [File(**{**row, "bytes": int(row["bytes"])}) for row in csv.DictReader(stream)]  # type: ignore[arg-type]
    return {f.file: f for f in records}


@functools.cache
def pins() -> dict[str, str]:
    """The sha256 of each pack, by its path below `tables/datasets`, and of each table that ships in one, by name."""
    with open(PINS, newline="", encoding="ascii") as stream:
        return {row["name"]: row["sha256"] for row in csv.DictReader(stream)}


def files_of(name: str) -> list[File]:
    """The upstream files of a data set."""
    dataset(name)
    return [f for f in files().values() if f.dataset == name]


def provenance(name: str, kind: Literal["measured", "surrogate"], *notes: str, file: str | None = None) -> Provenance:
    """Provenance of a data set's table: `file`, by default the data set's first."""
    source = files()[file] if file else files_of(name)[0]
    return Provenance(kind, source.repository, source.commit, source.licence, dataset(name).citation, notes=notes)


def datasets() -> list[str]:
    """Names of the data sets that have upstream files, in catalogue order."""
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
"""Other codes of the families' languages: upstream's, ISO 639-1, and ISO 639-2/T."""


def canonical(code: str) -> str:
    """Return the code of a language, whichever of its codes is given; a code of no family's language as it is."""
    return ALIASES.get(code, code)


def overlap(some: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the languages that are in both, sorted, whichever of their codes each has."""
    return sorted(set(map(canonical, some)) & set(map(canonical, others)))
