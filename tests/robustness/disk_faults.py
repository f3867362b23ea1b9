"""Faults at every disk operation of a piece of work, one process per step; the remaining state is checked each time.

    python tests/robustness/disk_faults.py WORK FOLDER [URL] [--faults kill full ...]
    python tests/robustness/disk_faults.py table FOLDER URL      # every work with every fault

For k = 1, 2, ... a child process does the work on a fresh copy of the old state, and a fault comes at its k-th step
(opening a file to write, writing, half of a write, flushing, renaming, deleting, making a folder), until a child comes
to the end; other faults last from the beginning to the end. After each the work is done again without a fault: it has
to end right, and nothing that was there may be lost. Prints what was seen as JSON. tests/robustness/test_faults.py runs
it: the children are forked from a process without threads.
"""

import argparse
import builtins
import contextlib
import errno
import fcntl
import io
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

REFUSED = 17
"""Exit status of a child whose work failed with a message that names one of its files."""

AT_A_STEP = {
    "kill": "the process is killed",
    "full": "the disk is full from there on",
    "error": "one step fails with an input/output error, such as `fsync`",
    "second": "another process begins the same work, and both go on",
    "unlocked": "the same, on a file system without locks",
}
THROUGHOUT = {
    "readonly": "the folder is read-only",
    "locks": "the file system has no locks",
    "short": "every write takes a few bytes at a time",
    "clock": "the clock goes backwards",
}
FAULTS = {**AT_A_STEP, **THROUGHOUT}
TWO = ("second", "unlocked")


