"""Downloads upstream files into the data folder. No other module opens a socket.

Each file comes from its pinned commit on GitHub. Size and checksum are checked before a file gets its name (see
`install`), an interrupted download is continued, and two processes may fetch into one folder at once.

It is not built on pooch, which has neither resumption nor size bounds nor git blob ids, and of which only the renaming
of a finished file would be left.
"""

from __future__ import annotations

import contextlib
import re
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import requests

from hpo_envs.tables import catalogue
from hpo_envs.tables.files import folder as install
from hpo_envs.tables.files.folder import FetchError, WrongContent

UPSTREAM = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
"""Where a file of the catalogue is published."""

_CHUNK = 1 << 13  # an interrupted read loses what is left of its chunk
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})  # statuses that a later request may not get


class _Interrupted(Exception):
    """A request failed in a way that the next may not."""


class _Refused(Exception):
    """A source does not have the file, or not its bytes."""


@dataclass(frozen=True)
class _Web:
    """How to ask: the session, requests per source, seconds before the second one (then doubling), seconds to wait."""

    session: requests.Session
    retries: int
    backoff: float
    timeout: float


class _Bar:
    """Progress in files and bytes on stderr, where that is a terminal."""

    def __init__(self, records: list[catalogue.File], show: bool) -> None:
        from tqdm.auto import tqdm

        total = sum(r.bytes for r in records) if all(r.bytes for r in records) else None
        self._bar = tqdm(total=total, unit="B", unit_scale=True, leave=False, disable=None if show else True)
        self._files, self._done, self._before = len(records), 0, 0

    def at(self, record: catalogue.File, size: int, done: bool = False) -> None:
        """So many bytes of a file are here."""
        self._bar.set_description_str(f"file {self._done + 1} of {self._files}: {record.file}", refresh=False)
        self._bar.update(self._before + size - self._bar.n)
        if done:
            self._done, self._before = self._done + 1, self._before + size

    def close(self) -> None:
        """Removes the bar."""
        self._bar.close()


def fetch(
    names: str | Iterable[str] | None = None,
    *,
    progress: bool = True,
    retries: int = 3,
    backoff: float = 1.0,
    timeout: float = 30.0,
) -> dict[str, str]:
    """Installs the upstream files of data sets into the data folder.

    Args:
        names: Data sets; None = all of them.
        progress: Whether to draw a progress bar where stderr is a terminal.
        retries: Requests for a file, >= 1.
        backoff: Seconds between the first two requests; doubles with each.
        timeout: Seconds without a byte after which a request is given up.

    Returns:
        `installed` or `present` (it was there and right) by file.

    Raises:
        ValueError: Unknown data set.
        FetchError: A file could not be installed. Files before it are; the wrong ones after it are unchanged.
    """
    if retries < 1:
        raise ValueError(f"retries must be an int >= 1, got {retries}")
    records = install.select(names)
    root = install.data_folder()
    wanted = [r for r in records if install.check(r, root).status != "ok"]
    if wanted:  # a complete folder may be read-only
        with requests.Session() as session:
            session.headers["Accept-Encoding"] = "identity"  # lengths and ranges count the file's own bytes
            web = _Web(session, retries, backoff, timeout)
            wanted = _install_all(wanted, root, web, progress)
    done = {r.file for r in wanted}
    return {r.file: "installed" if r.file in done else "present" for r in records}


