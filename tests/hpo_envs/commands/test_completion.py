"""Shell completion, asked of real shells."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hpo_envs import agents
from hpo_envs.commands import completion, main
from hpo_envs.registry import SPECS

FOUND = completion.commands()


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shell") / "hpo-envs.bash"
    path.write_text(completion.bash(FOUND) + "\n")
    return path


def complete(script: Path, line: str, tmp_path: Path) -> list[str]:
    """What bash offers at the end of a line."""
    words = line.split(" ")
    ask = f'source "{script}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hpo_envs; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", ask, "bash", *words], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("hpo-envs ", list(main.COMMANDS)),
        ("hpo-envs rep", ["report", "reproduce"]),
        ("hpo-envs describe FIESTA-t", ["FIESTA-tdsa8-v0", "FIESTA-tdsa12-v0"]),
        ("hpo-envs describe NMTHPO-swen-v0 --table m", ["measured"]),
        ("hpo-envs describe smac-l", ["smac-like"]),
        ("hpo-envs list --a", ["--agents"]),
        ("hpo-envs compare --se", ["--seeds"]),
        ("hpo-envs compare --agents bo-s", ["bo-spread"]),
        ("hpo-envs compare --agents random,bo-s", ["random,bo-spread"]),
        ("hpo-envs compare --env NMTHPO-zhen-v0,CushLEPOR-ted-e", ["NMTHPO-zhen-v0,CushLEPOR-ted-ende-v0"]),
        ("hpo-envs compare --seeds 1", []),
        ("hpo-envs table fr", ["from-csv", "from-optuna"]),
        ("hpo-envs table from-csv swe", []),
        ("hpo-envs reproduce na", ["nasbenchnlp"]),
        ("hpo-envs fetch nmt", ["nmthpo", "nmtlc"]),
        ("hpo-envs completion ", list(completion.SHELLS)),
        ("hpo-envs nothing ", []),
    ],
)
def test_bash_offers(script: Path, line: str, offered: list[str], tmp_path: Path) -> None:
    assert complete(script, line, tmp_path) == offered


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_everything_is_offered(script: Path, tmp_path: Path) -> None:
    assert complete(script, "hpo-envs describe ", tmp_path)[: len(SPECS)] == list(SPECS)
    assert complete(script, "hpo-envs select --agent ", tmp_path) == agents.names()


@pytest.mark.parametrize("command", FOUND, ids=lambda c: c.name)
def test_options_are_those_of_the_command(command: completion.Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([command.name, "--help"]) == 0
    text = capsys.readouterr().out
    # Options of a command's own subcommands are in their own help.
    own = [o for o in command.options if o in text]
    assert len(own) == len(command.options) or command.name == "lepor"
    assert "--help" in own


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_scripts_have_no_errors(shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main.main(["completion", shell]) == 0
    path = tmp_path / "script"
    path.write_text(capsys.readouterr().out)
    assert "NMTHPO-swen-v0" in path.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_offers(tmp_path: Path) -> None:
    path = tmp_path / "hpo-envs.fish"
    path.write_text(completion.fish(FOUND))
    ask = f"source {path}; complete -C 'hpo-envs compare --agents bo-s'"
    done = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.split()[:1] == ["bo-spread"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_takes_bash_s(tmp_path: Path) -> None:
    path = tmp_path / "hpo-envs.zsh"
    path.write_text(completion.zsh(FOUND))
    ask = f"autoload -U compinit && compinit -u -d {tmp_path}/dump; source {path}; print $_comps[hpo-envs]"
    done = subprocess.run(["zsh", "-f", "-c", ask], capture_output=True, text=True, check=True)
    assert "_hpo_envs" in done.stdout
