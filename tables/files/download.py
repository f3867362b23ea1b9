"""Download of upstream files: URL, timeouts, retries, checks of size and sha256; no other module opens a socket.

Each file is downloaded from its pinned commit on GitHub into memory. Size and checksum are checked before it is written
atomically (`atomic.write`), so that two processes can fetch into one folder.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from urllib.parse import quote

import requests

from hpo_envs.tables import catalogue
from hpo_envs.tables.files import atomic
from hpo_envs.tables.files.folder import FetchError, data_folder, is_installed, select

UPSTREAM = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
"""Template of the URL of a file in the catalogue."""

_CHUNK = 1 << 16
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})  # statuses that a later request may not get


class _Interrupted(Exception):
    """A request failed for a temporary reason."""


class _Refused(Exception):
    """A request failed for a lasting reason, such as a missing file or a wrong checksum."""


def fetch(
    names: str | Iterable[str] | None = None, *, progress: bool = True, retries: int = 3, backoff: float = 1.0,
    timeout: float = 30.0,
) -> dict[str, str]:  # fmt: skip
    """Install the upstream files of data sets into the data folder.

    Args:
        names: Data sets; None = all of them.
        progress: Whether to draw a progress bar if stderr is a terminal.
        retries: Largest number of requests for a file, >= 1.
        backoff: Seconds between the first two requests for a file; doubles with each further request.
        timeout: Seconds without a byte after which a request is aborted.

    Returns:
        For each file, `installed` or `present` (it was already there and correct).

    Raises:
        ValueError: Unknown data set, or `retries` is below 1.
        FetchError: A file could not be installed. Files before it were; files after it are unchanged.
    """
    from tqdm.auto import tqdm

    if retries < 1:
        raise ValueError(f"retries must be an int >= 1, got {retries}")
    records, root = select(names), data_folder()
    wanted = [r for r in records if not is_installed(r, root)]
    with requests.Session() as session:
        for record in tqdm(wanted, unit="file", leave=False, disable=None if progress else True):
            try:
                (root / record.file).parent.mkdir(parents=True, exist_ok=True)
                atomic.write(root / record.file, _downloaded(record, session, retries, backoff, timeout))
            except FetchError:
                raise
            except OSError as error:
                raise FetchError(
                    f"the data folder {root} must be writable, got {error.strerror or error}: "
                    f"{error.filename or root}. Free space, permit writing there or set HPO_ENVS_DATA to another "
                    "folder; then run the same command again."
                ) from error
    return {r.file: "installed" if r in wanted else "present" for r in records}


def _downloaded(
    record: catalogue.File, session: requests.Session, retries: int, backoff: float, timeout: float
) -> bytes:
    """Download a file, with retries, and return its verified content; FetchError if all attempts fail."""
    url = UPSTREAM.format(repository=record.repository, commit=record.commit, path=quote(record.path))
    for attempt in range(retries):
        time.sleep(backoff * 2 ** (attempt - 1) if attempt else 0.0)
        try:
            return _received(record, session, url, timeout)
        except _Interrupted as error:
            reason = f"{error} ({attempt + 1} of {retries} attempts)"
        except _Refused as error:
            reason = str(error)
            break
    raise FetchError(
        f"{record.file} must be available at {url}, got {reason}. Run `hpo-envs fetch {record.dataset}` again, or set "
        "HPO_ENVS_DATA to a folder that has the file."
    )


def _received(record: catalogue.File, session: requests.Session, url: str, timeout: float) -> bytes:
    """Request a file once and return its verified content; raise `_Interrupted` or `_Refused` if this fails."""
    content = bytearray()
    try:
        with session.get(url, stream=True, timeout=(min(10.0, timeout), timeout)) as reply:
            if reply.status_code != 200:
                reason = f"HTTP {reply.status_code} {reply.reason or ''}".rstrip()
                raise (_Interrupted if reply.status_code in _PASSING else _Refused)(reason)
            for chunk in reply.iter_content(_CHUNK):
                content += chunk
                if len(content) > record.limit:
                    raise _Refused(f"must have {record.promise}, got more than {record.limit} bytes")
    except requests.TooManyRedirects as error:
        raise _Refused("too many redirects") from error
    except requests.Timeout as error:
        raise _Interrupted(f"no byte within {timeout:g} s") from error
    except requests.RequestException as error:
        raise _Interrupted(_brief(error)) from error
    except ValueError as error:  # of the standard library: a redirection to what is no address
        raise _Refused(f"an invalid response: {error}") from error
    if not len(content) or (len(content) < record.bytes and "Content-Length" not in reply.headers):
        raise _Interrupted(f"the body ended after {len(content)} of {record.bytes} bytes")
    if fault := record.fault(bytes(content)):
        raise _Refused(fault)
    return bytes(content)


def _brief(error: Exception) -> str:
    """The innermost cause of a connection error, without the library's wrapping; the whole text if none is found."""
    text = str(error)
    found = re.search(r"\[Errno -?\d+\] [^'\")]+|IncompleteRead\([^)]*\)|Connection \w+ [^'\")]+", text)
    return found[0] if found else text
