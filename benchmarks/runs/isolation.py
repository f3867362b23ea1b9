"""Isolated agents: a process that gets the `Problem`, not its table; environment variables, limits, messages and end.

This prevents accidents and shortcuts; it is not a sandbox. `docs/trust.md` lists what agents can still do.
"""

import contextlib
import functools
import importlib.util
import json
import multiprocessing
import os
import select
import shutil
import signal
import site
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents import Agent, Problem, wire
from hpo_envs.benchmarks.runs import limits
from hpo_envs.benchmarks.runs.pool import AgentPool
from hpo_envs.benchmarks.runs.provenance import files_of
from hpo_envs.tables import screen

HERE = Path(__file__).parents[2]
"""Folder of this package."""

MOST_BYTES = 1 << 24
"""Maximum length of an answer, in bytes."""

KEPT = (
    *("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    *("PYTHONHASHSEED", "OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES"),
)
"""Environment variables that the process inherits: for finding programs and libraries, language, and numbers."""


class AgentError(RuntimeError):
    """An isolated agent raised an error, ended its process or sent an invalid message."""


def name_of(agent: str | Callable[..., Agent]) -> str:
    """Return a name unchanged, or a factory as `module:factory`; a `ValueError` if it cannot be imported by name."""
    if isinstance(agent, str):
        return agent
    module, name = getattr(agent, "__module__", "__main__"), getattr(agent, "__qualname__", "<none>")
    if module == "__main__" or "<" in name:
        raise ValueError(f"agent must be importable as module:factory to be isolated, got {agent!r}")
    return f"{module}:{name}"


class IsolatedProcess(contextlib.AbstractContextManager["IsolatedProcess"]):
    """A process for agents of one name, usable by any number of `run`s in turn.

    Args:
        agent: Registered name, `module:factory`, or a factory that can be imported by name.
        isolate: True, or the interpreter of another environment with the agent's packages, NumPy and Gymnasium; this
            package is provided by a link.

    Raises:
        ValueError: The factory cannot be imported, the interpreter does not exist, or the system has no POSIX pipes.
    """

    def __init__(self, agent: str | Callable[..., Agent], isolate: bool | str | os.PathLike[str] = True) -> None:
        if os.name != "posix":
            raise ValueError(f"isolate must be False on systems without POSIX pipes, got True on {sys.platform}")
        self.agent, self.elsewhere = name_of(agent), isolate is not True
        python = sys.executable if isolate is True else None
        python = shutil.which(isolate) if isinstance(isolate, (str, os.PathLike)) else python
        if python is None:
            raise ValueError(f"isolate must be True, False or a Python interpreter, got {isolate!r}")
        self._folder = tempfile.TemporaryDirectory(prefix="hpo-envs-agent-", ignore_cleanup_errors=True)
        if self.elsewhere:  # next to this package may lie others, which are not for that interpreter
            Path(self._folder.name, "hpo_envs").symlink_to(HERE)
        shown, output = multiprocessing.Pipe(duplex=False)
        self._output = screen.relay(shown)
        self._process = subprocess.Popen(  # noqa: S603
            # Absolute, for the process has another working folder; a link into an environment must stay one.
            [os.path.abspath(python), "-m", "hpo_envs.agents.serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output.fileno(),
            bufsize=0,
            cwd=self._folder.name,
            env=_environment(self.agent, self._folder.name, self.elsewhere),
            start_new_session=True,
        )
        output.close()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._open, self._calls = True, 0
        os.set_blocking(self._in, False)
        _limit(self._process.pid)

    def pool(
        self,
        problem: Problem,
        seeds: Sequence[int],
        hyperparameters: Mapping[str, Any],
        rows: npt.NDArray[np.int64] | None = None,
    ) -> AgentPool:
        """Make one agent per seed in the process; return their pool.

        Raises:
            ValueError: The hyperparameters are not JSON data.
            AgentError: An agent could not be made.
        """
        try:
            text = json.dumps(hyperparameters)
            marked = '"$array":' in text or '"$bytes":' in text  # as `wire` marks its own
            plain = json.loads(text) == hyperparameters and not marked
        except (TypeError, ValueError):
            plain = False
        if not plain:
            rule = "JSON data, without keys $array and $bytes, for an isolated agent"
            raise ValueError(f"hyperparameters must be {rule}, got {dict(hyperparameters)!r}")
        found = {k: os.path.abspath(file) for k, file in files_of(hyperparameters).items()}  # its folder is another
        given = {**hyperparameters, **found}
        made = {"problem": problem.to_bytes(), "seeds": seeds, "hyperparameters": given, "rows": rows}
        pool = _RemotePool(self, len(seeds))
        pool.observes = any(answer is True for answer in pool._several("make", len(seeds), agent=self.agent, **made))
        return pool

    def call(self, do: str, **message: Any) -> Any:
        """Send a message and return the answer; any error ends the process. An agent that fails raises `AgentError`."""
        try:
            self._calls += 1
            self._send(wire.encode({"do": do, "number": self._calls, **message}))
            reply = self._receive()
            if not isinstance(reply, dict) or reply.keys() not in ({"number", "answer"}, {"number", "error"}):
                raise self._refused(f"a reply must have a number and an answer or an error, got {str(reply)[:80]!r}")
            if reply["number"] != self._calls:  # sent unasked, and read only now
                raise self._refused(f"a reply must have the number of its call, {self._calls}, got {reply['number']}")
            if "error" in reply:
                raise AgentError(screen.escaped(str(reply["error"])[-20_000:]))
            return reply["answer"]
        except BaseException:
            self.close()
            raise

    def versions(self) -> dict[str, str]:
        """Return the process's versions of Python, NumPy and the agent's package, or raise an `AgentError`."""
        answer = self.call("versions", agent=self.agent)
        valid = isinstance(answer, dict) and all(isinstance(v, str) for v in answer.values())
        self.require(valid, f"versions of {self.agent} must be strings", answer)
        return dict(answer)

    def require(self, valid: bool, rule: str, answer: Any) -> None:
        """If an answer is not valid, end the process and raise an `AgentError` with the rule and the answer."""
        if not valid:
            self.close()
            raise AgentError(f"{rule}, got {str(answer)[:80]!r}")

    def close(self) -> None:
        """Kill the process and its process group, and delete its folder; do nothing if it is already closed."""
        if not self._open:
            return
        self._open = False
        with contextlib.suppress(ProcessLookupError, PermissionError):  # has ended, for which macOS denies permission
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()  # where it has left its group
        with self._process:
            pass  # closes the pipes and waits
        self._output.join(1.0)
        self._folder.cleanup()

    def __exit__(self, *error: object) -> None:
        self.close()

    def _send(self, data: bytes) -> None:
        if not self._open:
            raise AgentError(f"the process of {self.agent} has already ended")
        left = memoryview(data)
        both = select.poll()
        both.register(self._out, select.POLLIN)
        both.register(self._in, select.POLLOUT)
        while left:
            for pipe, _ in both.poll(1000):  # awake each second, for a deadline that another thread may set
                if pipe == self._out:
                    if os.read(self._out, 1):
                        raise self._refused("data must not be sent without a call")
                    raise self._ended()
                try:
                    left = left[os.write(self._in, left) :]
                except BrokenPipeError:
                    raise self._ended() from None

    def _receive(self) -> Any:
        try:
            text, arrays = wire.lengths(self._read(wire.HEAD.size), MOST_BYTES)
            return wire.decode(self._read(text), self._read(arrays))
        except ValueError as error:
            raise self._refused(str(error)) from None

    def _read(self, size: int) -> bytes:
        found = bytearray()
        one = select.poll()
        one.register(self._out, select.POLLIN)
        while len(found) < size:
            if one.poll(1000):
                chunk = os.read(self._out, size - len(found))
                if not chunk:
                    raise self._ended()
                found += chunk
        return bytes(found)

    def _ended(self) -> AgentError:
        try:
            status = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return AgentError(f"the process of {self.agent} closed its pipe")
        return AgentError(f"the process of {self.agent} ended with exit status {status}")

    def _refused(self, rule: str) -> AgentError:
        return AgentError(f"the process of {self.agent} sent an invalid message: {screen.escaped(rule)}")


@functools.cache
def supports_of(agent: str, isolate: bool | str) -> tuple[str, ...]:
    """Return `Agent.supports` of an isolated agent; empty if its process fails, as its runs will report the error."""
    try:
        with IsolatedProcess(agent, isolate) as process, limits.deadline(300.0):  # with the import of its module
            return tuple(map(str, process.call("supports", agent=agent)))
    except (AgentError, TypeError, limits.RunTimeout):
        return ()


class _RemotePool(AgentPool):
    def __init__(self, host: IsolatedProcess, size: int) -> None:
        self._host, self._size = host, size

    def observe(self, who: Sequence[int], observations: npt.NDArray[Any], masks: npt.NDArray[Any] | None) -> None:
        self._host.call("observe", who=who, observations=observations, masks=masks)

    def ask(self, who: Sequence[int]) -> Sequence[Any]:
        return self._several("ask", len(who), who=who)

    def tell(
        self, who: Sequence[int], actions: Sequence[Any], rewards: Sequence[Any], infos: Sequence[Mapping[str, Any]]
    ) -> Sequence[bool]:
        return self._several("tell", len(who), who=who, actions=actions, rewards=rewards, infos=infos)

    def recommend(self) -> Sequence[Any]:
        return self._several("recommend", self._size)

    def random(self, counts: Sequence[int]) -> Sequence[bool]:
        return [answer is True for answer in self._several("random", self._size, counts=counts)]

    def trained_on(self) -> Sequence[Iterable[str]]:
        answers = self._several("trained_on", self._size)
        valid = all(isinstance(a, list) and all(isinstance(name, str) for name in a) for a in answers)
        self._host.require(valid, f"trained_on of {self._host.agent} must be lists of names", answers)
        return answers

    def _several(self, do: str, count: int, **message: Any) -> list[Any]:
        answer = self._host.call(do, **message)
        rule = f"answer of {self._host.agent} to {do} must be a list of length {count}"
        self._host.require(isinstance(answer, list) and len(answer) == count, rule, answer)
        return list(answer)


def _environment(agent: str, folder: str, elsewhere: bool) -> dict[str, str]:
    """Return the environment variables of the process: `KEPT`, an empty home, one thread, and the import path."""
    path = dict.fromkeys([folder if elsewhere else str(HERE.parent), *_folders(agent)])
    variables = {name: os.environ[name] for name in KEPT if name in os.environ}
    libraries = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    variables |= dict.fromkeys(libraries, "1")
    variables |= dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "TMPDIR"), folder)
    if site.ENABLE_USER_SITE and not elsewhere:
        variables["PYTHONUSERBASE"] = site.getuserbase()
    return {**variables, "PYTHONPATH": os.pathsep.join(path)}


def _folders(agent: str) -> Iterator[str]:
    """Yield the folders that contain the agent's module or package, without an import; none for registered names."""
    top = agent.partition(":")[0].partition(".")[0]
    spec = importlib.util.find_spec(top) if ":" in agent else None
    if spec is None:
        return
    if spec.submodule_search_locations is not None:
        yield from (str(Path(place).resolve().parent) for place in spec.submodule_search_locations)
    elif spec.origin is not None:
        yield str(Path(spec.origin).resolve().parent)


def _limit(pid: int) -> None:
    """Limit the process on Linux: a share of the memory, no core dumps, a gigabyte per file, few files."""
    if sys.platform != "linux":
        return
    import resource

    wanted = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 1 << 30, resource.RLIMIT_NOFILE: 256}
    if (free := limits.available()) is not None:
        wanted[resource.RLIMIT_AS] = int(limits.SHARE * free)
    for what, value in wanted.items():
        now = [v for v in resource.prlimit(pid, what) if v != resource.RLIM_INFINITY]
        resource.prlimit(pid, what, (min([value, *now]),) * 2)
