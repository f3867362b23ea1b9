"""`hpo-envs power`: what it says is enough."""

from __future__ import annotations

import pytest

from hpo_envs.commands.main import main


def test_command_says_what_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", "--effect", "2", "--studies", "40", "--seeds", "20"]) == 0
    out = capsys.readouterr().out
    assert "on these environments, in 80% of studies: 1 environment x 20 seeds" in out
    assert "on environments like these, in 80% of studies: 6 environments x 20 seeds" in out
    assert main(["power", "--effect", "0.1", "--studies", "20", "--clusters", "3", "--seeds", "5"]) == 0
    out = capsys.readouterr().out
    assert "on environments like these, in 80% of studies: none of these" in out
    for wrong in ("--effect", "--goal", "--studies"):
        assert main(["power", wrong, "0"]) == 2
        assert f"{wrong} must be" in capsys.readouterr().err
