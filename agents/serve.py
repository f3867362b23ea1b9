"""Server process of isolated agents, which cannot open shipped tables: `python -m hpo_envs.agents.serve`.

It reads messages (`hpo_envs.agents.wire`) from standard input and replies on standard output.
"""

import contextlib
import ctypes
import importlib
import os
import platform
import signal
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from hpo_envs.agents import Agent, Problem, make_each, wire
from hpo_envs.agents.base import is_random, prepare_each
from hpo_envs.agents.problem import sealed
from hpo_envs.agents.registry import entry, factory, version_of

LONGEST = 20_000
"""Largest number of characters kept from the end of a traceback."""


class ServedAgents:
    """The agents of the episodes of one run, called together."""

    def __init__(self) -> None:
        self._agents: list[Agent] = []

    def load(self, agent: str) -> None:
        """Import an agent's module before its time limit starts; errors are ignored here and raised by `make`."""
        with contextlib.suppress(Exception):
            factory(agent) if ":" in agent else importlib.import_module(entry(agent).target.partition(":")[0])

    def make(
        self, agent: str, problem: bytes, seeds: list[int], hyperparameters: Mapping[str, Any], rows: Any = None
    ) -> list[bool]:
        """Make one agent for each seed, in place of the previous ones; return for each whether it `observes`.

        The problem is a result of `Problem.to_bytes`; all other arguments are those of `make_each`.
        """
        shared = sealed(Problem.from_bytes(problem))
        self._agents = list(make_each(agent, shared, seeds, hyperparameters, rows))
        return [agent.observes for agent in self._agents]

    def observe(self, who: list[int], observations: Any, masks: Any) -> None:
        """Pass an observation, and a mask unless `masks` is None, to each of the agents with indices `who`."""
        for k, i in enumerate(who):
            self._agents[i].observe(observations[k], None if masks is None else masks[k])

    def ask(self, who: list[int]) -> list[Any]:
        """Return the next action of each of the agents with indices `who`, after preparing them together."""
        agents = [self._agents[i] for i in who]
        prepare_each(agents)
        return [_kept(agent.ask()) for agent in agents]

    def tell(self, who: list[int], actions: list[Any], rewards: list[Any], infos: list[Any]) -> list[bool]:
        """Report an outcome to each of the agents with indices `who`; return for each whether it is done."""
        for i, action, reward, info in zip(who, actions, rewards, infos, strict=True):
            self._agents[i].tell(action, reward, info)
        done = (self._agents[i].done for i in who)
        return [bool(d) if isinstance(d, np.bool_) else d for d in done]

    def recommend(self) -> list[Any]:
        """Return the recommendation of each agent."""
        return [_kept(agent.recommend()) for agent in self._agents]

    def random(self, counts: list[int]) -> list[bool]:
        """Return, for each agent, whether it was random search in its number of evaluations, see `base.is_random`."""
        return [is_random(agent, k) for k, agent in zip(counts, self._agents, strict=True)]

    def trained_on(self) -> list[list[str]]:
        """Return, for each agent, the sorted languages and task groups in its `trained_on`."""
        return [sorted(agent.trained_on) for agent in self._agents]

    def supports(self, agent: str) -> list[str]:
        """Return the kinds of problems that an unregistered agent supports; empty: all."""
        return list(getattr(factory(agent), "supports", ()))

    def versions(self, agent: str) -> dict[str, str]:
        """Return the versions of Python, NumPy and the agent's own package (see `version_of`) in this process."""
        return {"python": platform.python_version(), "numpy": np.__version__, **version_of(agent)}


def _kept(value: Any) -> Any:
    """Return an action, copied if it is an array, because agents may share a buffer."""
    return value.copy() if type(value) is np.ndarray else value


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Reply to messages until the input ends; if a call raises, the reply is the end of its traceback (`LONGEST`)."""
    pool, process = ServedAgents(), os.getpid()
    while len(head := requests.read(wire.HEAD.size)) == wire.HEAD.size:
        text, arrays = wire.lengths(head)
        message = wire.decode(requests.read(text), requests.read(arrays))
        number = message.pop("number")
        try:
            answer = wire.encode({"number": number, "answer": getattr(pool, message.pop("do"))(**message)})
        except BaseException:  # SystemExit, too: a message is clearer than an exit status
            answer = wire.encode({"number": number, "error": traceback.format_exc()[-LONGEST:]})
        if os.getpid() != process:  # in a child that an agent forked: its parent replies
            os._exit(0)
        replies.write(answer)
        replies.flush()


def _pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Return standard input and output as pipes for messages only.

    Afterwards, agents find an empty standard input, and their output goes to standard error.
    """
    pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return pipes


def _refuse_tables() -> None:
    """Make opening a table that ships with the package raise `PermissionError`."""
    folder = os.path.realpath(Path(__file__).parent.parent / "tables") + os.sep

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(arguments[0], (str, bytes)):
            return
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if path.startswith(folder) and not path.endswith((".py", ".pyc")):
            raise PermissionError(f"an isolated agent must not open tables, got {os.path.basename(path)}")

    sys.addaudithook(hook)


def _die_with_parent() -> None:
    """Make Linux end this process when its parent ends; do nothing on other systems."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def main() -> None:
    """Serve the parent process over standard input and output, until the input ends."""
    pipes = _pipes()
    _die_with_parent()
    _refuse_tables()
    import scipy.linalg  # noqa: F401  (seconds in a fresh process, which are not the agent's)

    serve(*pipes)


if __name__ == "__main__":
    main()
