"""A path as columns: which kind of file it is, unpacked, with its digest."""

from __future__ import annotations

import gzip
import hashlib
import io
import zipfile
from pathlib import Path
from typing import BinaryIO

from hpo_envs.tables.user.reading import json_reader, sheet


def of_file(path: Path) -> sheet.Sheet:
    """Reads CSV (also .gz or .zip), Parquet, Arrow, JSON, JSON lines, or a folder of JSON.

    Raises:
        ValueError: A file that is none of these, or too large; lines are named.
        OSError: It cannot be read.
    """
    if path.is_dir():
        return json_reader.of_folder(path)
    with open(path, "rb") as file, _unpacked(path, file) as stream:
        digest = _digest(path, stream)
        kind = next((s for s in reversed(path.suffixes) if s not in (".gz", ".zip")), "").lower()
        if kind in (".json", ".jsonl", ".ndjson"):
            return json_reader.of_text(str(path), stream.read(), digest)
        if kind in (".parquet", ".pq", ".arrow", ".feather", ".ipc"):
            return sheet.of_arrow(str(path), stream, kind, digest)
        return sheet.of_csv(str(path), stream, digest)


def _unpacked(path: Path, file: BinaryIO) -> BinaryIO:
    try:
        if path.suffix == ".gz":
            return gzip.open(file)  # type: ignore[return-value]
        if path.suffix == ".zip":
            archive = zipfile.ZipFile(file)
            names = [n for n in archive.namelist() if not n.endswith("/")]
            if len(names) != 1:
                raise ValueError(f"{path} must hold one file, got {len(names)}")
            if archive.getinfo(names[0]).file_size > sheet.BYTES:
                raise ValueError(f"{path} must be at most {sheet.BYTES} bytes, got more")
            return io.BytesIO(archive.read(names[0]))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"{path} must be a zip file, got {error}") from None
    return file


def _digest(path: Path, stream: BinaryIO) -> str:
    digest, size = hashlib.sha256(), 0
    try:
        while block := stream.read(1 << 20):
            digest.update(block)
            size += len(block)
            if size > sheet.BYTES:
                raise ValueError(f"{path} must be at most {sheet.BYTES} bytes, got more")
        stream.seek(0)
    except (EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{path} must be a gzip file, got {error}") from None
    return digest.hexdigest()
