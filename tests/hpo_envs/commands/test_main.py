"""The command line as users see it: output, exit status, one-line errors."""

import importlib
import inspect
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hpo_envs
from hpo_envs.benchmarks.study import study
from hpo_envs.commands import main
from hpo_envs.commands.tune import TUNE_OPTIONS


def process(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a separate process."""
    command = [sys.executable, "-m", "hpo_envs", *words]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, timeout=120)


def error_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one-line message of a user's mistake."""
    assert main.main(words) == main.USER_ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("hpo-envs: error: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("name", main.COMMANDS)
def test_help_of_every_command_has_examples_that_parse(name: str, monkeypatch: pytest.MonkeyPatch, cli: Any) -> None:
    out = cli([name, "--help"])
    assert f"usage: hpo-envs {name}" in out
    module = importlib.import_module(f"hpo_envs.commands.{name}")
    assert (module.__doc__ or "").strip().partition("\n")[0] in out
    # A comment may follow a command line after two spaces.
    lines = [line.strip().split("  ")[0] for line in out.splitlines() if line.startswith("  hpo-envs ")]
    examples = [*map(shlex.split, lines)]
    assert examples
    monkeypatch.setattr(module, "run", lambda args: 0)
    for words in examples:
        assert words[:2] == ["hpo-envs", name]
        assert main.main(words[1:]) == 0, words


def test_help_and_version_are_printed(capsys: pytest.CaptureFixture[str], cli: Any) -> None:
    whole = cli(["--help"])
    words = " ".join(whole.split())  # help wraps at the terminal's width
    assert all(f" {name} {summary}" in words for name, summary in main.COMMANDS.items())
    assert (main.main([]), capsys.readouterr().out, main.main(["--version"])) == (0, whole, 0)
    assert capsys.readouterr().out == f"hpo-envs {hpo_envs.__version__}\n"


@pytest.mark.parametrize(
    "words, message",
    [
        (["lst"], "command must be one that `hpo-envs --help` shows (list, "),
        (["lst"], "got 'lst', did you mean 'list'?"),
        (["--wrong"], "unrecognized arguments: --wrong. `hpo-envs --help`"),
        (["list", "--wrong"], "unrecognized arguments: --wrong"),
        (["list", "nothing-like-it"], "text must be part of an id or of a family (CellMini"),
        (["describe"], "required: NAME. `hpo-envs describe --help`"),
        (["describe", "NMTHPO-swne-v0"], "got 'NMTHPO-swne-v0', did you mean 'NMTHPO-swen-v0'?"),
        (["describe", "smaclike"], "got 'smaclike', did you mean 'smac-like'?"),
        (["list", "nothing-like-it", "--agents"], "text must be part of an agent's name, summary or kind (rows"),
        (["describe", "NASBenchNLP-ptb-v0"], "table nasbenchnlp/ptb is not installed: run `hpo-envs fetch nasb"),
        (["fetch"], "names must be one or more data sets (charhpo, "),
        (["fetch", "nmthp"], "got 'nmthp', did you mean 'nmthpo'?"),
        (["fetch", "nmthpo", "--all"], "names must be left out with --all, got nmthpo"),
        (["leaderboard", "run", "a:b", "--runs", "r", "--seeds", "0"], "--seeds must be an int >= 1, got 0"),
        (["leaderboard", "check", "a:b", "--runs", "r", "--jobs", "0"], "--jobs must be an int >= 1, got 0"),
        (["tune", "math:sin", "--space", "s.toml", "--budget", "inf"], "budget must be None or a finite number > 0"),
        (["tune", "math:sin", "--space", "s.toml", "--objective", ","], "objective must be"),
        (["tune", "math:sin", "--space", "s.toml", "--memory", "1"], "--memory must be used with --command"),
    ],
)
def test_mistakes_of_users_get_one_line(
    empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text("x = { low = 0.0, high = 1.0 }")
    assert message in error_of(capsys, *words)
    assert not empty.exists() or not [p for p in empty.rglob("*") if p.is_file()]


def test_debug_shows_the_traceback(empty: Path) -> None:
    for words in (["--debug", "fetch", "nmthp"], ["fetch", "nmthp", "--debug"]):
        with pytest.raises(ValueError, match="nmthp"):
            main.main(words)


def test_a_bug_is_not_reported_as_a_mistake_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    from hpo_envs.commands import fetch

    monkeypatch.setattr(fetch, "run", lambda _: {}["bug"])
    with pytest.raises(KeyError):
        main.main(["fetch"])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce the limit")
def test_too_little_memory_is_refused_before_work_begins(tmp_path: Path) -> None:
    words = f"{sys.executable} -m hpo_envs compare --env NMTHPO-swen-v0 --agents random,bo --seeds 3 --out {tmp_path}"
    done = subprocess.run(["sh", "-c", f"ulimit -v 1450000; exec {words}"], capture_output=True, text=True, timeout=120)
    assert done.returncode == main.USER_ERROR
    assert re.fullmatch(r"hpo-envs: error: the limit .*`ulimit -v`.* got 1450000\n", done.stderr)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(  # the second is what the interpreter raises at the limit of processes
    "error, said", [(MemoryError(), "out of memory"), (RuntimeError("can't start new thread"), "ulimit -u")]
)
def test_little_memory_and_few_threads_are_one_line(error: Any, said: str, monkeypatch: Any, capsys: Any) -> None:
    def fail(_: Any) -> int:
        raise error

    monkeypatch.setattr(importlib.import_module("hpo_envs.commands.list"), "run", fail)
    assert said in error_of(capsys, "list")


def test_invalid_date_of_sources_is_named(monkeypatch: pytest.MonkeyPatch, cli: Any) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "abc")
    assert "SOURCE_DATE_EPOCH must be a number of seconds, got 'abc'" in cli(["list"], 2)


def test_ctrl_c_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from hpo_envs.commands import fetch

    def run(_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch, "run", run)
    assert (main.main(["fetch"]), capsys.readouterr()) == (130, ("", ""))


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_stopped_command_does_not_wait_for_an_agent_in_a_thread(tmp_path: Path) -> None:
    (tmp_path / "waiting.py").write_text("""import concurrent.futures, os, signal, time
pool = concurrent.futures.ThreadPoolExecutor
def waits(problem, seed):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(1000)
""")
    words = ["compare", "--agents", "waiting:waits", "--budget", "2", "--seeds", "1", "--executor", "waiting:pool"]
    done = subprocess.run([sys.executable, "-m", "hpo_envs", *words], cwd=tmp_path, capture_output=True, timeout=100)
    assert (done.returncode, b"the same command resumes" in done.stderr) == (130, True)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name, background", [("SIGTERM", False), ("SIGHUP", False), ("SIGTERM", True)])
def test_search_that_is_told_to_end_says_that_it_resumes(
    name: str, background: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also for `hpo-envs tune ... &` in a script, where shells let jobs ignore Ctrl-C."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    pressed = signal.signal(signal.SIGINT, signal.SIG_IGN) if background else None
    before = signal.signal(getattr(signal, name), signal.SIG_DFL)  # nohup ignores SIGHUP, and so does its command
    code = f"""
import pathlib, signal
def train(config):
    if not pathlib.Path("second").exists() and pathlib.Path("first").exists():
        pathlib.Path("second").touch()
        signal.raise_signal(signal.SIGINT if {background} else signal.{name})
        signal.raise_signal(signal.{name})
    pathlib.Path("first").touch()
    return config["x"]
"""
    module = f"ends_{name.lower()}_{background}"
    (tmp_path / f"{module}.py").write_text(code)
    (tmp_path / "space.toml").write_text("x = { low = 0.0, high = 1.0 }")
    given = ["tune", f"{module}:train", "--space", "space.toml", "--executor", "serial", "--out", "mine"]
    assert main.main([*given, "--budget", "4"]) == main.INTERRUPTED
    assert capsys.readouterr().err.endswith("stopped; finished evaluations are in mine/, the same command resumes\n")
    assert main.main([*given, "--budget", "4"]) == 0
    assert [e.status for e in hpo_envs.load("mine")] == ["ok"] * 4
    assert signal.signal(getattr(signal, name), before) == signal.SIG_DFL
    if background:
        assert signal.signal(signal.SIGINT, pressed) == signal.SIG_IGN


def test_a_closed_pipe_is_quiet() -> None:
    code = "import sys; from hpo_envs.commands import main as cli; sys.stdin.read(); sys.exit(cli.main(['list']))"
    pipe = subprocess.PIPE
    child = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    child.stdout.close()  # type: ignore[union-attr]  # the reader is gone before the first line is written
    child.stdin.close()  # type: ignore[union-attr]
    assert child.stderr.read() == ""  # type: ignore[union-attr]
    assert child.wait(timeout=120) == main.PIPE_CLOSED


def test_module_and_status_of_process() -> None:
    done = process("fetch", "nmthp")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hpo-envs: error: ")
    assert process("--version").stdout == f"hpo-envs {hpo_envs.__version__}\n"


def test_errors_of_system_name_file_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["report", "nosuch"], ["compare", "nosuch.toml"], ["tune", "a:b", "--space", "nosuch.toml"]):
        assert "Errno" not in error_of(capsys, *words)
    error = FileNotFoundError(2, "No such file or directory", "nosuch.csv")
    said = "nosuch.csv must be a usable file or folder, got no such file or directory"
    assert main._message(error) == said


def test_defaults_of_tune_are_those_of_the_function() -> None:
    parsed = vars(main.parser_of("tune")[0].parse_args(["tune"]))
    names = ({*TUNE_OPTIONS} - {"out"}) | {"budget", "objective", "goal"}  # the function's `out` is temporary
    given = inspect.signature(hpo_envs.tune).parameters
    assert {name: parsed[name] for name in names} == {name: given[name].default for name in names}


def test_help_of_compare_has_defaults_of_studies(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(study, "SEEDS", 71)
    monkeypatch.setattr(study, "SUBSAMPLE", 0.37)
    main.main(["compare", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert f"(default: 71, or {study.SLOW_SEEDS} for slow agents)" in said
    assert "(default: 0.37; 1: all)" in said
