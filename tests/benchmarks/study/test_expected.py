"""The runs that a folder should have."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.benchmarks.study import expected


def test_expected_runs_are_kept_and_extended(tmp_path: Path) -> None:
    assert expected.read(tmp_path) is None
    assert expected.missing(tmp_path, {}) == ""
    assert "there is no study.json" in expected.missing(tmp_path, {("E-v0", "a"): [0]})
    expected.note(tmp_path, {("E-v0", "a"): (0, 1, 2, 7), ("E-v0", "b"): (0,)})
    assert expected.read(tmp_path) == {("E-v0", "a"): {0, 1, 2, 7}, ("E-v0", "b"): {0}}
    (tmp_path / "E-v0").mkdir()
    (tmp_path / "E-v0" / "part.parquet").touch()
    expected.note(tmp_path, {("E-v0", "a"): (3,)})
    assert expected.read(tmp_path) == {("E-v0", "a"): {0, 1, 2, 3, 7}, ("E-v0", "b"): {0}}
    here = {("E-v0", "a"): [0, 2, 3, 7], ("E-v0", "b"): [0, 5]}
    assert expected.missing(tmp_path, here) == "INCOMPLETE: 1 of 6 runs of the study are missing: a on E-v0, seeds 1."
    assert expected.missing(tmp_path, {}).endswith("a on E-v0, seeds 0-3, 7; b on E-v0, seeds 0.")
    (tmp_path / "E-v0" / "part.parquet").unlink()
    expected.note(tmp_path, {("E-v0", "a"): (3,)})
    assert expected.read(tmp_path) == {("E-v0", "a"): {3}}, "runs that were deleted are made otherwise"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": 2, "runs": {}}', '{"format": 1, "runs": {"E": 3}}', "[" * 5000]
    + [
        f'{{"format": 1, "runs": {{"E": {{"a": [{pair}]}}}}}}'
        for pair in ("[0, 1e9]", "[0, 999999999999]", "[2, 1]", "3")
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(ValueError, match=r"study.json must list runs as hpo_envs writes them, got "):
        expected.read(tmp_path)
