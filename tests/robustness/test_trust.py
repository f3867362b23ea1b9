"""Agents that try to change their records, and agents that try to stop others."""

import gc
import json
import os
import re
import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpo_envs.agents.random import RandomSearch
from hpo_envs.benchmarks.runs import executors, limits, run
from hpo_envs.benchmarks.study import store
from hpo_envs.benchmarks.study.scheduler import conduct
from hpo_envs.benchmarks.study.study import Entrant, Environment, Study
from hpo_envs.commands.main import main
from tests.helpers import ROOT, rejects, short

pytestmark = pytest.mark.hostile

IDS = ["NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0", "NMTLC-zhen-v0", "FIESTA-tdsa8-v0", "NMTHPO-v0", "CharHPO-v0"]


class Liar(RandomSearch):
    """Writes into everything that it gets."""

    def tell(self, action: Any, reward: Any, info: Any) -> None:
        super().tell(action, reward, info)
        info["scores"], info["cost"], info["finished"], info["status"] = [99.0], 0.0, False, "ok"
        info["metrics"].update(dict.fromkeys(info["metrics"], 99.0))
        for value in (action, reward, *info.values()):
            if isinstance(value, np.ndarray):
                value += 1

    def recommend(self) -> Any:
        return self.problem.action_space.sample()


class Reuser(RandomSearch):
    """Returns the same array again and again."""

    def ask(self) -> Any:
        action = np.asarray(super().ask())
        if not hasattr(self, "buffer"):
            self.buffer = action.copy()
        self.buffer[...] = action
        return self.buffer


@pytest.mark.parametrize("env", IDS)
def test_what_is_recorded_is_what_environment_did(env: str) -> None:
    kwargs: dict[str, Any] = {"env_kwargs": {**short(env)}}
    honest = run("random", env, [0, 1], **kwargs)
    for agent in (Liar, Reuser):
        for a, b in zip(honest, run(agent, env, [0, 1], **kwargs), strict=True):
            assert np.array_equal(a.rewards, b.rewards)
            assert np.array_equal(a.actions, b.actions)
            assert np.array_equal(a.costs, b.costs)


class Digger(RandomSearch):
    """Searches for memory of others."""

    def __init__(self, problem: Any, seed: int) -> None:
        super().__init__(problem, seed)
        for name in ("features", "levels", "reward_bounds"):
            array = getattr(problem, name)
            if array is not None:
                rejects("WRITEABLE", array.setflags, write=True)
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 0
        problem.action_space.seed(7)
        problem.action_space.n = 1


@pytest.mark.parametrize("env", ["NMTHPO-zhen-v0", "NMTLC-zhen-v0"])
def test_nothing_that_agents_reach_is_tables_memory(env: str) -> None:
    honest = run("random", env, range(3))
    dug = run(Digger, env, range(3))
    assert all(np.array_equal(a.rewards, b.rewards) for a, b in zip(honest, dug, strict=True))


def _reached(thing: Any) -> list[Any]:
    """All objects reachable by references, except modules, classes and globals of functions."""
    found: dict[int, Any] = {}  # kept, so that no address is used twice
    todo = [thing]
    while todo:
        thing = todo.pop()
        if id(thing) not in found:
            found[id(thing)] = thing
            if isinstance(thing, types.FunctionType):
                todo.extend([thing.__closure__, thing.__defaults__, thing.__kwdefaults__])
            elif not isinstance(thing, (types.ModuleType, type)):
                todo.extend([*gc.get_referents(thing), getattr(thing, "base", None)])
    return list(found.values())


@pytest.mark.parametrize("env", [*IDS, "NASBenchNLP-cell-v0", "CushLEPOR-ted-ende-v0"])
def test_no_reference_of_problem_leads_to_table_or_its_memory(env: str) -> None:
    found: list[Any] = []

    class Follows(RandomSearch):
        def __init__(self, problem: Any, seed: int) -> None:
            super().__init__(problem, seed)
            found.extend(_reached(problem))

    run(Follows, env, [0, 1], env_kwargs={**short(env)})
    assert len(found) > 40
    assert not [thing for thing in found if type(thing).__name__.endswith(("Table", "Params", "Env"))]


@pytest.mark.parametrize("value", [1.99, "17", True, -1, 118, None, [[1], [2, 3]]])
def test_non_action_is_rejected_with_agent_id_seed_rule_and_value(value: Any) -> None:
    agent = type("Asks", (RandomSearch,), {"ask": lambda self: value})
    with pytest.raises(ValueError, match=r"action 0 of Asks on NMTHPO-zhen-v0, seed 5, must be an int in \[0, 118\)"):
        run(agent, "NMTHPO-zhen-v0", [5])


@pytest.mark.parametrize("value", [None, "best", 1e9, [1, 2], np.nan])
def test_non_recommendation_is_rejected(value: Any) -> None:
    agent = type("Recommends", (RandomSearch,), {"recommend": lambda self: value})
    rejects("recommendation of Recommends on NMTHPO-zhen-v0, seed 5, must be an int", run, agent, "NMTHPO-zhen-v0", [5])


