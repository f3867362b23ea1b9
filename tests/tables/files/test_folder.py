"""The data folder: what is installed, and how a file gets there whole."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from hpo_envs.tables import catalogue
from hpo_envs.tables.files import folder

CONTENT = b"1\t2\n"
RECORD = catalogue.files_of("nmthpo")[0]._replace(
    file="a/b.tsv", bytes=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest()
)


def test_a_file_is_missing_corrupt_or_right(tmp_path: Path) -> None:
    assert folder.check(RECORD, tmp_path).status == "missing"
    path = tmp_path / RECORD.file
    path.parent.mkdir()
    folder.part_of(path).write_bytes(CONTENT[:2])
    assert folder.check(RECORD, tmp_path).detail == "2 bytes of an interrupted download"
    path.write_bytes(CONTENT[::-1])
    assert folder.check(RECORD, tmp_path).status == "corrupt"
    path.write_bytes(CONTENT)
    assert folder.check(RECORD, tmp_path).status == "ok"


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b"3", b"9" * len(CONTENT)])
def test_wrong_bytes_never_get_the_name(tmp_path: Path, content: bytes) -> None:
    target = tmp_path / "b.tsv"
    folder.part_of(target).write_bytes(content)
    with pytest.raises(folder.WrongContent, match="a/b.tsv must have 4 bytes with sha256"):
        folder.accept(RECORD, folder.part_of(target), target, "somewhere")
    assert list(tmp_path.iterdir()) == []


def test_the_right_bytes_do(tmp_path: Path) -> None:
    target = tmp_path / "b.tsv"
    folder.part_of(target).write_bytes(CONTENT)
    folder.accept(RECORD, folder.part_of(target), target, "somewhere")
    assert target.read_bytes() == CONTENT
    assert not folder.part_of(target).exists()


def test_unknown_data_sets_suggest_the_nearest() -> None:
    assert {r.dataset for r in folder.select("nmthpo")} == {"nmthpo"}
    with pytest.raises(ValueError, match="got 'nmtpho', did you mean 'nmthpo'"):
        folder.select(["nmtpho"])


def test_a_full_disk_is_seen_before_the_first_byte(tmp_path: Path) -> None:
    with pytest.raises(folder.FetchError, match="must have .* bytes free"):
        folder.need_space([RECORD._replace(bytes=1 << 60)], tmp_path)


def test_the_lock_goes_with_its_holder(tmp_path: Path) -> None:
    for _ in range(2):
        with folder.locked(tmp_path, lambda: pytest.fail("nobody holds the lock")) as held:
            assert held
