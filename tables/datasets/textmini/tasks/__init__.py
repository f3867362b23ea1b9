"""The tasks of TextMini: one module each, here or in a subfolder, with a `TextTask` named `TASK`."""

import functools
import hashlib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hpo_envs.tables import store
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.datasets.textmini.readers import members

Examples = Sequence[tuple[Any, Any]]
"""(input, output): a text and its class, the words of a sentence and their tags, or two sequences of symbols."""

PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class TextTask:
    """A data set with an annotation.

    Attributes:
        kind: Kind of prediction: a class of a text, a tag of each word, or a sequence of symbols.
        language: Code of the language (ISO 639-3), `mul` for several.
        unit: Counted unit: `texts`, `tokens`, `spans` (of BIO tags) or `forms`.
        files: Upstream files in the catalogue.
        read: Function from the verified bytes of the files, in order, to the examples of each part.
        sizes: Largest numbers of training, validation and test examples: texts or forms, or tokens of whole sentences.
    """

    kind: Literal["classification", "tagging", "inflection"]
    language: str
    unit: Literal["texts", "tokens", "spans", "forms"]
    files: tuple[str, ...]
    read: Callable[..., Mapping[str, Iterable[tuple[Any, Any]]]]
    sizes: tuple[int, int, int]

    def parts(self) -> dict[str, Examples]:
        """Distinct examples by part, at most `sizes`, in the order of a hash; TableNotInstalled without the files."""
        found = self.read(*map(store.read, self.files))
        ordered = {part: sorted(dict.fromkeys(found[part]), key=_hash) for part in PARTS}
        return {part: self._capped(ordered[part], most) for part, most in zip(PARTS, self.sizes, strict=True)}

    def _capped(self, examples: Examples, most: int) -> Examples:
        if self.kind != "tagging":
            return examples[:most]
        kept, tokens = [], 0
        for example in examples:
            tokens += len(example[0])
            if tokens > most:
                break
            kept.append(example)
        return kept


def _hash(example: Any) -> bytes:
    return hashlib.sha256(repr(example).encode()).digest()


def split(examples: Iterable[tuple[Any, Any]], validation: int, test: int) -> dict[str, Examples]:
    """Split distinct examples by a hash into `test` and `validation`, of these sizes, and `train`, the rest."""
    ordered = sorted(dict.fromkeys(examples), key=lambda example: _hash(("split", example)))
    held = test + validation
    return {"test": ordered[:test], "validation": ordered[test:held], "train": ordered[held:]}


def of_lines(folder: str, files: Mapping[str, str], encoding: str = "utf-8") -> Callable[[bytes], dict[str, Examples]]:
    """Return a reader that splits the texts of an archive by a hash: the lines of one file for each class."""

    def read(archive: bytes) -> dict[str, Examples]:
        texts = members(archive, folder, encoding)
        lines = [(line.strip(), kind) for kind, file in files.items() for line in texts[file].split("\n")]
        return split([line for line in lines if line[0]], 1200, 1200)

    return read


def upstream(read: Callable[[bytes], Iterable[tuple[Any, Any]]]) -> Callable[..., dict[str, Iterable[tuple[Any, Any]]]]:
    """Return a reader of upstream's three parts, which are one file each, given the reader of a file."""
    return lambda *files: dict(zip(PARTS, map(read, files), strict=True))


def treebank(name: str) -> tuple[str, ...]:
    """Files of a treebank of Universal Dependencies, see `upstream`."""
    return tuple(f"ud/{name}-ud-{part}.conllu" for part in ("train", "dev", "test"))


def _modules() -> dict[str, str]:
    prefix = f"{__name__}."
    found = (module.name for module in pkgutil.walk_packages(__path__, prefix) if not module.ispkg)
    return {name.removeprefix(prefix).replace(".", "_"): name for name in found}


def listed() -> tuple[str, ...]:
    """Names of the tasks: the modules of this folder, and `{folder}_{module}` of folders in it."""
    return tuple(sorted(_modules()))


@functools.cache
def of(name: str) -> TextTask:
    """Return a task by its name; ValueError if it is unknown."""
    task: TextTask = importlib.import_module(_modules()[one_of("task", name, listed())]).TASK
    return task