def _install_all(wanted: list[catalogue.File], root: Path, web: _Web, progress: bool) -> list[catalogue.File]:
    """Installs files; returns those that it had to, another process may have been faster."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        with install.locked(root, lambda: print(f"waiting for another fetch into {root}", file=sys.stderr)) as locked:
            wanted = [r for r in wanted if install.check(r, root).status != "ok"]
            install.need_space(wanted, root)
            with contextlib.closing(_Bar(wanted, progress)) as bar:
                for record in wanted:
                    target = root / record.file
                    target.parent.mkdir(parents=True, exist_ok=True)
                    part = install.part_of(target) if locked else install.private_part_of(target)
                    try:
                        _install(record, target, part, web, bar)
                    finally:
                        if not locked:  # nobody will continue it
                            part.unlink(missing_ok=True)
    except FetchError:
        raise
    except OSError as error:
        raise FetchError(
            f"the data folder {root} must be writable, got {error.strerror or error}: {error.filename or root}. "
            "Free space, permit writing there or set HPO_ENVS_DATA to another folder; then run the same command again."
        ) from error
    return wanted


def _install(record: catalogue.File, target: Path, part: Path, web: _Web, bar: _Bar) -> None:
    url = UPSTREAM.format(repository=record.repository, commit=record.commit, path=quote(record.path))
    for attempt in range(web.retries):
        time.sleep(web.backoff * 2 ** (attempt - 1) if attempt else 0.0)
        try:
            _transfer(record, url, part, web, bar)
            install.accept(record, part, target, url)
            bar.at(record, target.stat().st_size, done=True)
            return
        except _Interrupted as error:
            reason = f"{error} ({attempt + 1} of {web.retries} attempts)"
        except (_Refused, WrongContent) as error:
            reason = str(error)
            break
    raise FetchError(
        f"{record.file} must be delivered by {url}, got {reason}. Run `hpo-envs fetch {record.dataset}` again, or set "
        "HPO_ENVS_DATA to a folder that has the file."
    )


def _transfer(record: catalogue.File, url: str, part: Path, web: _Web, bar: _Bar) -> None:
    """Brings the part to its full length: by one request, or two if what was there before is wrong."""
    have = part.stat().st_size if part.exists() else 0
    if have >= record.limit or (have and not record.bytes):  # perhaps all of it, of another source
        if _is_whole(record, part):
            return
        if have >= record.limit:
            part.unlink()
            have = 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    times = (min(10.0, web.timeout), web.timeout)
    try:
        with web.session.get(url, headers=headers, stream=True, timeout=times) as reply:
            if have and reply.status_code == 206 and _start_of(reply) == have:
                _receive(record, reply, part, have, bar)
                if _is_whole(record, part):
                    return
            elif reply.status_code == 200:
                return _receive(record, reply, part, 0, bar)
            elif not have or reply.status_code not in (206, 416):
                _reject(reply)
    except requests.TooManyRedirects as error:
        raise _Refused("too many redirects") from error
    except requests.Timeout as error:
        raise _Interrupted(f"no byte within {web.timeout:g} s") from error
    except requests.RequestException as error:
        raise _Interrupted(_brief(error)) from error
    except ValueError as error:  # of the standard library: a redirection to what is no address
        raise _Refused(f"an answer without meaning: {error}") from error
    part.unlink()  # the old part was not the beginning of this file
    _transfer(record, url, part, web, bar)


def _receive(record: catalogue.File, reply: requests.Response, part: Path, start: int, bar: _Bar) -> None:
    """Writes the body behind the first `start` bytes of the part, never past the promised size."""
    length = reply.headers.get("Content-Length", "")
    if length.isdigit() and reply.headers.get("Content-Encoding", "identity") == "identity":
        total = start + int(length)
        if total > record.limit or (record.bytes and total != record.bytes):
            raise _Refused(f"must have {record.promise}, got {total} bytes")
    size = start
    try:
        with open(part, "rb+" if start else "wb") as stream:
            stream.seek(start)
            for chunk in reply.iter_content(_CHUNK):
                size += len(chunk)
                if size > record.limit:
                    raise _Refused(f"must have {record.promise}, got more than {record.limit} bytes")
                stream.write(chunk)
                bar.at(record, size)
    except requests.RequestException:
        raise  # the part is continued
    except (_Refused, OSError):
        part.unlink(missing_ok=True)  # too long to be right, or the disk is full
        raise
    if size < record.bytes:
        raise _Interrupted(f"the body ended after {size} of {record.bytes} bytes")


def _is_whole(record: catalogue.File, part: Path) -> bool:
    return install.is_right(record, *install.fingerprint(record, part))


def _start_of(reply: requests.Response) -> int:
    """First byte of a partial answer; -1 if it does not say."""
    match = re.match(r"bytes (\d+)-", reply.headers.get("Content-Range", ""))
    return int(match[1]) if match else -1


def _reject(reply: requests.Response) -> None:
    reason = f"HTTP {reply.status_code} {reply.reason or ''}".rstrip()
    raise (_Interrupted if reply.status_code in _PASSING else _Refused)(reason)


def _brief(error: Exception) -> str:
    """The innermost cause of a connection error, without the library's wrapping."""
    text = str(error)
    found = re.search(r"\[Errno -?\d+\] [^'\")]+|IncompleteRead\([^)]*\)|Connection \w+ [^'\")]+", text)
    return found[0] if found else text
