"""A small study, and a module of a user's own agents."""

from __future__ import annotations

from typing import Any

SMALL: dict[str, Any] = {
    "seeds": 5,
    "table": "surrogate",
    "budget": 4,
    "environments": ["NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0"],
    "agents": ["random", {"name": "graph", "algorithm": "graph-ei-rbf"}],
}
MINE = """
import os, signal
from pathlib import Path
from hpo_envs.agents.random import RandomSearch

class Fails(RandomSearch):
    def __init__(self, problem, seed):
        super().__init__(problem, seed)
        if seed == 2:
            raise RuntimeError("seed 2 is unlucky")

class Dies(RandomSearch):
    '''Takes its process with it: always, or once.'''
    def __init__(self, problem, seed, flag, once=True):
        super().__init__(problem, seed)
        if seed == 3 and not (once and Path(flag).exists()):
            Path(flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
"""
