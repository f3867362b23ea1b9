"""Fetching of upstream files: from a server with all kinds of faults, twice at once, and remaining files."""

import errno
import functools
import hashlib
import http.server
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.tables import catalogue, store
from hpo_envs.tables.files import download, folder
from hpo_envs.tables.files.folder import FetchError
from tests.helpers import ROOT, rejects

pytestmark = pytest.mark.hostile

CONTENT = {
    "toy/a.txt": bytes(range(256)) * 400,  # 102,400 bytes: several reads of the downloader
    "toy/deep/b c.tsv": b"row\tvalue\n" * 50,
    "toy/blob.csv": b"known by its blob id only\n" * 3000,
}


def _blob(content: bytes) -> str:
    return "gitblob:" + hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _records() -> dict[str, catalogue.File]:
    out = {}
    for name, content in CONTENT.items():
        known = (0, _blob(content)) if "blob" in name else (len(content), hashlib.sha256(content).hexdigest())
        path = name.removeprefix("toy/")
        out[name] = catalogue.File("toy", name, "owner/repository", "c" * 40, path, "MIT", *known)
    return out


class Upstream(http.server.ThreadingHTTPServer):
    """Serves CONTENT under any prefix; `faults[path]` lists the faults of the next requests for a file."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = dict(CONTENT)
        self.faults: dict[str, list[str]] = {}
        self.requests: list[str] = []
        self.pause = 0.0  # seconds before each 8 KiB

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that disconnect are part of the tests."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Upstream
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        path = self.path.replace("%20", " ").lstrip("/").removeprefix("moved/")
        file = path if path in self.server.content else "toy/" + path.partition("c" * 40 + "/")[2]
        self.server.requests.append(file)
        faults = self.server.faults.get(file, [])
        fault = faults.pop(0) if faults else ""
        body = self.server.content.get(file)
        if fault.isdigit() or body is None:
            return self._answer(int(fault or 404), b"no")
        if fault == "redirect":
            return self._answer(302, b"", Location=f"{self.server.url}/moved/{file}")
        if fault.startswith("to "):
            return self._answer(302, b"", Location=fault[3:])
        if fault == "loop":
            faults.append("loop")
            return self._answer(302, b"", Location=f"{self.server.url}/{file}")
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.close_connection = True
            return None
        if fault == "silent":
            time.sleep(1.0)
        if fault == "wrong":
            body = bytes(b ^ 1 for b in body)
        if fault == "short":
            body = body[:-1]
        if fault in ("long", "hangs up"):  # neither says how long the body is
            return self._unsized(body * 3 if fault == "long" else body[:50_000])
        self._answer(200, body, int(fault.partition(":")[2]) if fault.startswith("cut:") else None)

    def _answer(self, status: int, body: bytes, cut: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        for i in range(0, len(body[:cut]), 8192):
            time.sleep(self.server.pause)
            self.wfile.write(body[:cut][i : i + 8192])
        if cut is not None:
            self.wfile.flush()
            self.close_connection = True

    def _unsized(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True


@pytest.fixture
def server() -> Iterator[Upstream]:
    upstream = Upstream()
    threading.Thread(target=upstream.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield upstream
    upstream.shutdown()
    upstream.server_close()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, and a catalogue of the toy files."""
    records = _records()
    monkeypatch.setattr(catalogue, "files", lambda: records)
    monkeypatch.setenv("HPO_ENVS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NO_PROXY", "*")
    return tmp_path / "data"


