"""Content of a user's file, unpacked if it is a zip or a gzip file, up to a size limit; members of zip files."""

import gzip
import io
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from hpo_envs.tables.checks import BYTES, regular

SMALL, RATIO = 10_000_000, 50
"""Limits of the content of a compressed file: this many bytes, or this many times its own size, if that is more."""

DAMAGE = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, gzip.BadGzipFile, zlib.error, struct.error,
    OverflowError, MemoryError, tokenize.TokenError, SyntaxError,
)  # fmt: skip
"""Errors raised by damaged, encrypted and forged files and headers of arrays, beside `ValueError`."""

TOO_LARGE = "{} must be at most {} bytes{}, got {}"


def content_of(path: Path, most: int | None = None, option: str = "") -> bytes:
    """Return the whole content of a regular file, unpacked: at most `most` bytes.

    By default, the limit is `BYTES`, or less for a compressed file, see `limit_of`. The error names `option`, which
    raises it.

    Raises:
        ValueError: The path is a pipe or device, its content exceeds the limit, or it is a damaged archive or a zip
            file that does not hold exactly one file.
        OSError: The file cannot be read.
    """
    packed, zipped = path.suffix.lower() in (".gz", ".zip"), path.suffix.lower() == ".zip"
    limit = most or (limit_of(path) if packed else BYTES)
    try:
        with open(regular(path, math.inf), "rb") as file, _unpacked(path, file) as stream:
            size = limit if packed else min(limit, path.stat().st_size)  # reading reserves as many bytes as it is asked
            content: bytes = stream.read(size + 1)
    except DAMAGE as error:
        said = "a truncated one" if isinstance(error, EOFError) else error
        raise ValueError(f"{path} must be a {'zip' if zipped else 'gzip'} file, got {said}") from None
    if len(content) > limit:
        raise ValueError(TOO_LARGE.format(path, limit, (" unpacked" if packed else "") + option, "more"))
    return content


def members(content: bytes, most: int, read: Callable[[IO[bytes], int], Any]) -> dict[str, Any]:
    """Return what `read` returns for the stream and the size of each member of a zip file, by name.

    Streams end at the declared sizes, which are at most `most` bytes together; `read` must not read without a number.

    Raises:
        ValueError: The file is damaged, encrypted, larger unpacked, or neither stored nor deflated.
    """
    try:
        if content.count(b"PK\x01\x02") > 100_000:  # begins an entry of the directory, of which each needs memory
            raise ValueError("more than 100,000 members")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries, found = archive.infolist(), {}
            if (size := sum(int(entry.file_size) for entry in entries)) > most:
                raise ValueError(f"{size} bytes unpacked, more than {most}")
            for entry in entries:
                with _opened(archive, entry, entry.filename) as stream:
                    found[entry.filename] = read(stream, entry.file_size)
            return found
    except DAMAGE as error:
        raise ValueError(str(error) or type(error).__name__) from None


def arrays(content: bytes, most: int) -> dict[str, Any]:
    """Return the arrays of an `.npz` file by name, none of them pickled objects; errors are those of `members`."""
    return {name.removesuffix(".npy"): array for name, array in members(content, most, _array).items()}


def _array(stream: IO[bytes], size: int) -> Any:
    """Read an array after checking that its header promises no more bytes than the member has."""
    first = np.lib.format.read_magic(stream) == (1, 0)
    shape, _, dtype = getattr(np.lib.format, f"read_array_header_{1 if first else 2}_0")(stream)
    if math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"an array of shape {shape} and dtype {dtype} in {size} bytes")
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def parquet_size(facts: Any) -> int:
    """Return a lower bound of the unpacked size in bytes of a Parquet file, as its metadata `facts` states it."""
    chunks = [facts.row_group(i).column(k) for i in range(facts.num_row_groups) for k in range(facts.num_columns)]
    width = {facts.schema.column(k).path: facts.schema.column(k).length for k in range(facts.num_columns)}
    if other := {c.path_in_schema for c in chunks} - width.keys():
        raise ValueError(f"columns must be those of the schema, got {', '.join(sorted(other))}")
    values = sum(int(max(8, width[c.path_in_schema]) * c.num_values) for c in chunks)
    return max(values, sum(int(c.total_uncompressed_size) for c in chunks))


def limit_of(path: Path) -> int:
    """Return the default limit in bytes of the unpacked content of a compressed file, see `SMALL`."""
    return min(BYTES, max(SMALL, RATIO * path.stat().st_size))


def _unpacked(path: Path, file: io.BufferedReader) -> Any:
    if path.suffix.lower() == ".gz":
        return gzip.GzipFile(fileobj=file)
    if path.suffix.lower() != ".zip":
        return file
    archive = zipfile.ZipFile(file)
    files = [f for f in archive.infolist() if not f.is_dir()]
    if len(files) != 1:
        raise ValueError(f"{path} must hold one file, got {len(files)}")
    return _opened(archive, files[0], path)


def _opened(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, where: object) -> IO[bytes]:
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack beyond any limit
        raise ValueError(f"{where} must be stored or deflated, got compression {entry.compress_type}")
    return archive.open(entry)
