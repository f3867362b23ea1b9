"""`hpo-envs reproduce`: one-line errors."""

from __future__ import annotations

import pytest

from hpo_envs.commands import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reproduce", "chars"], "did you mean 'charhpo'"),
        (["reproduce", "charhpo", "--only", "table"], "--only must be one of"),
        (["reproduce", "charhpo", "--trials", "0"], "--trials must be an int >= 1, got 0"),
        (["reproduce", "charhpo", "--seed", "-1"], "--seed must be an int >= 0, got -1"),
    ],
)
def test_commands_say_what_is_wrong(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(words) == 2
    assert message in capsys.readouterr().err
