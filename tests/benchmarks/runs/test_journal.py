"""The journal of single evaluations: after any kill it has exactly what was appended."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hpo_envs.benchmarks.runs.journal import DamagedError, Journal, salvage
from tests.helpers import ROOT, rejects

pytestmark = pytest.mark.hostile

RECORDS = [{"seed": 0, "reward": 0.1 + 0.2, "config": {"lr": 1e-3}}, {"seed": 1}, {"seed": 2, "text": "ä\n"}]


def filled(path: Path) -> Journal:
    journal = Journal(path)
    for record in RECORDS:
        journal.append(record)
    return journal


def test_records_come_back(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert filled(path).records == Journal(path).records == RECORDS
    again = Journal(path)
    again.append({"seed": 3})
    assert Journal(path).records == [*RECORDS, {"seed": 3}]


def test_a_line_that_was_cut_off_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    filled(path)
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    for end in range(len(data)):
        path.write_bytes(data[:end])
        whole = sum(end >= sum(map(len, lines[: i + 1])) for i in range(len(lines)))
        if not whole:  # the first is written as a whole, so that an emptied journal is damage
            rejects(r"run\.jsonl must begin with a whole record, .* delete it", Journal, path)
            continue
        journal = Journal(path)
        assert journal.records == RECORDS[:whole]
        journal.append({"next": end})
        assert Journal(path).records == [*RECORDS[:whole], {"next": end}]


def test_flipped_bits_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    filled(path)
    data, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(300):
        bad = bytearray(data)
        bad[rng.integers(len(bad) - 1)] ^= 1 << int(rng.integers(8))  # the last line break makes a cut of a flip
        path.write_bytes(bad)
        rejects("line [123]: must match its checksum", Journal, path)


SCRIPT = """
import sys
sys.path[:0] = {path!r}
from hpo_envs.benchmarks.runs.journal import Journal, salvage
journal = Journal({file!r})
for i in range(len(journal.records), 100000):
    journal.append({{"i": i}})
    print(i, flush=True)
"""


def test_killed_process_loses_nothing_that_it_reported(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for _ in range(3):
        script = SCRIPT.format(path=[str(ROOT), *sys.path], file=str(path))
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(5):
            process.stdout.readline()
        process.kill()
        reported = [int(line) for line in process.stdout.read().split()]
        process.wait()
        records = Journal(path).records
        assert [r["i"] for r in records] == list(range(len(records)))
        assert not reported or reported[-1] < len(records)


def test_non_plain_data_is_rejected(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run.jsonl")
    with pytest.raises(TypeError):
        journal.append({"x": object()})
    assert journal.records == []
    assert not journal.path.exists()


def test_second_writer_is_refused_before_anything_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    first = filled(path)
    second = Journal(path)
    second.append({"by": "second"})
    before = path.read_bytes()
    for record in ({"by": "first"}, {"by": "first, with a longer record than that of the second"}):
        rejects("must have one writer, got changes by another one: nothing was added", first.append, record)
    assert path.read_bytes() == before
    assert Journal(path).records == [*RECORDS, {"by": "second"}]


@pytest.mark.parametrize("change", ["shorter", "other", "replaced"])
def test_file_that_changed_under_its_writer_is_left_alone(tmp_path: Path, change: str) -> None:
    path = tmp_path / "run.jsonl"
    journal = filled(path)
    data = path.read_bytes()
    changed = {"shorter": data[:-3], "other": data[:-3] + b"???", "replaced": data[: len(data) // 2] * 3}[change]
    path.write_bytes(changed)
    rejects("must have one writer", journal.append, {"seed": 3})
    assert path.read_bytes() == changed


def test_damaged_journal_keeps_its_valid_beginning(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    filled(path)
    assert salvage(path) is None
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    lost = salvage(path)
    assert lost is not None
    assert (lost[0], lost[1].read_bytes(), Journal(path).records) == (1, bytes(data), RECORDS[:2])
    reader = Journal(path)
    with open(path, "ab") as file:
        file.write(b"damaged after it was read\n")
    with pytest.raises(DamagedError, match="line 3: must match its checksum") as caught:
        reader.follow()
    assert caught.value.whole == 2
    path.write_bytes(b"damaged from the beginning\n")
    rejects("line 1: must match its checksum", salvage, path)


def test_salvage_writes_through_no_symbolic_link(tmp_path: Path) -> None:
    path, theirs = tmp_path / "run.jsonl", tmp_path / "theirs"
    theirs.write_bytes(filled(path).path.read_bytes()[:-9] + b"damaged\n\n")
    path.unlink()
    path.symlink_to(theirs)
    rejects("got a symbolic link", salvage, path)
    assert theirs.read_bytes().endswith(b"damaged\n\n")
