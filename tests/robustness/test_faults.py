"""Injected faults: the files on disk are the old state or the new one, and the next attempt succeeds.

Interrupted and wrong downloads in general are in test_download.py, interrupted commands in test_study.py; here faults
are at every step and at every kind of byte.
"""

import concurrent.futures
import contextlib
import functools
import hashlib
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import hpo_envs
from hpo_envs.agents.bandits import select
from hpo_envs.agents.transfer import policy_file
from hpo_envs.benchmarks.comparison import summary
from hpo_envs.benchmarks.runs import journal
from hpo_envs.benchmarks.study import manifest, parquet, study, task
from hpo_envs.benchmarks.study import store as runs
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.tables import catalogue
from hpo_envs.tables.checks import parsed
from hpo_envs.tables.datasets.cushlepor import score
from hpo_envs.tables.files import atomic, download
from hpo_envs.tables.files.folder import FetchError
from tests.helpers import ROOT, rejects
from tests.robustness import hostile
from tests.tables.files import test_download as test_fetch

pytestmark = pytest.mark.hostile

server = test_fetch.server  # fixtures
HERE = Path(__file__).parent


# -- killed, and out of space, at every step ---------------------------------------------------------------------------

EVERY = {"before open", "before fsync", "after fsync", "before replace", "after replace"}
WORKS = {
    "fetch": (30, {"before write", "half of a write"}), "own-table": (8, {"before write", "half of a write"}),
    "runs": (16, {"before write", "half of a write"}), "tune": (20, {"before write", "half of a write"}),
    "trainings": (20, {"before write", "half of a write"}), "pages": (24, {"before write", "half of a write"}),
    "archive": (8, {"before write", "half of a write"}), "search": (10, {"before write", "half of a write"}),
}  # fmt: skip


def process(arguments: list[str]) -> Any:
    """Output of tests/robustness/disk_faults.py."""
    path = os.pathsep.join([str(Path(hpo_envs.__file__).parents[1]), str(HERE)])
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(HERE / "disk_faults.py"), *arguments], env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.skipif(not hasattr(os, "fork") or not hasattr(os, "sendfile"), reason="children are forked")
@pytest.mark.parametrize("name", WORKS)
def test_broken_at_every_step(name: str, tmp_path: Path, server: test_fetch.Upstream) -> None:
    lasting = ("readonly", "locks", "short", "clock")
    found = process([name, str(tmp_path), server.url, "--faults", "kill", "full", *lasting])
    least, kinds = WORKS[name]
    assert [found[mode]["states"] for mode in lasting] == [{"old": 1}, *[{"new": 1}] * 3]
    for mode in ("kill", "full"):
        seen = found[mode]
        assert seen["broken"] >= least, seen
        assert seen["broken"] == sum(seen["steps"].values())
        assert kinds | EVERY <= set(seen["steps"]), seen
        assert {"old", "new"} <= set(seen["states"]) <= {"old", "new", "between"}
        assert seen["left"] <= 1  # one unfinished file, which nobody reads
    assert found["full"]["left"] == 0  # a process that lives clears up


@pytest.mark.skipif("HPO_ENVS_FUZZ" not in os.environ, reason="the whole table takes ten minutes: .ci/nightly faults")
def test_every_fault_at_every_step_of_every_writer(tmp_path: Path, server: test_fetch.Upstream) -> None:
    command = [sys.executable, str(HERE / "disk_faults.py"), "table", str(tmp_path), server.url]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)


@pytest.mark.parametrize("env_id", ["NMTHPO-zhen-v0", "NMTLC-zhen-v0", "CharHPO-v0"])
def test_threads_with_environments_of_their_own_see_what_they_see_alone(env_id: str) -> None:
    def episode(seed: int) -> list[float]:
        env = gym.make(env_id, budget=None)
        env.reset(seed=seed)
        env.action_space.seed(seed)
        return [float(env.step(env.action_space.sample())[1]) for _ in range(60)]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        together = list(pool.map(episode, range(24)))
    assert together == [episode(seed) for seed in range(24)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_two_writers_of_one_file(tmp_path: Path) -> None:
    found = process(["together", str(tmp_path)])
    assert found["reads"] > 0
    assert found["left"] == 0


def test_what_killed_writers_left_is_cleared_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    here, far, now = atomic.machine(), "0" * 16, time.time()
    owners = {"dead": (dead.pid, here), "alive": (os.getppid(), here), "far": (1, far), "far, old": (1, far)}
    parts = {who: tmp_path / f".{i:032x}-{pid}-{host}.part" for i, (who, (pid, host)) in enumerate(owners.items())}
    others = [tmp_path / "x.part", tmp_path / ".x.part", tmp_path / f".{0:032x}.part"]
    for path in (*others, *parts.values()):
        path.touch()
        os.utime(path, (0, 0))  # however old: the process that writes it may have been stopped
    os.utime(parts["far"], (now - 4000, now - 4000))
    atomic.write(tmp_path / "file", "x")
    assert [who for who, p in parts.items() if p.exists()] == ["alive", "far"]
    monkeypatch.setattr(time, "time", lambda: now + 1e6)  # a clock that jumps harms no process of this machine
    atomic.write(tmp_path / "file", "y")
    assert [who for who, p in parts.items() if p.exists()] == ["alive"]
    assert all(p.exists() for p in others)  # nobody else's


def test_tests_leave_nothing_in_temporary_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/tables/test_checks.py"]
    subprocess.run(command, env={**os.environ, "TMPDIR": str(tmp_path)}, check=True, cwd=ROOT, capture_output=True)
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith("pytest-of-")]  # pytest's own