class Steps:
    """Counts the disk operations of this process and breaks one.

    Args:
        at: Number of the operation to break, from 1.
        fault: One of `FAULTS`.
        tell: File to which the kind of the broken operation is written.
        second: Starts the work in another process.
    """

    def __init__(self, at: int, fault: str, tell: int, second: Callable[[], object] = int) -> None:
        self.at, self.fault, self.tell, self.count, self.second = at, fault, tell, 0, second

    def step(self, kind: str, grows: bool = True, *path: Any) -> None:
        """Before each operation; `grows`: whether it needs disk space, `path`: its file."""
        self.count += 1
        if self.fault == "readonly" and grows:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), *path)
        if self.fault not in AT_A_STEP:
            return
        if self.count == self.at:
            os.write(self.tell, kind.encode() + b"\n")
            if self.fault == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.fault in TWO:
                self.second()
            if self.fault == "error" and grows:
                raise OSError(errno.EIO, os.strerror(errno.EIO), *path)
        if self.fault == "full" and grows and self.count >= self.at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *path)

    def install(self) -> None:
        """Replace Python's disk operations."""
        opened = io.open

        def open_(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            if not set(mode) & set("wax+"):
                return opened(file, mode, *args, **kwargs)
            self.step("before open", True, file)
            if self.fault == "short" and "b" in mode and mode != "wb+":
                raw = _Short(file, mode)
                return io.BufferedRandom(raw) if raw.readable() else io.BufferedWriter(raw)
            return _Watched(opened(file, mode, *args, **kwargs), self)

        builtins.open = io.open = open_  # type: ignore[assignment]
        for name, grows in (("replace", False), ("rename", False), ("unlink", False), ("mkdir", True), ("fsync", True)):
            setattr(os, name, self._around(name, getattr(os, name), grows))
        os.sendfile = self._part_by_part(os.sendfile)  # what shutil copies with
        if self.fault in ("locks", "unlocked"):
            fcntl.flock = _no_locks  # type: ignore[assignment]
        if self.fault == "clock":
            hours = itertools.count()
            time.time = lambda: 1e9 - 3600 * next(hours)  # type: ignore[assignment]

    def _around(self, name: str, real: Callable[..., Any], grows: bool) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.step(f"before {name}", grows, *args[: name != "fsync"])
            value = real(*args, **kwargs)
            self.step(f"after {name}", False)
            return value

        return call

    def _part_by_part(self, real: Callable[..., int]) -> Callable[..., int]:
        def sendfile(out: int, source: int, offset: int, count: int) -> int:
            self.step("before sendfile")
            return real(out, source, offset, min(count, 40_000))

        return sendfile


def _no_locks(*_: Any) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


class _Short(io.FileIO):
    """A file that writes at most 100 bytes at a time."""

    def write(self, data: Any) -> int:
        return super().write(memoryview(data)[:100])


class _Watched:
    """A file whose writes are counted."""

    def __init__(self, file: Any, steps: Steps) -> None:
        self._file, self._steps = file, steps

    def write(self, data: Any) -> int:
        self._steps.step("before write")
        half = len(data) // 2
        self._file.write(data[:half])
        self._file.flush()
        self._steps.step("half of a write")
        return half + int(self._file.write(data[half:]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()

    def __iter__(self) -> Any:
        return iter(self._file)


@dataclass(frozen=True)
class Work:
    """Work that writes files.

    Attributes:
        prepare: Makes the old state in a folder.
        act: Writes the new state.
        judge: "old", "new" or "between"; raises AssertionError if what is there is neither. "Between" is for works of
            several files, each of which is old or new.
        last: Whether doing it again leaves nothing but the new state: no unfinished files.
    """

    prepare: Callable[[Path], None]
    act: Callable[[Path], object]
    judge: Callable[[Path], str]
    last: bool = True
    silent: bool = False  # whether the work is optional: it says nothing when it fails


def child(work: Work, folder: Path, at: int, fault: str, tell: int) -> None:
    """Do the work with one operation broken; never returns."""
    status = 1
    try:
        second = Second(work, folder, fault) if fault in TWO else None
        Steps(at, fault, tell, second.begin if second else int).install()
        try:
            work.act(folder)
            status = 0
        finally:
            status = max(status, second.wait()) if second else status
    except (OSError, ValueError) as error:
        status = REFUSED if str(folder) in str(error) else 1  # it names a file
        if status == 1:
            print(repr(error), file=sys.stderr)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


class Second:
    """A process that does the work, too, on request; started before the first operation, so that it holds no lock."""

    def __init__(self, work: Work, folder: Path, fault: str) -> None:
        heard, self._say = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._say)
            status = 0
            try:
                if os.read(heard, 1):
                    if fault == "unlocked":
                        fcntl.flock = _no_locks  # type: ignore[assignment]
                    work.act(folder)
            except (OSError, ValueError) as error:
                status = REFUSED if str(folder) in str(error) else 1
            finally:
                os._exit(status)
        os.close(heard)

    def begin(self) -> None:
        """Let it work alone for a while: it may finish, or wait for a lock of this process."""
        os.write(self._say, b"x")
        for _ in range(20):
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
                return
            time.sleep(0.01)

    def wait(self) -> int:
        """Exit status; being refused is no fault."""
        os.close(self._say)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return 0 if code in (0, REFUSED) else 1


def break_everywhere(work: Work, scratch: Path, fault: str) -> dict[str, Any]:
    """Break each operation once; for a lasting fault, do the whole work with it.

    Returns:
        `broken` (how often), `states` after it (by name), `steps` (kind -> how often), `left` (unfinished files that
        stayed, at most).
    """
    old = scratch / "old"
    old.mkdir(parents=True)
    work.prepare(old)
    assert work.judge(old) == "old"
    states: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    left = at = 0
    while True:
        at += 1
        assert at < 2000, "the work must come to an end"
        folder = scratch / "now"
        shutil.copytree(old, folder)
        read, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            child(work, folder, at, fault, tell)
        os.close(tell)
        _, status = os.waitpid(pid, 0)
        with os.fdopen(read, "rb") as pipe:
            kind = pipe.read().decode().strip()
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, -signal.SIGKILL if fault == "kill" else REFUSED), f"status {code} at step {at} ({kind})"
        state = work.judge(folder)
        assert code or work.silent or state == "new", f"step {at} ({kind}) failed, and nothing was said"
        states[state] += 1
        left = max(left, _unfinished(folder))
        if kind:
            steps[kind] += 1
        if kind or fault == "readonly":
            work.act(folder)
        assert work.judge(folder) == "new", f"doing it again must give the new state, after step {at} ({kind})"
        if not work.last:
            from hpo_envs.tables.files import atomic

            for below in (folder, *(p for p in folder.rglob("*") if p.is_dir())):
                atomic.sweep(below)
        assert not _unfinished(folder), sorted(folder.rglob("*.part"))
        shutil.rmtree(folder)
        if not kind:
            assert code == 0 or fault == "readonly"
            assert state == ("old" if code else "new")
            return {"broken": at - 1, "states": dict(states), "steps": dict(steps), "left": left}


def _unfinished(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.part"))


# -- what is written ---------------------------------------------------------------------------------------------------


def fetching(url: str) -> Work:
    """Upstream's files over the network; one exists with wrong bytes."""
    from hpo_envs.tables import catalogue
    from hpo_envs.tables.files import download
    from tests.tables.files import test_download as test_fetch

    records = test_fetch._records()
    catalogue.files = lambda: records
    os.environ["NO_PROXY"] = "*"
    download._CHUNK = 1 << 15  # fewer steps, of the same kinds
    wrong = b"old" * 20

    def prepare(folder: Path) -> None:
        (folder / "toy").mkdir()
        (folder / "toy/a.txt").write_bytes(wrong)

    def act(folder: Path) -> None:
        os.environ["HPO_ENVS_DATA"] = str(folder)
        download.UPSTREAM = url + "/{repository}/{commit}/{path}"
        download.fetch("toy", progress=False, backoff=0.0, timeout=60)

    def judge(folder: Path) -> str:
        news = []
        for file, content in test_fetch.CONTENT.items():
            path = folder / file
            now = path.read_bytes() if path.exists() else None
            assert now in (content, wrong if file == "toy/a.txt" else None), file
            news.append(now == content)
        return "new" if all(news) else "between" if any(news) else "old"

    return Work(prepare, act, judge)


def _void(_: object) -> None:
    return None


def own_table() -> Work:
    """A user's table that replaces another of the same name."""
    import dataclasses

    from hpo_envs.tables import store, user

    shas = {}
    made = {}
    for state, name in (("old", "nmthpo/zhen"), ("new", "nmthpo/enja")):
        table = store.load(name)
        fresh = dataclasses.replace(table.provenance, sha256="")
        made[state] = dataclasses.replace(table, name="user/mine", provenance=fresh)
        shas[made[state].provenance.sha256] = state

    def act(folder: Path) -> None:
        user.save(made["new"], folder / "mine.npz", replace=True)

    return Work(
        lambda folder: _void(user.save(made["old"], folder / "mine.npz")),
        act,
        lambda folder: shas[user.load(str(folder / "mine.npz")).provenance.sha256],
        last=False,
    )


def runs() -> Work:
    """Runs of two environments that are added to a store."""
    from hpo_envs.benchmarks.study import store
    from tests.benchmarks.study import test_store

    before = [test_store.make(s) for s in range(3)]
    after = [test_store.make(s) for s in range(6)] + [test_store.make(0, env="NMTHPO-swen-v0", table="nmthpo/swen")]

    def judge(folder: Path) -> str:
        found = store.read(folder)
        atomic = {store.key_of(r): r for r in after}
        assert all(test_store.equal(r, atomic[store.key_of(r)]) for r in found)
        keys = {store.key_of(r) for r in found}
        assert keys >= {store.key_of(r) for r in before}
        env = {e: sum(k[0] == e for k in keys) for e in ("NMTHPO-zhen-v0", "NMTHPO-swen-v0")}
        assert env["NMTHPO-zhen-v0"] in (3, 6), "a part is whole"
        return "old" if len(keys) == 3 else "new" if len(keys) == 7 else "between"

    return Work(lambda folder: _void(store.write(before, folder)), lambda folder: store.write(after, folder), judge)


def search() -> Work:
    """The journal of a search by `tune`."""
    from hpo_envs.benchmarks.runs.journal import Journal

    def act(folder: Path) -> None:
        journal = Journal(folder / "journal")
        for number in range(len(journal.records), 3):
            journal.append({"number": number})

    def judge(folder: Path) -> str:
        records = Journal(folder / "journal").records if (folder / "journal").exists() else []
        assert records == [{"number": number} for number in range(len(records))]
        return {0: "old", 3: "new"}.get(len(records), "between")

    return Work(_void, act, judge)


def pages() -> Work:
    """The files of a leaderboard, or any other set of files."""
    from hpo_envs.tables.files import atomic

    names = ("README.md", "docs/verdict.png", "benchmarks/leaderboard.json.gz")
    contents = {state: {n: f"{state} {n} " * 500 for n in names} for state in ("old", "new")}

    def judge(folder: Path) -> str:
        states = {s for n in names for s in contents if (folder / n).read_text("utf-8") == contents[s][n]}
        assert all((folder / n).read_text("utf-8") in (contents["old"][n], contents["new"][n]) for n in names)
        return states.pop() if len(states) == 1 else "between"

    def put(state: str, folder: Path) -> None:
        atomic.write_all({folder / n: text for n, text in contents[state].items()})

    return Work(lambda folder: put("old", folder), lambda folder: put("new", folder), judge, last=False)


def archives() -> Work:
    """An archive of runs, and its table of runs."""
    from hpo_envs.benchmarks import Comparison
    from hpo_envs.benchmarks.comparison import archive

    def prepare(folder: Path) -> None:
        track = 'environments = ["NMTHPO-swen-v0"]\nagents = ["random"]\nseeds = 2\nbudget = 3\n'
        (folder / "track.toml").write_text(track)
        for _ in Comparison(folder / "track.toml", folder / "track").run().save():
            pass
        (folder / "track.zip").write_bytes(b"old")

    def act(folder: Path) -> None:
        given = ["--track", str(folder / "track.toml"), "--runs", str(folder / "track")]
        with contextlib.redirect_stdout(io.StringIO()):
            archive.main(["build", *given, "--out", str(folder / "track.zip")])

    def judge(folder: Path) -> str:
        if (folder / "track.zip").read_bytes() == b"old":
            return "old"
        with archive.opened(folder / "track.zip") as (_, runs):
            assert len([*runs.glob("*/*.parquet")]) == 1
        return "new"

    return Work(prepare, act, judge)


def study() -> Work:
    """A study that `compare` extends: more seeds, tables of runs, summary and page."""
    import pandas as pd

    from hpo_envs.benchmarks import Comparison

    sys.modules["matplotlib"] = None  # type: ignore[assignment]  # pictures take most of the time, and are written alike

    def act(folder: Path, seeds: int = 4) -> None:
        given = {"environments": ["NMTHPO-swen-v0"], "agents": ["random"], "seeds": seeds, "budget": 3}
        comparison = Comparison(given, folder / "runs").run()
        comparison.report()
        for _ in comparison.save():
            pass

    def judge(folder: Path) -> str:
        known = Comparison.load(folder / "runs")
        seeds = sorted(seed for block in known.blocks() for seed in block.seeds.tolist())
        assert seeds in ([0, 1], [0, 1, 2, 3]), seeds
        rows = len(pd.read_parquet(folder / "runs/runs.parquet"))
        page = " 4 seeds" in (folder / "runs/report.html").read_text("utf-8")
        assert rows <= len(seeds)
        return "new" if rows == 4 and page else "old" if len(seeds) == 2 else "between"

    return Work(lambda folder: act(folder, 2), act, judge, last=False)


def tuned() -> Work:
    """A search by `tune`: its journal, from the folder to the last evaluation."""
    from hpo_envs.tuning import tune

    def act(folder: Path) -> None:
        tune(_squared, {"x": (0.0, 1.0)}, budget=3, agent="random", out=folder / "search", seed=0, progress=False)

    def judge(folder: Path) -> str:
        from hpo_envs.tuning.record import NAME, SearchRecord

        if not (folder / "search" / NAME).exists():
            return "old"
        known = SearchRecord(folder / "search").evaluations
        ended = [e for e in known if e.status == "ok"]
        assert all(e.reward == _squared(e.config) for e in ended)
        return "new" if len(ended) == 3 else "between"

    return Work(_void, act, judge)


def _squared(config: dict[str, Any]) -> float:
    return -float((config["x"] - 0.5) ** 2)


def trainings() -> Work:
    """Trainings of a measured table, and the data into which they are packed."""
    from hpo_envs.benchmarks.runs import executors
    from hpo_envs.benchmarks.study import measure
    from hpo_envs.tables.files import atomic

    def act(folder: Path) -> None:
        with executors.of_jobs(1) as executor:
            measure.conduct(["a", "b", "c"], _trained, folder / "kept", executor, watch=lambda *_: None)
        atomic.write(folder / "packed", json.dumps(measure.records(folder / "kept")))

    def judge(folder: Path) -> str:
        if not (folder / "kept" / measure.JOURNAL).exists():
            return "old"
        found = measure.records(folder / "kept")
        assert found == [_trained(name) for name in ("a", "b", "c")[: len(found)]]
        return "new" if (folder / "packed").exists() else "between"

    return Work(_void, act, judge)


def _trained(task: str) -> dict[str, Any]:
    return {"task": task, "score": ord(task)}


WORKS: dict[str, Callable[[str], Work]] = {
    "fetch": fetching, "own-table": lambda _: own_table(), "runs": lambda _: runs(), "study": lambda _: study(),
    "search": lambda _: search(), "tune": lambda _: tuned(), "trainings": lambda _: trainings(),
    "pages": lambda _: pages(), "archive": lambda _: archives(),
}  # fmt: skip


# -- two at once -------------------------------------------------------------------------------------------------------


def together(scratch: Path, writers: int = 2, times: int = 60) -> dict[str, Any]:
    """Processes write one file repeatedly while this one reads it; the clock is set back for a third of the reads."""
    from hpo_envs.tables.files import atomic

    path = scratch / "file"
    contents = [bytes([65 + i]) * 100_000 for i in range(writers)]
    atomic.write(path, contents[0])
    children = []
    for content in contents:
        pid = os.fork()
        if pid == 0:
            try:
                for i in range(times):
                    if i % 3 == 0:
                        time.time = lambda: -1e9  # type: ignore[assignment]
                    atomic.write(path, content)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(pid)
    seen: Counter[str] = Counter()
    running = set(children)
    while running:
        now = path.read_bytes()
        assert now in contents, len(now)
        seen[chr(now[0])] += 1
        for pid in list(running):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                assert status == 0
                running.remove(pid)
    return {"reads": sum(seen.values()), "left": _unfinished(scratch)}


def main() -> int:
    """Run works with faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=[*WORKS, "together", "table"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("url", nargs="?", default="")
    parser.add_argument("--faults", nargs="+", choices=[*FAULTS], default=[*FAULTS])
    args = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[2]))
    if args.work == "together":
        print(json.dumps(together(args.folder)))
        return 0
    if args.work == "table":
        return table(args.folder, args.url, args.faults)
    work = WORKS[args.work](args.url)
    print(json.dumps({fault: break_everywhere(work, args.folder / fault, fault) for fault in args.faults}))
    return 0


def table(scratch: Path, url: str, faults: list[str]) -> int:
    """Print how often each fault was injected into each work; return 1 if a process failed."""
    print("| written |", " | ".join(faults), "|\n|" + "---|" * (len(faults) + 1))
    holes = 0
    for name in WORKS:
        cells = []
        for fault in faults:
            command = [sys.executable, __file__, name, str(scratch / name), url, "--faults", fault]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(done.stderr[-2000:], file=sys.stderr)
            cells.append(str(max(1, json.loads(done.stdout)[fault]["broken"])) if not done.returncode else "FAILED")
            holes += done.returncode != 0
        print(f"| {name} |", " | ".join(cells), "|", flush=True)
    return int(holes > 0)


if __name__ == "__main__":
    sys.exit(main())
