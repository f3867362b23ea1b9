"""`tune` as users call it: with workers, failures, kills, and refused arguments."""

import ast
import contextlib
import copy
import functools
import importlib
import os
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpo_envs.benchmarks import Comparison
from hpo_envs.benchmarks.analysis import regret
from hpo_envs.benchmarks.report import sentences
from hpo_envs.benchmarks.runs import limits
from hpo_envs.commands.main import main
from hpo_envs.tuning import record, tune
from tests.helpers import ROOT, rejects
from tests.hpo_envs.tuning import helpers


@pytest.mark.hostile
@pytest.mark.parametrize("executor, workers", [("serial", 1), ("threads", 3), ("processes", 2)])
def test_failures_are_failed_evaluations_and_the_search_continues(executor: str, workers: int, tmp_path: Path) -> None:
    function = helpers.troubled if executor == "processes" else helpers.train
    given: dict[str, Any] = {"agent": "random", "workers": workers, "executor": executor, "out": tmp_path}
    tuned = tune(function, helpers.SPACE, budget=16, progress=False, **given)
    assert len(tuned) == 16
    assert not any(e.status == "running" for e in tuned)
    if executor == "processes":
        errors = "\n".join(e.error for e in tuned)
        assert {e.status for e in tuned} == {"ok", "failed", "diverged"}
        for said in ("RuntimeError: no x below 0.2", "SystemExit: exit", "the worker died", "got nan"):
            assert said in errors
        assert all(e.spent == 1.0 and e.cost == e.seconds > 0.0 for e in tuned if "the worker died" in e.error)


@pytest.mark.hostile
def test_worker_that_stops_itself_is_killed_at_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GRACE", 0.5)
    given: dict[str, Any] = {"agent": "random", "workers": 2, "executor": "processes", "progress": False}
    tuned = tune(helpers.stops, {"x": (0.0, 1.0)}, budget=8, seconds=1.0, **given)
    said = {"must end within 1 s": [0.0, 0.5], "must not raise KeyboardInterrupt": [0.8, 1.0], "": [0.5, 0.8]}
    for text, (low, high) in said.items():
        errors = [e.error for e in tuned if low <= e.config["x"] < high]
        assert errors
        assert all(text in error if text else not error for error in errors)


def test_workers_are_busy_at_same_time() -> None:
    meeting = threading.Barrier(4, timeout=60)

    def meet(config: Any) -> float:
        meeting.wait()
        return float(config["x"])

    assert len(tune(meet, helpers.SPACE, budget=8, workers=4, executor="threads", progress=False)) == 8