def test_files_are_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "there"
    target.write_text("old")
    os.chmod(target, 0o644)
    link = tmp_path / "link"
    link.symlink_to(target)
    atomic.write(link, "näu")
    assert link.is_symlink()
    assert target.read_bytes() == "näu".encode()
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~mask  # readable by whom the user lets read
    atomic.write(os.devnull, "x")
    assert not os.path.isfile(os.devnull)
    rejects("nowhere", atomic.write, tmp_path / "nowhere" / "file", "x", error=OSError)
    with pytest.raises(IsADirectoryError):
        atomic.write(tmp_path, "x")
    with pytest.raises(UnicodeEncodeError):
        atomic.write(target, "\ud800")
    assert (target.read_bytes(), sorted(p.name for p in tmp_path.iterdir())) == ("näu".encode(), ["link", "there"])


# -- the network -------------------------------------------------------------------------------------------------------

BODY = bytes(range(256)) * 80  # 20,480 bytes: two full reads of the downloader and a half
URL_PATH = "/toy/a.txt"


class Wire:
    """A server that sends scripted bytes and ends connections as scripted; other requests are answered correctly."""

    def __init__(self) -> None:
        self.script: list[tuple[list[bytes], str]] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(60)
        request = b""
        while b"\r\n\r\n" not in request:
            piece = connection.recv(4096)
            if not piece:
                return
            request += piece
        pieces, end = self.script.pop(0) if self.script else ([answer()], "fin")
        for piece in pieces:
            connection.sendall(piece)
        if end == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()


def answer() -> bytes:
    """The complete response to a request."""
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(BODY)}\r\nConnection: close\r\n\r\n".encode() + BODY


