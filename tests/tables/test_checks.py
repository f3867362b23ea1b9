"""Checks of names and values shared by several rooms, and fronts."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.tables.checks import BYTES, distinct, folder_of, nearest, one_of, parsed, shown


def test_nearest_suggests_names_of_same_family_first() -> None:
    assert (nearest("scroe", ("score", "scored")), nearest("q", ["score"])) == (", did you mean 'score'?", "")
    assert nearest("abcd", ["abxy"]) == ", did you mean 'abxy'?"  # half of the letters
    assert nearest("abcd", ["axyz"]) == ""
    ids = ["NMTHPO-swen-v0", "NMTLC-swen-v0", "NMTLC-ft-fren-v0"]
    assert nearest("NMTLC-fren-v0", ids) == ", did you mean 'NMTLC-ft-fren-v0'?"
    assert nearest("nmtlc-swe-v0", ids) == ", did you mean 'NMTLC-swen-v0'?"  # of the family, whatever the case
    assert nearest("bo-learned", ["learned", "bo-spread", "graph-ei"]) == ", did you mean 'bo-spread'?"
    assert nearest(3, ["score"]) == ""  # type: ignore[arg-type]


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (10**5000, "<int>"), ([1], r"\[1\]"), ({}, "{}"), (None, "None"), (np.ma.masked, "masked"),
        (Broken(), "<Broken>"), ("x" * 99, "'x{76}..."), ("secnds", "'secnds', did you mean 'seconds'\\?"),
    ],
    ids=["int", "list", "dict", "None", "masked", "broken", "long", "near"],
)  # fmt: skip
def test_others_are_rejected_with_what_they_are(value: Any, told: str) -> None:
    with pytest.raises(ValueError, match=f"^cost must be one of evaluations, seconds or so, got {told}$"):
        one_of("cost", value, ["evaluations", "seconds"], " or so")


def test_values_are_shown_short() -> None:
    assert (shown("a" * 78), len(shown([0] * 1000))) == (repr("a" * 78), 80)


@pytest.mark.parametrize("given", ["a\nb", "~nobody-of-this-name"])
def test_folders_of_environment_are_one_line_and_have_a_home(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME", given)
    with pytest.raises(ValueError, match="SOME must be a folder, got"):
        folder_of("SOME")


@pytest.mark.parametrize(
    "content, message",
    [
        ('[{"x": 1}]'.encode("utf-16"), "points.json must be UTF-8 text, got byte 0xff"),
        ('[{"x": 1}]'.encode("utf-16-le"), "points.json must be UTF-8 text without NUL characters"),
        (b"[" * 100_000, "points.json must be JSON, got too many levels of nesting"),
        (b'[{"x": 1, "x": 2}]', "points.json must be JSON, got 'x' twice in one object"),
    ],
)
def test_texts_are_read_as_utf8_and_refused_by_name(content: bytes, message: str, tmp_path: Path) -> None:
    path, load = tmp_path / "points.json", functools.partial(json.loads, object_pairs_hook=distinct)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        parsed(path, load, "JSON")
    path.write_text('[{"x": 1, "y": 1}]', encoding="utf-8-sig")  # as Windows' editors do
    assert parsed(path, load, "JSON") == [{"x": 1, "y": 1}]


def test_files_too_large_to_read_are_rejected_before(tmp_path: Path) -> None:
    path = tmp_path / "points.json"
    with path.open("wb") as file:
        file.truncate(BYTES + 1)  # sparse
    with pytest.raises(ValueError, match=f"points.json must be at most {BYTES} bytes, got {BYTES + 1}"):
        parsed(path, json.loads, "JSON")