@pytest.fixture
def get(root: Path, server: Upstream, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """`fetch` with the toy server as upstream and short timeouts."""
    monkeypatch.setattr(download, "UPSTREAM", server.url + "/{repository}/{commit}/{path}")
    return functools.partial(download.fetch, backoff=0.01, timeout=10, progress=False)


def tree(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def closed_port() -> str:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{s.getsockname()[1]}"


def test_installs_everything_and_leaves_it_alone(get: Any, root: Path, server: Upstream) -> None:
    assert (get("toy"), tree(root)) == (dict.fromkeys(CONTENT, "installed"), CONTENT)
    asked = len(server.requests)
    assert (get(), len(server.requests)) == (dict.fromkeys(CONTENT, "present"), asked)
    assert all(folder.is_installed(r, root) for r in folder.select())


def test_git_blob_ids_are_gits() -> None:
    # `printf 'hello\n' | git hash-object --stdin`
    record = catalogue.File("toy", "f", "o/r", "c", "f", "MIT", 0, "gitblob:ce013625030ba8dba906f756967f9e9ca394464a")
    assert not record.fault(b"hello\n")


def test_store_reads_files_known_by_blob_id(get: Any, root: Path) -> None:
    get("toy")
    assert store.read("toy/blob.csv") == CONTENT["toy/blob.csv"]
    (root / "toy/blob.csv").write_bytes(b"other")
    with pytest.raises(store.CorruptFile, match=r"toy/blob.csv must have gitblob:\w+, got 5 bytes .* fetch toy"):
        store.read("toy/blob.csv")


@pytest.mark.parametrize(
    "fault", ["500", "503", "429", "reset", "cut:50000", "cut:0", "hangs up", "silent", "redirect"]
)
def test_passing_faults_are_retried(get: Any, root: Path, server: Upstream, fault: str) -> None:
    server.faults["toy/a.txt"] = [fault]
    get("toy", timeout=0.4 if fault == "silent" else 10)
    assert (tree(root), len(server.requests)) == (CONTENT, len(CONTENT) + 1)


@pytest.mark.parametrize(
    "fault, message",
    [
        ("404", "HTTP 404"), ("403", "HTTP 403"), ("500", "HTTP 500 .*3 of 3 attempts"), ("reset", "3 of 3 attempts"),
        ("silent", "no byte within 0.4 s .*3 of 3 attempts"), ("cut:9000", "3 of 3 attempts"),
        ("loop", "too many redirects"), ("to file:///etc/passwd", "No connection adapters .*3 of 3 attempts"),
        ("to ftp://127.0.0.1/x", "No connection adapters .*3 of 3 attempts"),
        ("to data:,x", "No connection adapters .*3 of 3 attempts"),
        ("to http://[", "an invalid response: Invalid IPv6 URL"),
        ("to http://127.0.0.1:1/x", "Connection refused.*3 of 3 attempts"),
        ("wrong", "must have 102400 bytes with sha256 [0-9a-f]{64}, got 102400 bytes with [0-9a-f]{64}"),
        ("short", "must have 102400 bytes with sha256 [0-9a-f]{64}, got 102399 bytes"),
        ("long", "must have 102400 bytes with sha256 [0-9a-f]{64}, got more than 102400 bytes"),
    ],
)  # fmt: skip
def test_lasting_faults_are_named(get: Any, root: Path, server: Upstream, fault: str, message: str) -> None:
    server.faults["toy/a.txt"] = [fault] * 30
    with pytest.raises(FetchError, match=message) as error:
        get("toy", timeout=0.4 if fault == "silent" else 10)
    assert re.match("toy/a.txt must be available at http://127.*, got ", str(error.value))
    assert re.search("`hpo-envs fetch toy` again, or set HPO_ENVS_DATA", str(error.value))
    assert tree(root) == {}
    server.faults.clear()
    get("toy", retries=1)
    assert tree(root) == CONTENT


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes the certificate")
@pytest.mark.parametrize("name", ["elsewhere.example", "127.0.0.1"])
def test_server_with_another_certificate_is_not_believed(
    get: Any, root: Path, server: Upstream, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trusted certificate for another name, and an untrusted one for this name."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName={'IP' if name[0] == '1' else 'DNS'}:{name}"]
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {certificate}".split()
    subprocess.run([*command, *subject], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    monkeypatch.setattr(download, "UPSTREAM", download.UPSTREAM.replace("http://", "https://"))
    if name == "elsewhere.example":
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    rejects("certificate|CERTIFICATE|doesn't match", get, "toy", retries=1, error=FetchError)
    assert (tree(root), server.requests) == ({}, [])


def test_file_of_unknown_size_is_bounded(get: Any, root: Path, server: Upstream, monkeypatch: Any) -> None:
    monkeypatch.setattr(catalogue, "LARGEST", 100_000)
    server.faults["toy/blob.csv"] = ["long"]
    rejects(r"must have gitblob:[0-9a-f]{40}, got more than 100000 bytes", get, "toy", error=FetchError)
    server.content["toy/blob.csv"] = b"x" * 100_001
    rejects(r"must have gitblob:[0-9a-f]{40}, got more than 100000 bytes", get, "toy", error=FetchError)
    assert "toy/blob.csv" not in tree(root)


def test_wrong_installed_files_are_replaced(get: Any, root: Path, server: Upstream) -> None:
    get("toy")
    (root / "toy/a.txt").write_bytes(CONTENT["toy/a.txt"][:-1])
    (root / "toy/blob.csv").unlink()
    assert [folder.is_installed(r, root) for r in folder.select("toy")] == [False, True, False]
    server.faults["toy/a.txt"] = ["404"]
    with pytest.raises(FetchError):
        get("toy")
    assert (root / "toy/a.txt").read_bytes() == CONTENT["toy/a.txt"][:-1]  # until the right one is here
    assert (list(get("toy").values()), tree(root)) == (["installed", "present", "installed"], CONTENT)


def test_no_network(get: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "UPSTREAM", closed_port() + "/{repository}/{commit}/{path}")
    rejects(r"toy/a.txt .*Connection refused.*3 of 3 attempts", get, "toy", error=FetchError)
    assert tree(root) == {}


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"names": "tou"}, r"name must be one of toy .*, got 'tou', did you mean 'toy'\?"),
        ({"retries": 0}, "retries must be an int >= 1, got 0"),
    ],
)
def test_invalid_arguments_are_rejected(get: Any, root: Path, kwargs: dict[str, Any], message: str) -> None:
    rejects(message, get, **{"names": "toy", **kwargs})
    assert not root.exists()