def chunked(body: bytes = BODY, size: int = 5000) -> bytes:
    """The response in chunks, with an extension and a trailer."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    return head + b"".join(b"%x;x=1\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\nX-Sum: 1\r\n\r\n"


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire()
    yield made
    made.close()


@pytest.fixture(params=["known size", "known by its blob id"])
def get(
    request: pytest.FixtureRequest, tmp_path: Path, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, str]]:
    """`fetch` of one file from the server."""
    known = (len(BODY), hashlib.sha256(BODY).hexdigest()) if "size" in request.param else (0, test_fetch._blob(BODY))
    record = catalogue.File("toy", "toy/a.txt", "owner/repository", "c" * 40, "a.txt", "MIT", *known)
    monkeypatch.setattr(catalogue, "files", lambda: {record.file: record})
    monkeypatch.setattr(download, "UPSTREAM", wire.url + URL_PATH)
    monkeypatch.setenv("HPO_ENVS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NO_PROXY", "*")
    return functools.partial(download.fetch, "toy", backoff=0.0, timeout=60, progress=False)


def cuts_of(payload: bytes) -> list[int]:
    """Numbers of bytes after which a connection breaks: about each end of a line of the protocol and of a read."""
    body = payload.index(b"\r\n\r\n") + 4  # no line ends in the body itself
    about = [k for m in re.finditer(rb"\r\n", payload) for k in (m.start(), m.start() + 1, m.end(), m.end() + 3)]
    ends = (0, body + 1, body + 8191, body + 8192, body + 8193, (body + len(payload)) // 2, len(payload) - 1)
    return sorted({*about, *ends} - {len(payload), len(payload) + 3})


ANSWERS = {"sized": answer(), "chunked": chunked()}


@pytest.mark.parametrize("end", ["fin", "reset"])
@pytest.mark.parametrize("form", ANSWERS)
def test_connection_that_breaks(get: Any, wire: Wire, tmp_path: Path, form: str, end: str) -> None:
    """One attempt: an error or the correct file. The next one has all of it."""
    target = tmp_path / "data/toy/a.txt"
    for cut in cuts_of(ANSWERS[form]):
        wire.script.append(([ANSWERS[form][:cut]], end))
        said = ""
        try:
            get(retries=1)
        except FetchError as error:
            said = str(error)
        assert target.exists() == (not said), cut
        assert target.read_bytes() == BODY if not said else said.startswith("toy/a.txt must be available at http://127")
        wire.script.clear()
        get(retries=1)
        assert test_fetch.tree(tmp_path / "data") == {"toy/a.txt": BODY}, cut
        target.unlink()


@pytest.mark.parametrize("get", ["known size"], indirect=True)
def test_head_that_breaks_after_any_byte_is_tried_again(get: Any, wire: Wire, tmp_path: Path) -> None:
    """Every byte of a header: the second attempt of the same call has the file."""
    head = answer().index(b"\r\n\r\n") + 4
    number = answer().index(b"Length: ") + len(b"Length: ")
    for cut in range(0, head + 2):
        if number < cut < number + len(str(len(BODY))):
            continue  # the length of another file: refused at once, see above
        wire.script.append(([answer()[:cut]], "fin"))
        get(retries=2)
        assert test_fetch.tree(tmp_path / "data") == {"toy/a.txt": BODY}, cut
        assert not wire.script
        (tmp_path / "data/toy/a.txt").unlink()


@pytest.mark.parametrize("form", ["sized", "chunked"])
def test_server_that_sends_byte_by_byte(get: Any, wire: Wire, tmp_path: Path, form: str) -> None:
    payload = ANSWERS[form]
    head = payload.index(b"\r\n\r\n") + 4
    single = [payload[i : i + 1] for i in range(head + 50)]
    wire.script.append(
        ([*single, payload[head + 50 : -50], *[payload[i : i + 1] for i in range(-50, -1)], payload[-1:]], "fin")
    )
    get(retries=1)
    assert test_fetch.tree(tmp_path / "data") == {"toy/a.txt": BODY}


def test_redirect_that_breaks(get: Any, wire: Wire, tmp_path: Path) -> None:
    head = (
        f"HTTP/1.1 302 Found\r\nLocation: {wire.url}/moved\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    )
    for cut in (15, head.index(b"moved"), len(head) - 1, len(head)):
        _succeeds_at_last(get, wire, tmp_path, head[:cut])
        (tmp_path / "data/toy/a.txt").unlink()


def _succeeds_at_last(get: Any, wire: Wire, tmp_path: Path, sent: bytes) -> None:
    """Whatever the first response causes, the file exists after a correct one."""
    wire.script.append(([sent], "fin"))
    with contextlib.suppress(FetchError):
        get(retries=1)
    wire.script.clear()
    get(retries=1)
    assert test_fetch.tree(tmp_path / "data") == {"toy/a.txt": BODY}


@pytest.mark.parametrize("compressed", [b"gzip", b"br", b"nonsense"])
def test_body_that_is_not_what_its_head_says(get: Any, wire: Wire, tmp_path: Path, compressed: bytes) -> None:
    """We request uncompressed bytes; a badly compressed response is refused or retried."""
    sent = answer().replace(b"Connection", b"Content-Encoding: " + compressed + b"\r\nConnection")
    _succeeds_at_last(get, wire, tmp_path, sent)


def test_compressed_bomb_is_cut_off(get: Any, wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    monkeypatch.setattr(catalogue, "LARGEST", 1 << 20)
    bomb = gzip.compress(bytes(64 << 20), 1)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(bomb)
    wire.script.append(([head + bomb], "fin"))
    rejects(r"toy/a.txt must be available .* must have .*, got more than \d+ bytes", get, retries=1, error=FetchError)
    assert test_fetch.tree(tmp_path / "data") == {}


# -- a home that cannot be written, and clocks -------------------------------------------------------------------------

HOMELESS = """
import io, contextlib, os, sys, warnings
warnings.simplefilter("ignore")
import gymnasium as gym, numpy as np
import hpo_envs
from hpo_envs.commands import main as cli
from hpo_envs.tables import store, user
env = gym.make("NMTHPO-swen-v0")
env.reset(seed=0)
env.step(3)
out = sys.argv[1]
commands = {
    "list": ["list"], "describe": ["describe", "NMTHPO-swen-v0"],
    "compare": "compare --env NMTHPO-zhen-v0 --seeds 2 --budget 3 --out".split() + [out],
    "fetch": ["fetch", "nmthpo"],
    "table": ["table", "from-csv", out + "/own.csv", "--score", "score", "--goal", "max"],
}
for name, words in commands.items():
    o, e = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(o), contextlib.redirect_stderr(e):
        status = cli.main(words)
    print(name, status, e.getvalue().count("\\n"), e.getvalue().replace("\\n", " ")[:300])
