"""The data folder (`HPO_ENVS_DATA`, else a cache) and which upstream files are installed or corrupt."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hpo_envs.tables import catalogue
from hpo_envs.tables.checks import BYTES, folder_of, one_of, regular


class FetchError(OSError):
    """An upstream file could not be installed; the message states the next step."""


class CorruptFile(ValueError):
    """A file or table does not have the size or checksum in the catalogue, or a pack is missing."""


def data_folder() -> Path:
    """Folder of upstream files: `$HPO_ENVS_DATA`, else the user's cache folder."""
    if given := folder_of("HPO_ENVS_DATA"):
        return given
    import platformdirs  # imported here to keep `import hpo_envs` light

    return Path(platformdirs.user_cache_dir("hpo_envs", appauthor=False))


def select(names: str | Iterable[str] | None = None) -> list[catalogue.File]:
    """Catalogue rows of the named data sets, or of all for None, in catalogue order; ValueError if one is unknown."""
    known = catalogue.datasets()
    chosen = known if names is None else [names] if isinstance(names, str) else list(names)
    for name in chosen:
        one_of("name", name, known, " (hpo-envs fetch --list)")
    return [f for f in catalogue.files().values() if f.dataset in chosen]


def content(record: catalogue.File, root: Path) -> bytes:
    """Bytes of an upstream file below `root`; ValueError for a pipe, a device or a file larger than the record says."""
    return regular(root / record.file, record.bytes or BYTES).read_bytes()


def is_installed(record: catalogue.File, root: Path) -> bool:
    """Return whether a file exists with the size and checksum in the catalogue."""
    try:
        return not record.fault(content(record, root))
    except (OSError, ValueError):
        return False