@pytest.mark.parametrize(
    "code, said", [(errno.EROFS, "Read-only file system"), (errno.ENOSPC, "No space left .*Free space")]
)
def test_folder_that_rejects(get: Any, root: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    rejects(rf"data folder .* must be writable, got {said}.*HPO_ENVS_DATA", get, "toy", error=FetchError)
    assert tree(root) == {}


def test_folder_that_cannot_be_made(get: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.write_text("a file where the folder should be")
    for where in (root, root / "below"):
        monkeypatch.setenv("HPO_ENVS_DATA", str(where))
        rejects(r"data folder .* must be writable, got (File exists|Not a directory)", get, "toy", error=FetchError)
    assert root.read_text().startswith("a file")


def test_complete_read_only_cache_is_fine(get: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    get("toy")

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(os, "replace", refuse)
    assert set(get("toy").values()) == {"present"}


# A process of its own that fetches the toy catalogue: sys.argv = tests folder, server.
PROCESS = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.tables.files import test_download
from hpo_envs.commands import main as cli
from hpo_envs.tables import catalogue
from hpo_envs.tables.files import download
records = test_download._records()
catalogue.files = lambda: records
print("ready", flush=True)
download.UPSTREAM = sys.argv[2] + "/{repository}/{commit}/{path}"
sys.exit(cli.main(["fetch", "toy"]))
"""


def start(server: Upstream, root: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "HPO_ENVS_DATA": str(root), "NO_PROXY": "*"}
    command = [sys.executable, "-c", PROCESS, str(ROOT), server.url]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True)


def test_two_processes_at_once(root: Path, server: Upstream) -> None:
    server.pause = 0.02
    both = [start(server, root) for _ in range(2)]
    outputs = [p.communicate(timeout=120) for p in both]
    assert [p.returncode for p in both] == [0, 0], outputs
    assert tree(root) == CONTENT
