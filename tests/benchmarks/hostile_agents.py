"""Agents that try what isolated agents must not do; imported only by the process in which they run."""

import ctypes
import gc
import os
import sys
import time
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


class Misbehaves(RandomSearch):
    """Performs the action named by `how` instead of its third suggestion."""

    def __init__(self, problem: Any, seed: int, how: str) -> None:
        super().__init__(problem, seed)
        self.how, self.asked = how, 0

    def ask(self) -> Any:
        self.asked += 1
        return getattr(self, self.how)() if self.asked == 3 else super().ask()

    def exits(self) -> Any:
        sys.exit(3)

    def ends(self) -> Any:
        os._exit(3)

    def raises(self) -> Any:
        raise KeyError("\x1b[31mred")

    def hangs(self) -> Any:
        time.sleep(600)

    def answers_an_object(self) -> Any:
        return object()

    def answers_text(self) -> Any:
        return "1"

    def answers_too_much(self) -> Any:
        return "1" * (1 << 25)

    def sends(self, data: bytes, times: int = 1) -> Any:
        for _ in range(times):
            for fd in range(3, 20):
                try:
                    os.write(fd, data)
                except OSError:
                    pass
        return 0

    def sends_garbage(self) -> Any:
        return self.sends(b"garbage" * 10)

    def sends_endless_bytes(self) -> Any:
        return self.sends(b"x" * 65536, 1_000_000)

    def sends_a_length_without_end(self) -> Any:
        return self.sends(wire.HEAD.pack(b"hpo1", 1 << 60, 0))

    def sends_twice(self) -> Any:
        return self.sends(wire.encode({"number": 6, "answer": [0]}))  # make, twice ask and tell: this is call 6

    def sends_without_number(self) -> Any:
        return self.sends(wire.encode({"answer": [0]}))

    def sends_another_answer(self) -> Any:
        return self.sends(wire.encode({"number": 6, "answer": 7}))

    def takes_memory(self) -> Any:
        return len(bytearray(1 << 60))