BAD = r'''
import gc, json, os, resource, signal, sys, time, warnings
from pathlib import Path
import numpy as np
from hpo_envs.agents.random import RandomSearch

class Exits(RandomSearch): ask = lambda self: sys.exit(0)
class Swells(RandomSearch): ask = lambda self: len(bytearray(2**60))
class Recommends(RandomSearch): recommend = lambda self: "garbage"
class Dies(RandomSearch): ask = lambda self: os._exit(3)
class Undecided(RandomSearch): done = "no"
class Stops(RandomSearch): ask = lambda self: os.kill(os.getpid(), signal.SIGSTOP)

class Raises(RandomSearch):
    def tell(self, action, reward, info):
        raise BaseException("no Exception")

class Silent(RandomSearch):
    def ask(self):
        raise type("Unprintable", (Exception,), {"__str__": lambda self: 1 / 0})

class Sleeps(RandomSearch):
    def ask(self):
        while True:
            try:
                time.sleep(1000)
            except Exception:
                pass

class Spins(RandomSearch):
    def ask(self):
        while True:
            pass

class Pops(RandomSearch):
    """Writes into its hyperparameters."""

    def __init__(self, problem, seed, sizes):
        super().__init__(problem, seed)
        assert sizes == [1, 2, 3]
        sizes.pop()

class Interrupts(RandomSearch):
    def ask(self):
        raise KeyboardInterrupt

class Prints(RandomSearch):
    """Prints what a terminal would obey, from Python and past it."""

    def ask(self):
        print("printed \x1b]0;owned\x07")
        warnings.warn("warned \x1b[2J")
        if "pytest" not in sys.modules:
            os.write(2, b"written \x1b[2J\xff\n")
        return super().ask()

class Masks(RandomSearch):
    """Does not hear the alarm of its limit."""

    def ask(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        time.sleep(1000)

class Hunts(RandomSearch):
    """Looks for the table in five ways, and writes down which of them led to it."""

    def __init__(self, problem, seed, into):
        super().__init__(problem, seed)
        self.into, self.seen = into, []
        take = np.take
        np.take = lambda a, *args, **kwargs: self.seen.append(len(a)) or take(a, *args, **kwargs)

    def recommend(self):
        ways = {"gc": self.gc, "frames": self.frames, "caches": self.caches, "files": self.files}
        found = {name: bool(way()) for name, way in ways.items()} | {"patches": bool(self.seen)}
        Path(self.into).write_text(json.dumps(found))
        return super().recommend()

    def gc(self):
        return [thing for thing in gc.get_objects() if type(thing).__name__ in ("Table", "LookupParams")]

    def frames(self):
        frame = sys._getframe()
        while frame := frame.f_back:
            if any(type(value).__name__.endswith(("Env", "Params")) for value in frame.f_locals.values()):
                return True
        return False

    def caches(self):
        from hpo_envs.tables import store
        try:
            return store.load("nmthpo/zhen")
        except PermissionError:
            return None

    def files(self):
        import hpo_envs.tables as tables
        try:
            return next(Path(tables.__file__).parent.rglob("nmthpo/**/*.npz")).read_bytes()
        except PermissionError:
            return None

class Lowers(RandomSearch):
    """Leaves its process without files to open."""

    def ask(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
        return super().ask()
'''
WHY = {
    "Exits": "SystemExit: 0",
    "Raises": "no Exception",
    "Silent": "<exception str() failed>",
    "Undecided": "must be True or False, got 'no'",
    "Interrupts": "must not raise KeyboardInterrupt",
    "Swells": "MemoryError",
    "Recommends": "must be an int in [0, 94), got 'garbage'",
}
HANG = ("Sleeps", "Spins")


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"bad_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(BAD)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), path])))
    return name


@pytest.mark.parametrize("isolate", [False, True])
def test_hyperparameters_are_recorded_as_they_were_given(isolate: bool, bad: str) -> None:
    kwargs: dict[str, Any] = {"budget": 2, "isolate": isolate, "sizes": [1, 2, 3]}
    runs = run(f"{bad}:Pops", "NMTHPO-zhen-v0", [0, 1], **kwargs)
    assert [r.header["hyperparameters"] for r in runs] == [{"sizes": [1, 2, 3]}] * 2


@pytest.mark.parametrize("isolate", [False, True])
def test_hunted_table_is_found_only_without_isolation(isolate: bool, bad: str, tmp_path: Path) -> None:
    """In one process Python hides nothing, see docs/trust.md; an isolated agent cannot find the table."""
    given = f"'{bad}:Hunts', 'NMTHPO-zhen-v0', [0], budget=3, isolate={isolate}, into='{tmp_path}/found'"
    program = f"from hpo_envs import run; run({given})"
    subprocess.run([sys.executable, "-c", program], check=True)  # it replaces a function of NumPy
    found = json.loads((tmp_path / "found").read_text())
    assert found == dict.fromkeys(("gc", "frames", "caches", "files", "patches"), not isolate)


