"""Programs as functions: command line, score, limits and end."""

import importlib
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.tables.user.space import space_of
from hpo_envs.tuning import load, tune
from hpo_envs.tuning.execution.program import Program
from tests.helpers import rejects

SPACE: dict[str, Any] = {"x": (0.0, 1.0), "kind": ["a", "b"], "depth": {"low": 1, "high": 3, "if": {"kind": ["a"]}}}


def program(folder: Path, body: str, arguments: str = "{x}", **given: Any) -> Program:
    script = folder / "script.py"
    script.write_text(f"import json, os, sys, time\n{body}\n", encoding="utf-8")
    return Program(f"{sys.executable} {script} {arguments}", **given)


def test_program_is_tuned_and_resumed(tmp_path: Path, cli: Any) -> None:
    body = "print('log'); print(json.dumps({'loss': float(sys.argv[1]), 'given': len(sys.argv)})); print('end')"
    command = f"{sys.executable} {tmp_path / 'script.py'} {{x}} --kind {{kind}} --depth={{depth}} --depth {{depth}}"
    program(tmp_path, body)
    (tmp_path / "space.toml").write_text(
        'x = {low = 0.0, high = 1.0}\nkind = ["a", "b"]\n[depth]\nlow = 1\nhigh = 3\nif = {kind = ["a"]}'
    )
    out = tmp_path / "out"
    given = ["--space", str(tmp_path / "space.toml"), "--objective", "loss", "--goal", "min", "--out", str(out)]
    for budget in ("4", "6"):
        said = cli(["tune", "--command", command, *given, "--budget", budget, "--workers", "2"])
    tuned = load(out)
    assert (len(tuned), [e.metrics["loss"] for e in tuned]) == (6, [e.config["x"] for e in tuned])
    assert {(e.config["kind"], e.metrics["given"]) for e in tuned} == {("a", 7.0), ("b", 4.0)}
    assert f"6 evaluations of {command} by auto" in said
    said = cli(["tune", "--command", command, *given, "--budget", "9", "--confirm", "1"])
    assert f", 2 evaluations, at {load(out).recommended.config}\n" in said
    program(tmp_path, body.replace("'end'", "'changed'"))
    assert "script.py" in cli(["tune", "--command", command, *given, "--budget", "10"], 2)


@pytest.mark.parametrize(
    "body, given, score",
    [
        ("print(3); print(0.5); print('[1]')", {}, 0.5),
        ("print('epoch 1 acc=0.25'); print('epoch 2 acc=0.75')", {"pattern": r"acc=(\S+)"}, 0.75),
        ("print('score 0.5 size 7')", {"pattern": r"score (?P<score>\S+) size (?P<size>\d+)"}, 0.5),
        ("open(sys.argv[1] + '.json', 'w').write('{\"score\": 0.125}')", {"file": "{FOLDER}/{trial}.json"}, 0.125),
    ],
)
def test_score_is_read_from_output_or_file(body: str, given: dict[str, str], score: float, tmp_path: Path) -> None:
    given = {name: text.replace("{FOLDER}", str(tmp_path)) for name, text in given.items()}
    function = program(tmp_path, body, f"{tmp_path}/{{trial}}", **given)
    tuned = tune(function, {"x": (0.0, 1.0)}, budget=1, progress=False)
    assert tuned.best_score == score


def test_score_file_of_another_run_is_no_score(tmp_path: Path) -> None:
    (tmp_path / "score.json").write_text("0.99")
    with pytest.raises(ValueError, match="must write its score to"):
        tune(program(tmp_path, "pass", file=str(tmp_path / "score.json")), {"x": (0.0, 1.0)}, budget=2, progress=False)


def test_argument_before_an_inactive_one_is_left_out_only_if_it_is_an_option(tmp_path: Path) -> None:
    body = "print(json.dumps({'score': 1.0, 'given': len(sys.argv), 'first': float(sys.argv[1])}))"
    points = [{"x": -1.5, "kind": "b"}]
    for arguments, given in (("{x} {depth}", 2), ("{x} --depth {depth}", 2), ("{x} --kind={kind} {depth}", 3)):
        space = {**SPACE, "x": (-2.0, -1.0)}
        (found,) = tune(program(tmp_path, body, arguments), space, budget=1, points=points, progress=False)
        assert (found.metrics["given"], found.metrics["first"]) == (given, -1.5)