"""


@pytest.mark.skipif(os.name != "posix", reason="a home below a device")
def test_read_only_home(tmp_path: Path) -> None:
    """Nothing can be created in the home folder, which lies below a file, so that not even root can."""
    (tmp_path / "own.csv").write_text("lr,score\n0.1,1\n0.2,2\n")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HPO_ENVS", "XDG_", "MPL"))}
    env |= {"HOME": "/dev/null/home", "NO_PROXY": "*", "OMP_NUM_THREADS": "1"}
    env["PYTHONPATH"] = str(Path(hpo_envs.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", HOMELESS, str(tmp_path)], env=env, capture_output=True, text=True, timeout=600, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    for name in ("list", "describe", "compare"):
        assert lines[name].startswith(f"{name} 0 "), lines[name]
    for name, advice in (("fetch", "HPO_ENVS_DATA"), ("table", "")):
        assert lines[name].split()[1:3] == ["2", "1"], lines[name]
        assert "hpo-envs: error: " in lines[name]
        assert "/dev/null" in lines[name]
        assert advice in lines[name]
    assert len(runs.read(tmp_path)) == 2


class Clock:
    """A clock that goes back at every reading."""

    def __init__(self, start: float, by: float) -> None:
        self.now, self.by = start, by

    def __call__(self) -> float:
        self.now -= self.by
        return self.now


def test_wall_clock_that_goes_back_while_fetching(get: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", Clock(time.time(), 3600.0))
    get(retries=1)
    assert (tmp_path / "data/toy/a.txt").read_bytes() == BODY
    os.utime(tmp_path / "data/toy/a.txt", (2**31, 2**31))  # installed in the future
    assert set(get(retries=1).values()) == {"present"}


def test_wall_clock_that_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Any) -> None:
    plan = study.from_data({"environments": ["NMTHPO-zhen-v0"], "agents": ["random"], "seeds": 3, "budget": 4})
    conduct(plan, tmp_path / "straight")
    monkeypatch.setattr(time, "time", Clock(time.time(), 3600.0))
    conduct(plan, tmp_path / "back")
    digests = {runs.digest(runs.read(tmp_path / name)) for name in ("straight", "back")}
    assert len(digests) == 1
    words = ["compare", "--env", "NMTHPO-zhen-v0", "--seeds", "3", "--budget", "4", "--out"]
    assert "0 runs made" in cli([*words, str(tmp_path / "back")])


def test_clock_that_stands_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a coarse clock no time passes: batches grow, and nothing is divided by zero."""
    monkeypatch.setattr(task.time, "perf_counter", lambda: 7.0)
    plan = study.from_data({"environments": ["NMTHPO-zhen-v0"], "agents": ["random"], "seeds": 30, "budget": 4})
    for name, seconds in (("a", 1.0), ("b", 0.0)):
        assert conduct(plan, tmp_path / name, seconds=seconds).made == 30
    assert runs.digest(runs.read(tmp_path / "a")) == runs.digest(runs.read(tmp_path / "b"))


# -- what is on the disk lies ------------------------------------------------------------------------------------------

TEXTS: dict[str, Callable[[Path], object]] = {
    "study.toml": study.from_file,
    "space.toml": lambda path: parsed(path, tomllib.loads, "a TOML file"),
    "summary.json": summary.read,
    "setting.json": lambda path: score.setting_of(str(path)),
    "study.json": lambda path: manifest.read(path.parent),
}
OTHERS: dict[str, Callable[[Path], object]] = {
    "scores.csv": select.read_scores,
    "policy.npz": lambda path: policy_file.read(str(path)),
    "run.journal": journal.Journal,
    f"random-0-0-{'0' * 64}.parquet": parquet.decode,
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
@pytest.mark.parametrize("name", [*TEXTS, *OTHERS])
def test_pipes_are_not_read(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with hostile.guarded(), pytest.raises((ValueError, FileNotFoundError), match=f"{name}.*(a pipe|which is none)"):
        {**TEXTS, **OTHERS}[name](tmp_path / name)


@pytest.mark.parametrize("name", TEXTS)
def test_integers_of_thousands_of_digits_name_their_file(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(("a = " if name.endswith("toml") else "") + "1" * 5000)
    rejects(f"{name} must .*Exceeds the limit", TEXTS[name], tmp_path / name)
