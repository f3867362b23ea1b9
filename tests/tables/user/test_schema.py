"""A schema in words, as plain data and as a file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from hpo_envs.tables.user import schema
from tests.tables.user.helpers import from_text

TEXT = b'lr,"odd ""name""",depth,momentum,opt,acc\n' + b"".join(
    f'{lr},{n},{d},{m},{o},{a}\n'.encode()
    for lr, n, d, m, o, a in [
        (0.001, "x", 3, 0.9, "sgd", 0.5), (0.5, "y", "none", "", "adam", 0.6), (0.02, "x", 5, 0.5, "sgd", 0.7),
        (0.03, "y", 3, "", "adam", 0.8),
    ]
)  # fmt: skip


def test_a_file_says_all_that_was_guessed(tmp_path: Path) -> None:
    settled: list[schema.Schema] = []
    guessed = from_text(TEXT, log={"lr": False}, settle=settled.append)
    text = schema.to_toml(settled[0], guessed)
    assert tomllib.loads(text)["space"]["depth"]["choices"] == [3, 5, "none"]
    (tmp_path / "s.toml").write_text(text)
    fixed = from_text(TEXT, schema=tmp_path / "s.toml")
    assert fixed.space == guessed.space
    assert fixed.provenance.sha256 == guessed.provenance.sha256
    assert schema.from_file(tmp_path / "s.toml").space == guessed.space


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scores = 1", "keys must be among score, .*, got 'scores', did you mean 'score'"),
        ("cost = 1", "cost must be the name of a column, got 1"),
        ("duplicates = 'no'", "duplicates must be true or false, got 'no'"),
        ("drop = 3", "drop must be a list of names, got 3"),
        ("fill = 3", "fill must map columns to values, got 3"),
        ("[space]\nlr = {low = 1}", "lr must have numbers as low and high"),
        ("a = ", "must be TOML"),
    ],
)
def test_what_is_wrong_in_a_schema(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        schema.from_file(tmp_path / "s.toml")