@pytest.mark.skipif(os.name != "posix", reason="signals and limits of processes")
@pytest.mark.parametrize("jobs", [1, 2])
def test_bad_agent_stops_alone_and_table_says_why(
    tmp_path: Path, bad: str, jobs: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "GRACE", 1.0)
    why = {**WHY, **({"Dies": "the worker died each time"} if jobs > 1 else {})}
    names = ",".join(["random", *(f"{bad}:{name}" for name in why)])
    command = ["compare", "--env", "NMTHPO-zhen-v0", "--seeds", "2", "--jobs", str(jobs)]
    assert main([*command, "--agents", names, "--out", str(tmp_path / "runs")]) == 1
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    assert f"stopped (--debug shows tracebacks): {len(why)} of {len(why) + 1} pairs of agent and id" in out
    for name, reason in why.items():
        (line,) = [x for x in out.splitlines() if x.startswith(f"{bad}:{name} on NMTHPO-zhen-v0 stopped: ")]
        assert reason in line
    assert {r.header["agent"] for r in store.read(tmp_path / "runs")} == {"random"}
    # Nobody beside them: a run of an honest agent may take as long on a busy machine.
    hang = HANG if jobs == 1 else (*HANG, "Stops", "Masks")
    names = ",".join(f"{bad}:{name}" for name in hang)
    assert main([*command, "--agents", names, "--run-seconds", "0.5", "--out", str(tmp_path / "hang")]) == 1
    out = capsys.readouterr().out
    assert out.count("a run must end within 0.5 s (--run-seconds), this one did not") == len(hang)


def _shown(message: Warning | str, *more: Any) -> None:
    print(message, file=sys.stderr)


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("how", [[], ["--jobs", "2"], ["--isolate"]])
def test_output_of_agents_reaches_terminal_escaped(
    how: list[str], tmp_path: Path, bad: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warnings, "showwarning", _shown)  # pytest takes what the original shows
    command = ["compare", "--env", "NMTHPO-zhen-v0", "--seeds", "1", "--budget", "2", "--agents", f"{bad}:Prints"]
    assert main([*command, *how, "--out", str(tmp_path / "runs")]) == 0
    said = "".join(capfd.readouterr())
    assert r"printed \x1b]0;owned\x07" in said
    assert r"warned \x1b[2J" in said
    if how:
        assert r"written \x1b[2J\xff" in said
    assert not any(c in said for c in "\x1b\x07")


@pytest.mark.skipif(os.name != "posix", reason="limits of processes")
def test_worker_is_replaced_after_foreign_code(tmp_path: Path, bad: str) -> None:
    honest = ("random", "bo-spread", "regularized-evolution")
    entrants = tuple(Entrant(name, name) for name in (f"{bad}:Lowers", *honest))
    ids = ("NMTHPO-zhen-v0", "NMTHPO-jaen-v0")
    study = Study(tuple(Environment(i, {"budget": 4}) for i in ids), entrants, (0, 1))
    with executors.of_jobs(2) as executor:
        outcome = conduct(study, tmp_path / "runs", executor)
    assert {agent for _, agent in outcome.errors} <= {f"{bad}:Lowers"}
    assert {r.header["agent"] for r in store.read(tmp_path / "runs")} >= {*honest}


def test_limits_leave_nothing_behind() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    with limits.memory(), limits.deadline(100.0):
        pass
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_run_seconds_that_is_no_time_is_rejected(cli: Any) -> None:
    assert "--run-seconds must be a number > 0, got 0.0" in cli(["compare", "--run-seconds", "0"], 2)


def test_page_of_threats_names_commands_that_exist() -> None:
    rows = re.findall(r"^\|.*\| (.*) \|$", (ROOT / "docs" / "trust.md").read_text(encoding="utf-8"), re.MULTILINE)
    commands = [words.split() for row in rows for words in re.findall(r"`(pytest [^`]*|python [^`]*)`", row)]
    assert len(commands) > 15
    for program, *words in commands:
        if program == "python":
            if words[0] == "-m" and (ROOT / "benchmarks").is_dir():  # in no wheel
                assert (ROOT / words[1].removeprefix("hpo_envs.").replace(".", "/")).with_suffix(".py").is_file(), words
            assert words[0] == "-m" or (ROOT / words[0]).is_file(), words
            continue
        files, _, word = " ".join(words).partition(" -k ")
        names = [n for f in files.split() for n in re.findall(r"def (test_\w+)", (ROOT / f).read_text("utf-8"))]
        assert any(word in name for name in names), words
        assert all("mark.hostile" in (ROOT / f).read_text(encoding="utf-8") for f in files.split()), words


@pytest.mark.parametrize("isolate", [False, True])
def test_agent_is_done_by_true_or_false(isolate: bool, bad: str, tmp_path: Path) -> None:
    rule = "seed 0, must be True or False, got 'no'"
    with pytest.raises(ValueError, match=f"done of .*Undecided on NMTHPO-zhen-v0, {rule}"):
        run(f"{bad}:Undecided" if isolate else Undecided, "NMTHPO-zhen-v0", [0], isolate=isolate)


class Undecided(RandomSearch):
    done = "no"  # type: ignore[assignment]