def test_end_of_a_long_output_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hpo_envs.tuning.execution.program.LARGEST", 1000)
    body = "print('[' * 200_000)\nfor i in range(5000): print('line', i)\nprint(0.5); print('end')"
    assert tune(program(tmp_path, body), {"x": (0.0, 1.0)}, budget=1, progress=False).best.reward == 0.5


@pytest.mark.hostile
@pytest.mark.parametrize(
    "body, said",
    [
        ("sys.stderr.write('no data'); sys.exit(3)", "RuntimeError: exit status 3: no data"),
        ("x = bytearray(2 * 10**9); print(1.0)", "MemoryError"),
        ("os.kill(os.getpid(), 9)", "exit status -9: nothing on standard error"),
    ],
)
def test_programs_that_fail_are_failed_evaluations(body: str, said: str, tmp_path: Path) -> None:
    function = program(tmp_path, body, memory=10**9)
    tuned = tune(function, {"x": (0.0, 1.0)}, budget=2, progress=False)
    assert all(said in e.error for e in tuned)


@pytest.mark.parametrize("memory", [-1.0, 0, float("nan"), float("inf"), 1e39, "1G"])
def test_limit_of_memory_that_is_none_is_refused(memory: Any) -> None:
    rejects("memory must be None or a number of bytes from 1 to 2\\*\\*63, got", Program, sys.executable, memory=memory)


def test_program_ends_by_itself_after_its_last_epoch(tmp_path: Path) -> None:
    saved = str(tmp_path / "saved")
    body = f"""
for epoch in range(1, 10): print('{{"epoch": %d, "score": %f}}' % (epoch, x), flush=True)
time.sleep(0.2)
open({saved!r}, "a").write("1")
print('{{"score": %f, "latency": 5}}' % (x - 1))"""
    given: dict[str, Any] = {"constraints": {"latency": ("<=", 20)}, "epochs": 9, "budget": 27, "progress": False}
    tuned = tune(program(tmp_path, "x = float(sys.argv[1])" + body), {"x": (0.0, 1.0)}, **given)
    assert [e.status for e in tuned] == ["ok"] * 3
    assert [e.metrics["score"] for e in tuned] == pytest.approx([e.config["x"] - 1.0 for e in tuned], abs=1e-5)
    assert Path(saved).read_text() == "111"


def test_buffered_reports_of_an_ended_program_stop_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = """
x = float(sys.argv[1])
lines = ['{"epoch": %d, "score": %f}' % (e, -x if e < 20 else x) for e in range(1, 28)]
sys.stdout.write(chr(10).join(lines + ['{"score": %f, "env": %s}' % (x, os.environ["PYTHONUNBUFFERED"])]))"""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    monkeypatch.setattr(importlib.import_module("hpo_envs.tuning.execution.program"), "ENDING", 20.0)
    points = [{"x": x} for x in (0.1, 0.2, 0.3, 0.9, 0.8, 0.95)]
    tuned = tune(program(tmp_path, body), {"x": (0.0, 1.0)}, points=points, budget=6, progress=False)
    assert [(e.status, e.metrics["env"]) for e in tuned] == [("ok", 1.0)] * 6
    assert tuned.best_config == {"x": 0.95}


