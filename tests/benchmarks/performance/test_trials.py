"""What trials share as commands."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from hpo_envs.benchmarks.performance import trials


@dataclass(frozen=True)
class Result:
    good: bool


def test_a_trial_has_a_folder_its_options_and_an_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    folders = []

    def trial(folder: Path, times: int, seconds: float) -> Result:
        assert folder.is_dir()
        folders.append(folder)
        return Result(times * seconds > 1.0)

    parser = trials.parser("Tries.", times=(2, "how often"), seconds=(1.0, "how long"))
    assert trials.conduct(trial, **vars(parser.parse_args([]))) == 0
    assert trials.conduct(trial, **vars(parser.parse_args(["--seconds=.5"]))) == 1
    assert capsys.readouterr().out == "Result(good=True)\nResult(good=False)\n"
    assert not any(folder.exists() for folder in folders)
    assert "how often (default: 2)" in " ".join(parser.format_help().split())


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_sigterm_ends_a_trial_with_what_it_has_started() -> None:
    folders: list[Path] = []

    def trial(folder: Path) -> Result:
        folders.append(folder)
        os.kill(os.getpid(), signal.SIGTERM)
        return Result(True)

    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit, match=str(128 + signal.SIGTERM)):
            trials.conduct(trial)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not folders[0].exists()
