"""The command line, as a user meets it: output, exit status, one-line errors."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hpo_envs
from hpo_envs.commands import main
from hpo_envs.registry import SPECS
from hpo_envs.tables import catalogue, store


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, and no source to fetch from."""
    monkeypatch.setenv("HPO_ENVS_DATA", str(tmp_path / "data"))
    for name in ("HPO_ENVS_MIRROR", "HPO_ENVS_SOURCE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "data"


def process(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line in a process of its own."""
    command = [sys.executable, "-m", "hpo_envs", *words]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, timeout=120)


def error_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line that a user's mistake gets."""
    assert main.main(words) == main.USER_ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("hpo-envs: error: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("name", main.COMMANDS)
def test_help_of_every_command_has_examples_that_parse(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"usage: hpo-envs {name}" in out
    module = importlib.import_module(main.COMMANDS[name][0])
    assert (module.__doc__ or "").strip().partition("\n")[0] in out
    # A comment may follow a command line after two spaces.
    examples = [line.strip().split("  ")[0].split() for line in out.splitlines() if line.startswith("  hpo-envs ")]
    assert examples
    monkeypatch.setattr(module, "run", lambda args: 0)
    for words in examples:
        assert words[:2] == ["hpo-envs", name]
        assert main.main(words[1:]) == 0, words


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--help"]) == 0
    whole = capsys.readouterr().out
    words = " ".join(whole.split())  # help wraps at the terminal's width
    assert all(f" {name} {summary}" in words for name, (_, summary) in main.COMMANDS.items())
    assert main.main([]) == 0
    assert capsys.readouterr().out == whole
    assert main.main(["--version"]) == 0
    assert capsys.readouterr().out == f"hpo-envs {hpo_envs.__version__}\n"


@pytest.mark.parametrize(
    "words, message",
    [
        (["lst"], "command must be one that `hpo-envs --help` shows (list, "),
        (["lst"], "got 'lst', did you mean 'list'?"),
        (["--wrong"], "unrecognized arguments: --wrong. `hpo-envs --help`"),
        (["list", "--wrong"], "unrecognized arguments: --wrong"),
        (["list", "nothing-like-it"], "text must be part of an id or of a family (CharHPO"),
        (["describe"], "required: NAME. `hpo-envs describe --help`"),
        (["describe", "NMTHPO-swne-v0"], "got 'NMTHPO-swne-v0', did you mean 'NMTHPO-swen-v0'?"),
        (["describe", "smac"], "got 'smac', did you mean 'smac-like'?"),
        (["list", "nothing-like-it", "--agents"], "text must be part of an agent's name, summary or kind (rows"),
        (["describe", "NMTHPO-swen-v0", "--table", "measured"], "table nmthpo/swen is not installed"),
        (["describe", "NMTHPO-swen-v0", "--table", "measured"], "Run `hpo-envs fetch nmthpo`"),
        (["describe", "NMTHPO-swen-v0", "--table", "best"], "invalid choice: 'best'"),
        (["fetch"], "names must be one or more data sets (charhpo, "),
        (["fetch", "nmthp"], "got 'nmthp', did you mean 'nmthpo'?"),
        (["fetch", "nmthpo", "--all"], "names must be left out with --all, got nmthpo"),
        (["fetch", "nmthpo", "--mirror", "usb"], "mirror must be an http(s) address, got 'usb'"),
        (["fetch", "nmthpo", "--from", "/no/such"], "source_dir must be a folder laid out like the data folder"),
        (["fetch", "nmthpo", "--from", "."], "must be in the source folder, got no file nmthpo/"),
        (["verify", "nmthp"], "got 'nmthp', did you mean 'nmthpo'?"),
    ],
)
def test_mistakes_get_one_line(
    empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in error_of(capsys, *words)
    assert not empty.exists() or not [p for p in empty.rglob("*") if p.is_file()]


def test_debug_shows_the_traceback(empty: Path) -> None:
    for words in (["--debug", "fetch", "nmthp"], ["fetch", "nmthp", "--debug"]):
        with pytest.raises(ValueError, match="nmthp"):
            main.main(words)


def test_a_bug_is_not_dressed_up_as_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    from hpo_envs.commands import verify

    monkeypatch.setattr(verify, "run", lambda _: {}["bug"])
    with pytest.raises(KeyError):
        main.main(["verify"])


def test_ctrl_c_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from hpo_envs.commands import verify

    def run(_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(verify, "run", run)
    assert main.main(["verify"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_closed_pipe_is_quiet() -> None:
    code = "import sys; from hpo_envs.commands import main as cli; sys.stdin.read(); sys.exit(cli.main(['list']))"
    pipe = subprocess.PIPE
    child = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    child.stdout.close()  # type: ignore[union-attr]  # the reader is gone before the first line is written
    child.stdin.close()  # type: ignore[union-attr]
    assert child.stderr.read() == ""  # type: ignore[union-attr]
    assert child.wait(timeout=120) == main.PIPE_CLOSED


def test_list_shows_every_id_and_its_table(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["list"]) == 0
    out = capsys.readouterr().out
    rows = {line.split()[0]: line.split()[1] for line in out.splitlines() if line.startswith("  ")}
    assert {name for name, kind in rows.items() if kind == "synthetic"} <= {"FIESTA-gaussian-v0"}
    assert list(rows) == list(SPECS)
    assert set(rows.values()) - {"synthetic"} == {"surrogate"}
    fetched = out.partition("`hpo-envs fetch ")[2].partition("`")[0].split()
    assert "nmthpo" in fetched
    assert set(fetched) <= set(catalogue.datasets())
    assert main.main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [r["id"] for r in listed] == list(SPECS)
    assert all(r["summary"].endswith((".", "?")) for r in listed)
    assert main.main(["list", "swen"]) == 0
    assert "NMTHPO-zhen-v0" not in capsys.readouterr().out


@pytest.mark.measured
def test_list_says_measured_where_it_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["list", "--json", "NMTHPO-"]) == 0
    assert {r["kind"] for r in json.loads(capsys.readouterr().out)} == {"measured"}


def test_describe_every_id(id_kind: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    name, kind = id_kind
    assert main.main(["describe", f"hpo_envs:{name}", "--json", "--table", kind]) == 0
    facts = json.loads(capsys.readouterr().out, parse_constant=lambda x: pytest.fail(f"{x} is no JSON"))
    assert facts["id"] == name
    assert [t["name"] for t in facts["tables"]] == list(SPECS[name].tables)
    for described in facts["tables"]:
        table = store.load(described["name"], kind)
        assert (described["kind"], described["sha256"]) == (kind, table.provenance.sha256)
        assert described["rows"] == len(table)
        assert [m["name"] for m in described["metrics"]] == list(table.metric_names)
    assert facts["citation"]
    assert main.main(["describe", name, "--table", kind]) == 0
    text = capsys.readouterr().out
    for part in (*facts["spaces"].values(), facts["tables"][0]["sha256"], "## Action Space", "## Version History"):
        assert part in text


def test_fetch_list(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["fetch", "--list"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()[1:-1]] == catalogue.datasets()
    assert out.endswith(f"folder: {empty}\n")


@pytest.mark.measured
def test_fetch_use_damage_verify_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, root = store.data_folder(), tmp_path / "data"
    monkeypatch.setenv("HPO_ENVS_DATA", str(root))
    fetch = ["fetch", "nmthpo", "--from", str(source)]
    assert main.main(["verify"]) == 0
    assert "0 files ok, 0 corrupt" in capsys.readouterr().out
    assert main.main(fetch) == 0
    assert "nmthpo: 24 files installed (213,182 bytes), 0 were already right" in capsys.readouterr().out
    assert store.load("nmthpo/swen", "auto").provenance.kind == "measured"
    assert main.main(["verify", "nmthpo"]) == 0
    assert "24 files ok, 0 corrupt, 0 not installed" in capsys.readouterr().out
    victim = root / "nmthpo/datasets/sw-en.evals"
    right = victim.read_bytes()
    for bad in (right[:-10], right.replace(b"1", b"2", 1)):  # truncated, and one digit changed
        victim.write_bytes(bad)
        store._measured.cache_clear()
        message = (
            rf"sw-en.evals must have 34211 bytes with sha256 a2be.*, got {len(bad)} bytes.*`hpo-envs fetch nmthpo`"
        )
        with pytest.raises(store.CorruptFile, match=message):
            store.load("nmthpo/swen", "auto")
        assert main.main(["verify", "nmthpo"]) == 1
        out = capsys.readouterr().out
        assert "corrupt  nmthpo/datasets/sw-en.evals: must have 34211 bytes" in out
        assert "23 files ok, 1 corrupt" in out
        assert "Run `hpo-envs fetch nmthpo`" in out
        assert main.main(fetch) == 0
        assert "1 files installed (34,211 bytes), 23 were already right" in capsys.readouterr().out
        assert victim.read_bytes() == right
    assert not list(root.rglob("*.part"))
    shutil.rmtree(root / "nmthpo/datasets")
    with pytest.raises(store.TableNotInstalled, match=r"is missing. Run `hpo-envs fetch nmthpo`"):
        store.load("nmthpo/swen", "measured")


def test_module_and_status_of_a_process() -> None:
    done = process("fetch", "nmthp")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hpo-envs: error: ")
    assert process("--version").stdout == f"hpo-envs {hpo_envs.__version__}\n"