@pytest.mark.parametrize(
    "start, source, changed",
    [("-m pk.train", "", "model.py"), ("-m pk.train", "src", "model.py"), ("pk/main.py", "", "model.py"),
     ("pk/main.py --config=pk/c.json", "", "c.json")],
)  # fmt: skip
def test_changed_files_of_a_program_are_named(
    start: str, source: str, changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", source)
    folder = Path(source) / "pk"
    folder.mkdir(parents=True)
    (folder / "train.py").write_text("import sys\nfrom .model import k\nprint(k * float(sys.argv[1]))")
    (folder / "main.py").write_text("import sys\nimport model\nprint(model.k * float(sys.argv[-1]))")
    (folder / "model.py").write_text("from math import pi\nk = 1")
    (folder / "c.json").write_text("{}")
    given: dict[str, Any] = {"space": {"x": (0.0, 1.0)}, "out": tmp_path / "mine", "progress": False}
    assert len(tune(Program(f"{sys.executable} {start} {{x}}"), budget=2, **given)) == 2
    (folder / changed).write_text("k = 2" if changed.endswith(".py") else "[]")
    with pytest.raises(ValueError, match=f"must have the code of the stored one: .* {folder / changed}"):
        tune(Program(f"{sys.executable} {start} {{x}}"), budget=4, **given)


@pytest.mark.parametrize("first", [0, 1, 3])
def test_last_line_may_name_an_epoch_again(first: int, tmp_path: Path) -> None:
    body = f"""
for e in range({first}, 9): print(json.dumps({{"epoch": e, "score": e}}))
print(json.dumps({{"score": 0.5, "epoch": 4, "test": 1.0}}))"""
    (e,) = tune(program(tmp_path, body), {"x": (0.0, 1.0)}, budget=1, progress=False)
    assert (e.metrics["score"], e.metrics["test"]) == (0.5, 1.0)
    assert e.curve == [[step + (first == 0), step] for step in range(first, 9)]


def test_indented_result_is_one_value(tmp_path: Path) -> None:
    unclosed = tune(program(tmp_path, "print('acc ['); print(' 0.25')"), {"x": [1]}, budget=1, progress=False)
    assert unclosed.best_score == 0.25
    result = "{'score': 0.5, 'folds': [40, 2], 'more': {'seed': 0}}"
    for said in (
        f"json.dumps({result}, indent=2)",
        f"'log 3' + chr(10) + json.dumps({result}, indent=2) + chr(10) + 'end'",
    ):
        (e,) = tune(program(tmp_path, f"print({said})"), {"x": (0.0, 1.0)}, budget=1, progress=False)
        assert e.metrics == {"score": 0.5}


def test_resumed_search_reads_the_same_score(tmp_path: Path) -> None:
    given: dict[str, Any] = {"space": {"x": (0.0, 1.0)}, "out": tmp_path / "mine", "progress": False}
    body = "print('acc=1 loss=2')"
    tune(program(tmp_path, body, pattern=r"acc=(\S+)"), budget=2, **given)
    with pytest.raises(ValueError, match="a resumed search must have the settings of the stored one: .* has program"):
        tune(program(tmp_path, body, pattern=r"loss=(\S+)"), budget=4, **given)
    tuned = tune(program(tmp_path, body, pattern=r"acc=(\S+)", memory=2**33), budget=4, **given)
    assert {e.metrics["score"] for e in tuned} == {1.0}


def test_score_that_is_none_diverges_and_a_repeated_name_is_no_score(tmp_path: Path) -> None:
    for said in ("nan", "-inf", "NaN", '{"score": Infinity}'):
        tuned = tune(program(tmp_path, f"print({said!r})"), {"x": (0.0, 1.0)}, budget=2, progress=False)
        assert [e.status for e in tuned] == ["diverged"] * 2
    twice, score = '{"score": 0.9, "score": 0.1}', str(tmp_path / "score.json")
    for body, given in ((f"print({twice!r})", {}), (f"open({score!r}, 'w').write({twice!r})", {"file": score})):
        with pytest.raises(ValueError, match=r"got \{'score': \[0.9, 0.1\]\}"):
            tune(program(tmp_path, body, **given), {"x": (0.0, 1.0)}, budget=2, progress=False)
    named = program(tmp_path, """print('{"m": 1, "m": 2}'); print(0.5)""")  # such as a line of a log
    assert tune(named, {"x": (0.0, 1.0)}, budget=1, progress=False).best_score == 0.5


def test_program_without_score_stops_search(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"TypeError: program must print its score as JSON, .* got 'hello\\n'\. Nothing"
    ):
        tune(program(tmp_path, "print('hello')"), {"x": (0.0, 1.0)}, budget=4, progress=False)
    space = space_of({"x": (0.0, 1.0)})
    assert [*program(tmp_path, "").digests(space)][-1] == str(tmp_path / "script.py")
    (tmp_path / "script.py").chmod(0o700)
    assert [*Program(f"{tmp_path / 'script.py'} {{x}}").digests(space)] == [str(tmp_path / "script.py")]
    with pytest.raises(ValueError, match="command must begin with a program that exists, got 'no-such-program {x}'"):
        Program("no-such-program {x}")
    with pytest.raises(ValueError, match="pattern must have a group"):
        Program(shlex.quote(sys.executable), pattern="score")
    with pytest.raises(ValueError, match=r"pattern must be a regular expression, got '\(a': missing"):
        Program(shlex.quote(sys.executable), pattern="(a")


def alive(file: Path) -> bool:
    """Return whether the process whose id is in a file is alive."""
    deadline = time.monotonic() + 20.0
    while time.monotonic() < deadline:
        state = subprocess.run(["ps", "-o", "stat=", "-p", file.read_text()], capture_output=True, text=True)
        if state.stdout.strip()[:1] in ("", "Z"):
            return False
        time.sleep(0.05)
    return True


@pytest.mark.hostile
@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_program_is_killed_with_its_children_at_time_limit(tmp_path: Path) -> None:
    child = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    body = f"import subprocess; subprocess.run([sys.executable, '-c', {child!r}])"
    tuned = tune(program(tmp_path, body), {"x": (0.0, 1.0)}, budget=1, seconds=3.0, progress=False)
    assert "must end within 3 s" in tuned.evaluations[0].error
    assert not alive(tmp_path / "pid")


@pytest.mark.hostile
@pytest.mark.skipif(os.name != "posix", reason="process groups")
@pytest.mark.parametrize("apart", [False, True])
def test_child_that_keeps_the_output_open_is_not_awaited(apart: bool, tmp_path: Path) -> None:
    child = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    wait = f"while not os.path.exists({str(tmp_path / 'pid')!r}): pass"
    begun = f"subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session={apart})"
    body = f"import os, subprocess\n{begun}\n{wait}\nprint(0.5)"
    tuned = tune(program(tmp_path, body), {"x": (0.0, 1.0)}, budget=1, progress=False)
    assert tuned.evaluations[0].reward == 0.5
    if apart:  # a session of its own is its own: there must be a process to kill
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    else:
        assert not alive(tmp_path / "pid")


def test_reports_of_program_stop_it_early(tmp_path: Path) -> None:
    body = f"""
x, path = float(sys.argv[1]), {str(tmp_path / "mine" / "reports")!r} + "/" + sys.argv[2]
for e in range(1, 10):
    print(json.dumps({{"score": x - 1 / e, "epoch": e}}))
    while not os.path.exists(path) or open(path).read().count(chr(10)) < e: time.sleep(0.001)"""
    given: dict[str, Any] = {"agent": "random", "budget": 8, "out": tmp_path / "mine", "progress": False}
    tuned = tune(program(tmp_path, body, "{x} {trial}"), {"x": (0.0, 1.0)}, **given)
    assert any(e.status == "truncated" for e in tuned)
    best = max(tuned, key=lambda e: e.config["x"])
    assert best.reward == best.config["x"] - 1 / 9


@pytest.mark.parametrize(
    "arguments", ["--lr {lr}", "{xx}", "{}", "{x.real}", "{print}", "{x:.{xx}f}", "{x", "{x:99999}"]
)
def test_braces_without_hyperparameter_are_refused(arguments: str, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="braces of command .*(must be one of x, kind, depth, trial|hold a name|below 10000)"
    ):
        tune(program(tmp_path, "print(1)", "{x} " + arguments), SPACE, budget=2, progress=False)
    tune(program(tmp_path, "print(int(sys.argv[2] == '{}'))", "{x} {{}}"), SPACE, budget=1, progress=False)


def test_names_in_braces_are_whole_names(tmp_path: Path) -> None:
    function = program(tmp_path, "print(float(sys.argv[1]) + float(sys.argv[2]) + float(sys.argv[3]))",
                       "{model.lr} {a[0]:.3f} {0!r}")  # fmt: skip
    tuned = tune(function, {"model.lr": (0.0, 1.0), "a[0]": [0.5], "0": [2.0]}, budget=2, progress=False)
    assert [e.reward for e in tuned] == pytest.approx([e.config["model.lr"] + 2.5 for e in tuned])
    rejects("must not be named trial", tune, program(tmp_path, "", "{trial}"), {"trial": (1, 9)}, budget=2)


def test_score_file_named_by_an_optional_hyperparameter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the score file must be one of x, kind, trial \(.* active\), got 'depth'"):
        tune(program(tmp_path, "print(1)", file="{kind}{depth}.json"), SPACE, budget=2, progress=False)