def test_program_without_guard_receives(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(helpers.PROGRAM.replace('if __name__ == "__main__":', "if True:"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    assert "programs that tune with processes must keep to `if __name__ == '__main__':`" in done.stderr


def test_folder_is_of_one_search_at_time(tmp_path: Path) -> None:
    holder = textwrap.dedent(
        f"""
        from pathlib import Path
        from hpo_envs.tables.files.lock import locked
        with locked(Path({str(tmp_path)!r})):
            print("held", flush=True)
            input()
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        rejects("out must be a folder that no other process tunes in", tune, helpers.train, helpers.SPACE, out=tmp_path)
        other.communicate("\n")


@pytest.mark.hostile
@pytest.mark.parametrize(
    "name", [record.NAME, "checkpoints", "reports/2", "workers/host-1", "0123abcd/evaluations.journal"]
)
def test_symbolic_links_in_folder_are_rejected(name: str, tmp_path: Path) -> None:
    out, mine = tmp_path / "out", tmp_path / "mine"
    (out / name).parent.mkdir(parents=True)
    (out / name).symlink_to(mine)
    with pytest.raises(ValueError, match=f"must be a file or folder of .*got a symbolic link to {mine}"):
        tune(helpers.train, helpers.SPACE, out=out, budget=2, agent="random", progress=False)
    assert not mine.exists()


@pytest.mark.hostile
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_pipes_among_reports_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    os.mkfifo(tmp_path / "reports" / "99")
    rejects("99 must be a regular file, got a pipe or a device", tune, helpers.train, helpers.SPACE, out=tmp_path)


MINE = "def train(config):\n    return config['x'] * 2\n"


@pytest.mark.hostile
def test_changed_function_is_rejected_or_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / f"mine_{abs(hash(tmp_path)):x}.py"
    path.write_text(MINE)
    module, out = importlib.import_module(path.stem), tmp_path / "out"
    given: dict[str, Any] = {"space": {"x": (0.0, 1.0)}, "agent": "random", "out": out, "progress": False}
    first = tune(module.train, budget=3, **given)
    path.write_text(MINE.replace("* 2", "* 30"))
    os.utime(path, (0, 0))
    importlib.reload(module)
    with pytest.raises(ValueError, match=f"has environment_source {path.stem} '[0-9a-f]+', got .*--accept-changed"):
        tune(module.train, budget=4, **given)
    new = tune(module.train, budget=4, accept_changed=True, **given)
    assert (new.folder, new.folder != out) == (out / new.header["code"], True)
    assert [e.metrics["score"] / e.config["x"] for e in new] == pytest.approx([30.0] * 4)
    assert [e.number for e in tune(module.train, budget=5, accept_changed=True, **given)] == [0, 1, 2, 3, 4]
    names = [run.header["agent"] for run in record.runs_of(out)]
    assert sorted(names) == ["random", f"random@{new.header['code']}"]
    path.write_text(MINE)
    os.utime(path, (1, 1))
    importlib.reload(module)
    assert tune(module.train, budget=4, accept_changed=True, **given).evaluations[:3] == first.evaluations
    path.write_text(MINE.replace("* 2", "* 50"))
    os.utime(path, (2, 2))
    importlib.reload(module)
    kept = tune(module.train, budget=6, accept_changed="keep", **given)
    assert (kept.folder, kept.header["changed"]) == (out, [4])
    assert [round(e.metrics["score"] / e.config["x"]) for e in kept] == [2] * 4 + [50] * 2
    assert "The code changed before evaluation 4." in kept.report().read_text()
    assert len(tune(module.train, budget=7, **given)) == 7  # which now is the code of the search


@pytest.mark.parametrize(
    "given, message",
    [
        ({"agent": "hyperband"}, r"agent must be one that works on this problem \(.*bo.*\), got 'hyperband'"),
        ({"agent": "bi"}, "agent must be one of .*, got 'bi', did you mean 'bo'"),
        ({"agent": lambda problem, seed: None}, "agent must be a factory of objects with ask, .*, got None of it"),
        ({"workers": 0}, "workers must be an int >= 1, got 0"),
        ({"seconds": 0}, "seconds must be None or a number > 0, got 0"),
        ({"budget": -1}, "budget must be .*, got -1"),
        ({"sources": [3]}, "source must be a Table, a DataFrame, .*, got '3'"),
    ],
)
def test_wrong_arguments_are_named(given: dict[str, Any], message: str) -> None:
    rejects(message, tune, helpers.train, helpers.SPACE, **given)


def test_regret_is_of_what_user_knows_and_else_scores_are_raw(tmp_path: Path) -> None:
    given: dict[str, Any] = {"agent": "random", "budget": 4, "progress": False, "candidates": 50}
    for name, known in (("raw", {}), ("known", {"best": 1.0, "reference": 0.5})):
        tune(helpers.train, helpers.SPACE, out=tmp_path / name, **known, **given)
    raw, scaled = (next(iter(record.runs_of(tmp_path / name))) for name in ("raw", "known"))
    best = np.maximum.accumulate(raw.rewards)
    assert (scaled.rewards.tolist(), regret.raw(raw), regret.raw(scaled)) == (raw.rewards.tolist(), True, False)
    assert regret.after(raw).tolist() == (-best).tolist()
    assert regret.after(scaled) == pytest.approx(np.clip((1.0 - best) / 0.5, 0.0, 1.0))


@pytest.mark.parametrize("bounds", [None, {"a": (0.0, 1.0)}, {"a": (0.0, 1.0), "b": (0.0, 1.0)}])
def test_two_objectives_without_bounds_have_raw_scores(bounds: Any, tmp_path: Path) -> None:
    def both(config: Any) -> dict[str, float]:
        return {"a": config["x"], "b": 1.0 - config["x"] ** 2}

    given: dict[str, Any] = {"objective": ("a", "b"), "goal": ("max", "min"), "bounds": bounds, "candidates": 20}
    tuned = tune(both, helpers.SPACE, agent="random", budget=6, out=tmp_path, progress=False, **given)
    (run,) = record.runs_of(tmp_path)
    assert regret.raw(run) == (bounds is None or len(bounds) < 2)
    said = sentences.measure(Comparison.load(tmp_path, more=record.runs_of(tmp_path)).scores["tracks"][0])
    if regret.raw(run):
        assert regret.after(run)[-1] == -max(e.reward for e in tuned)
        assert said == "negative best sum of the objectives' rewards, mean over the budget"
    else:
        assert 0.0 < regret.after(run)[-1] < 1.0
        assert said == "mean normalised regret over the budget"


def test_agents_that_wait_for_each_result_have_one_worker() -> None:
    with pytest.raises(ValueError, match="workers must be 1 for Hyperband, which needs each result first, got 2"):
        tune(helpers.epochs, helpers.SPACE, epochs=9, agent="hyperband", workers=2)


def test_improvement_per_cost_buys_more_evaluations_and_better_ones() -> None:
    def priced(config: Any) -> dict[str, float]:
        return {"score": -((config["x"] - 0.6) ** 2) - (config["y"] - 0.3) ** 2, "cost": 100.0 ** config["z"]}

    space: dict[str, Any] = {name: (0.0, 1.0) for name in "xyz"}
    given: dict[str, Any] = {"budget": 250.0, "budget_unit": "cost", "progress": False}
    usual, saving = (
        [tune(priced, space, seed=s, per_cost=per_cost, **given) for s in (1, 2)] for per_cost in (False, True)
    )
    assert min(map(len, saving)) > 2 * max(map(len, usual))
    assert min(t.best_score for t in saving) > max(t.best_score for t in usual)
    with pytest.raises(ValueError, match="per_cost must be False for a budget of evaluations, got True"):
        tune(priced, space, budget=9, per_cost=True)


def test_box_agents_search_box() -> None:
    tuned = tune(helpers.train, helpers.SPACE, agent="box-bo", budget=12, progress=False)
    assert len(tuned.evaluations[0].action) == 3
    assert tuned.best_score > 1.0


ORDINARY = """
import hpo_envs
for k in range(3):
    if k == 1:
        break
def scaled(x):
    return x * {factor}
def train(config):
    {inside}
    return scaled(config["x"])
{above}
tuned = hpo_envs.tune(train, {{"x": (0.0, 1.0)}}, budget={budget}, out="out", agent="random", progress=False)
print([e.started for e in tuned])
"""


def test_ordinary_script_resumes_after_changes_that_its_function_does_not_need(tmp_path: Path) -> None:
    def ran(**changed: Any) -> tuple[list[float], str]:
        values = {"factor": 2, "inside": "pass", "above": "", "budget": 2, **changed}
        (tmp_path / "script.py").write_text(ORDINARY.format(**values))
        done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
        return ast.literal_eval(done.stdout or "[]"), done.stderr

    first, errors = ran()
    assert len(first) == 2, errors
    more, errors = ran(
        budget=3, inside="'''One evaluation.'''; pass; print(end='')  # a comment", above="print(end='')\nunused = 1"
    )
    assert (more[:2], len(more)) == (first, 3), errors
    other, errors = ran(factor=3)
    assert other == []
    assert "has environment_source __main__" in errors
    assert "Warning" not in errors


def test_function_without_source_is_compiled_code_and_search_says_so(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec("def train(config): return config['x']", names)
    with pytest.warns(UserWarning, match=r"any change of exec \(compiled code\) will stop this search from resuming"):
        tune(names["train"], {"x": (0.0, 1.0)}, budget=1, agent="random", progress=False)


FORKS = """
import os
import sys
import hpo_envs
from hpo_envs.tables.files import lock

def train(config):
    if os.fork() == 0 and config["x"] > 0.5:
        raise SystemExit("a child")
    return config["x"]

def epochs(config):
    os.fork()
    yield config["x"]

if __name__ == "__main__":
    given = {"executor": sys.argv[1], "workers": 1 + (sys.argv[1] != "serial")}
    function, given = (epochs, {"epochs": 1}) if sys.argv[1] == "generator" else (train, given)
    tuned = hpo_envs.tune(function, {"x": (0.0, 1.0)}, budget=6, out="out", agent="random", progress=False, **given)
    print("ended", len(tuned), sum(e.rewards is not None for e in tuned))
"""


@pytest.mark.hostile
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("executor", ["serial", "processes", "threads", "generator"])
def test_function_that_forks_and_returns_twice_leaves_one_search(executor: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(FORKS)
    command = [sys.executable, "-W", "ignore", "script.py", executor]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "ended 6 6\n"), done.stderr
    assert len(record.SearchRecord(tmp_path / "out").ended) == 6


CLOSED = """
import sys
import hpo_envs

def train(config):
    print("printed")
    return config["x"]

if __name__ == "__main__":
    hpo_envs.tune(train, {"x": (0.0, 1.0)}, budget=4, out="out", agent="random", workers=int(sys.argv[1]))
"""


@pytest.mark.hostile
@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize("command", ["script.py 1", "script.py 2", "-m hpo_envs list"])
def test_closed_standard_streams_are_no_error(command: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(CLOSED)
    shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, *command.split()]
    assert subprocess.run(shell, cwd=tmp_path, check=False, timeout=120).returncode == 0
    assert "list" in command or len(record.SearchRecord(tmp_path / "out").ended) == 4


WITHOUT_LOCKS = """
import sys, time
import hpo_envs
from hpo_envs.tables.files import lock
lock._of_system = lambda folder, wait: None
def train(config):
    time.sleep(0.05)
    return config["x"]
tuned = hpo_envs.tune(train, {"x": (0.0, 1.0)}, budget=20, out="out", agent="random", progress=False)
print(len(tuned))
"""


@pytest.mark.hostile
def test_two_searches_in_folder_without_file_locks_are_one(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(WITHOUT_LOCKS)
    command, pipe = [sys.executable, "script.py"], subprocess.PIPE
    both = [subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) for _ in range(2)]
    results = [p.communicate() for p in both]
    assert sorted(p.returncode for p in both) == [0, 1], results
    assert any("out must be a folder that no other process tunes in" in errors for _, errors in results)
    assert len(record.SearchRecord(tmp_path / "out").ended) == 20


def test_record_that_no_search_writes_is_refused_before_it_is_written(tmp_path: Path) -> None:
    tune(helpers.train, helpers.SPACE, budget=3, out=tmp_path, progress=False)
    search = record.SearchRecord(tmp_path)
    before = (tmp_path / record.NAME).read_bytes()
    rejects("must continue with a valid record, got .*: nothing was added", search.end, 1, status="ok", rewards=[1.0])
    assert (tmp_path / record.NAME).read_bytes() == before
    (tmp_path / record.NAME).write_bytes(before[:-9] + b"?" + before[-8:])
    assert (main(["tune", "--salvage", str(tmp_path)]), len(record.SearchRecord(tmp_path).ended)) == (0, 2)


def test_result_is_shown_although_function_replaces_output(tmp_path: Path, monkeypatch: Any, cli: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    code = "import sys\ndef silent(config):\n    sys.stdout = None\n    return config['x']\n"
    (tmp_path / "replaces_output.py").write_text(code, encoding="utf-8")
    (tmp_path / "space.toml").write_text("x = { low = 0.0, high = 1.0 }", encoding="utf-8")
    assert "2 evaluations" in cli(["tune", "replaces_output:silent", "--space", "space.toml", "--budget", "2"])


@pytest.mark.parametrize("given, low, confirm", [({}, -1e6, 0), ({"bounds": (-7.0, 7.0), "confirm": 1}, -7.0, 1)])
def test_joined_search_has_bounds_and_repeats_of_first(
    given: dict[str, Any], low: float, confirm: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, seen = importlib.import_module("hpo_envs.tuning.tune"), []
    monkeypatch.setattr(module, "_run", lambda search, *_: seen.append((search._params.low[0], search._confirm)))
    tune(helpers.train, helpers.SPACE, out=tmp_path, budget=8, join=True, progress=False, **given)
    module.join(tmp_path)
    assert seen == [(low, confirm)] * 2


def test_discarded_search_leaves_no_checkpoint_and_no_report(tmp_path: Path) -> None:
    def wrong(config: Any, resume_from: Path, epochs: int) -> float:
        (resume_from / "state").write_text("old")
        return undefined  # type: ignore[name-defined]  # noqa: F821

    def right(config: Any, resume_from: Path, epochs: int) -> float:
        assert not (resume_from / "state").exists()
        return float(config["x"])

    given: dict[str, Any] = {"epochs": 3, "budget": 9, "agent": "random", "out": tmp_path, "progress": False}
    rejects("Nothing of the search is kept", tune, wrong, {"x": (0.0, 1.0)}, **given)
    assert not any((tmp_path / name).exists() for name in ("reports", "checkpoints"))
    assert all(e.status == "ok" for e in tune(right, {"x": (100.0, 200.0)}, **given))


def test_new_search_refuses_reports_and_checkpoints_of_others(tmp_path: Path) -> None:
    given: dict[str, Any] = {"agent": "random", "budget": 3, "out": tmp_path, "progress": False}
    (tmp_path / "checkpoints").mkdir()
    tune(helpers.train, helpers.SPACE, **given)
    for name in ("checkpoints", "reports"):
        (tmp_path / "evaluations.journal").unlink()
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "0").write_text("a model of mine")
        rejects(f"without {name} of others", tune, helpers.train, helpers.SPACE, **given)
        assert (tmp_path / name / "0").read_text() == "a model of mine"
        (tmp_path / name / "0").unlink()
        tune(helpers.train, helpers.SPACE, **given)


def test_search_with_objects_as_choices_is_not_joined_from_outside(tmp_path: Path) -> None:
    space = {"x": (0.0, 1.0), "act": [Path, None], "deep": [(1, (2.5, None)), [3], float("inf")]}
    tune(helpers.train, space, budget=2, out=tmp_path, join=True, progress=False, tolerate=True)
    module = importlib.import_module("hpo_envs.tuning.tune")
    rejects("those of act are objects of a program", module.join, tmp_path)


def test_resuming_keeps_the_candidates(tmp_path: Path) -> None:
    given: dict[str, Any] = {"agent": "random", "out": tmp_path, "progress": False}
    tune(helpers.train, helpers.SPACE, budget=3, candidates=50, **given)
    rejects("has candidates 50, got 60", tune, helpers.train, helpers.SPACE, budget=4, candidates=60, **given)
    assert len(tune(helpers.train, helpers.SPACE, budget=4, **given)) == 4


def test_resuming_with_other_data_warns(tmp_path: Path) -> None:
    class Model:
        def __init__(self, data: Any) -> None:
            self.data, self.lock = data, threading.Lock()

        def score(self, config: Any, *, scale: Any = 1.0) -> float:
            return float(config["x"])

    def closing(data: Any) -> Any:
        return lambda config: float(config["x"]) + 0.0 * len(data)

    def fixed(data: Any) -> Any:
        return functools.partial(Model(0).score, scale=data)

    long, other = np.arange(5000.0), np.arange(5000.0)
    other[2500] = 0.0
    frames = pd.DataFrame({"a": long}), pd.DataFrame({"a": other})
    pairs: list[tuple[Any, Any]] = [(long, other), frames, ([1, {"b": {2, 3}}], [1, {"b": {2, 4}}])]
    for number, (make, name) in enumerate([(closing, "data"), (lambda d: Model(d).score, "data"), (fixed, "scale")]):
        for pair, (data, changed) in enumerate(pairs[: 2 + (make is not fixed)]):  # names have short fixed arguments
            given: dict[str, Any] = {"out": tmp_path / f"{number}-{pair}", "agent": "random", "progress": False}
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                tune(make(data), {"x": (0.0, 1.0)}, budget=2, **given)
                tune(make(copy.deepcopy(data)), {"x": (0.0, 1.0)}, budget=3, **given)
            with pytest.warns(UserWarning, match=rf"other data.*\.{name}"):
                tune(make(changed), {"x": (0.0, 1.0)}, budget=4, **given)


@pytest.mark.parametrize("agent", ["random", "smac-like", "hyperband"])
def test_branch_with_one_configuration_is_tried(agent: str) -> None:
    def train(config: dict[str, Any]) -> Iterator[float]:
        for epoch in range(1, 4):
            yield epoch * (0.9 if config["kind"] == "adam" else 0.8 * config["momentum"])

    given: dict[str, Any] = {"epochs": 3, "budget": 36} if agent == "hyperband" else {"budget": 20}
    function = train if agent == "hyperband" else lambda config: [*train(config)][-1]
    space = {"kind": ["adam", "sgd"], "momentum": {"low": 0.0, "high": 0.99, "if": {"kind": ["sgd"]}}}
    assert tune(function, space, agent=agent, progress=False, **given).best_config == {"kind": "adam"}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_full_log_ends_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    with contextlib.suppress(OSError), open("/dev/full", "w", buffering=1, encoding="utf-8") as log:
        monkeypatch.setattr(sys, "stderr", log)
        found += tune(helpers.train, helpers.SPACE, agent="random", budget=3)
    assert len(found) == 3
