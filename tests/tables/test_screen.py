"""Commands print no control characters."""

import contextlib
import io
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.commands.main import main
from hpo_envs.tables import screen

pytestmark = pytest.mark.hostile

EVIL = "\x1b]0;owned\x07\x1b[2J\u202ename\x9b31m"
SHOWN = "\\x1b]0;owned\\x07\\x1b[2J\\u202ename\\x9b31m"


@pytest.mark.parametrize(
    ("text", "shown"), [("plain", "plain"), (EVIL, SHOWN), ("Größe 東 ├─\n\t", "Größe 東 ├─\n\t"), ("a\rb", "a\\rb")]
)
def test_escapes(text: str, shown: str) -> None:
    assert screen.escaped(text) == shown


def test_progress_bar_goes_back_to_start_of_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    with screen.on():
        print("\r50%|", end="", file=sys.stderr)
        print("a\rb\x1b")
        sys.stdout.writelines(["\x1b", "c\n"])
    assert capsys.readouterr() == ("a\\rb\\x1b\n\\x1bc\n", "\r50%|")


def test_characters_that_the_encoding_lacks_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(data, "latin-1", write_through=True))
    with screen.on():
        print("Größe 東")
    assert data.getvalue() == "Größe \\u6771\n".encode("latin-1")


def test_what_ends_program_is_shown_escaped(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @screen.on()
    def main() -> None:
        raise ValueError(EVIL)

    monkeypatch.setattr(sys, "excepthook", None)
    with pytest.raises(ValueError, match="owned") as caught:
        main()
    sys.excepthook(*caught._excinfo)  # type: ignore[misc]
    assert capsys.readouterr().err.endswith(f"ValueError: {SHOWN}\n")


def test_a_full_disk_behind_an_output_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full, contextlib.redirect_stdout(full):
        assert main(["list"]) == 2
        with contextlib.suppress(OSError):
            full.close()
    assert "/dev/full must be a usable file or folder, got no space left" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["agent", "column", "folder", "argument", "unknown"])
def test_names_from_files_and_arguments(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, sweep, odd = tmp_path / "study.toml", tmp_path / "sweep.csv", tmp_path / EVIL
    study.write_text(
        'seeds = 1\nbudget = 2\nenvironments = ["NMTHPO-zhen-v0"]\n'
        f'agents = [{{name = {json.dumps(EVIL)}, algorithm = "random"}}]'
    )
    sweep.write_text(f"{EVIL},{EVIL}2,accuracy\n1,2,0.5\n2,1,0.6\n3,1,0.7\n")
    odd.mkdir()
    command = {
        "agent": ["compare", str(study), "--out", str(tmp_path / "runs")],
        "column": ["table", "from-csv", str(sweep), "--score", "accuracy", "--goal", "max", "--name", "mine"],
        "folder": ["report", str(odd / "scores.json")],
        "argument": ["compare", "--env", EVIL],
        "unknown": [EVIL],
    }[what]
    main(command)
    said = "".join(capsys.readouterr())
    assert SHOWN in said
    assert not any(c in said for c in "\x1b\x07\x9b\u202e")


def test_warnings_are_held_back_till_something_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def note(warning: Warning) -> str | None:
        return f"noted: {warning}" if isinstance(warning, UserWarning) else None

    with screen.notes(note):
        warnings.warn("first", UserWarning, stacklevel=1)
        assert capsys.readouterr().err == ""
        print("out")
        assert capsys.readouterr() == ("out\n", "noted: first\n")
        warnings.warn("last", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "noted: last\n"
    with contextlib.suppress(ValueError), screen.notes(note):
        warnings.warn("dropped", UserWarning, stacklevel=1)
        raise ValueError("an argument is wrong")
    assert capsys.readouterr().err == ""
