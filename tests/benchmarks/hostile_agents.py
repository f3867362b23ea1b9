"""Agents that try what isolated agents must not do; imported only by the process in which they run."""

import contextlib
import ctypes
import gc
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym

from hpo_envs.agents import wire
from hpo_envs.agents.random import RandomSearch


class LooksForTables(RandomSearch):
    """Fails if it finds a table, an environment or a way to one."""

    def ask(self) -> Any:
        kinds = {type(thing).__name__ for thing in gc.get_objects()}
        assert not [kind for kind in kinds if kind == "Table" or kind.endswith("Env")], kinds
        assert not [name for name in os.environ if name.startswith(("HPO_ENVS", "XDG_RUNTIME", "SECRET"))], os.environ
        assert os.environ["HOME"] == os.environ["XDG_CACHE_HOME"] == os.getcwd(), os.environ["HOME"]
        assert os.listdir() == []
        pipes = [fd for fd in os.listdir("/proc/self/fd")] if sys.platform == "linux" else []
        assert len(pipes) <= 7, pipes  # three, two for messages, /dev/null, and the listing
        return super().ask()


class MakesEnvironment(RandomSearch):
    """Reads the optimum from a table that ships."""

    def ask(self) -> Any:
        gym.make("hpo_envs:NMTHPO-zhen-v0").reset(seed=0)
        return super().ask()


class Prints(RandomSearch):
    """Prints from Python and from C, and reads standard input."""

    def ask(self) -> Any:
        print("printed by Python", flush=True)
        os.write(1, b"written to 1\n")
        libc = ctypes.CDLL(None)
        libc.puts(b"printed by C")
        libc.fflush(None)
        assert sys.stdin.read() == ""
        return super().ask()


def sends(data: bytes, times: int = 1) -> int:
    for _ in range(times):
        for fd in range(3, 20):
            with contextlib.suppress(OSError):
                os.write(fd, data)
    return 0


ACTIONS: dict[str, Callable[[], Any]] = {
    "exits": lambda: sys.exit(3),
    "ends": lambda: os._exit(3),
    "raises": lambda: {}["\x1b[31mred"],
    "hangs": lambda: time.sleep(600),
    "answers_an_object": object,
    "answers_text": lambda: "1",
    "answers_too_much": lambda: "1" * (1 << 25),
    "sends_garbage": lambda: sends(b"garbage" * 10),
    "sends_endless_bytes": lambda: sends(b"x" * 65536, 1_000_000),
    "sends_a_length_without_end": lambda: sends(wire.HEAD.pack(b"hpo1", 1 << 60, 0)),
    # Make, twice ask and tell: this is call 6.
    "sends_twice": lambda: sends(wire.encode({"number": 6, "answer": [0]})),
    "sends_without_number": lambda: sends(wire.encode({"answer": [0]})),
    "sends_another_answer": lambda: sends(wire.encode({"number": 6, "answer": 7})),
    "takes_memory": lambda: len(bytearray(1 << 60)),
}


class Misbehaves(RandomSearch):
    """Performs the action named by `how` instead of its third suggestion."""

    def __init__(self, problem: Any, seed: int, how: str) -> None:
        super().__init__(problem, seed)
        self.how, self.asked = how, 0

    def ask(self) -> Any:
        self.asked += 1
        return ACTIONS[self.how]() if self.asked == 3 else super().ask()
