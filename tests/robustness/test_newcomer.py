"""What the README's commands are taken for, and what they print compared with what it shows."""

from __future__ import annotations

import pytest

from tests.helpers import ROOT
from tests.robustness import newcomer

README = (ROOT / "README.md").read_text("utf-8")


def test_commands_are_the_readmes() -> None:
    assert "hpo-envs compare" in newcomer.command(README, "compare")
    assert newcomer.command(README, "test").endswith(".venv/bin/python -m pytest -n 2\n")
    with pytest.raises(ValueError, match="two commands that make an environment, got 0"):
        newcomer.command("```sh\nls\n```", "test")


def test_output_may_differ_by_one_unit_of_the_last_digit_shown() -> None:
    shown = "```sh\npython3 -m venv\n```\nprints\n```text\nagent  regret\nbo     0.39 [0.36, 0.43]\n```"
    assert newcomer.missing(shown, "x\nbo   0.384 [0.363, 0.426]  \n") == []
    for other in ("bo 0.376 [0.363, 0.426]", "b 0.39 [0.36, 0.43]", "bo 0.39 [0.36]", ""):
        assert newcomer.missing(shown, other) == ["bo     0.39 [0.36, 0.43]"]
    assert newcomer.missing(README, "")
    with pytest.raises(ValueError, match="must show what its first command prints"):
        newcomer.missing("```sh\npython3 -m venv\n```", "")
