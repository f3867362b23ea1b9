"""A small study, and a module with a user's agents."""

from typing import Any

from hpo_envs.benchmarks.runs.episodes import seeds_of

SMALL: dict[str, Any] = {
    "seeds": 5,
    "budget": 4,
    "environments": ["NMTHPO-zhen-v0", "NMTHPO-zhen-mo-v0"],
    "agents": ["random", {"name": "graph", "algorithm": "graph-ei-rbf"}],
}
UNLUCKY, DEADLY = ([seeds_of(env_id, seed)[1] for env_id in SMALL["environments"]] for seed in (2, 3))
MINE = f"""
import os, signal
from pathlib import Path
from hpo_envs.agents.random import RandomSearch

class Fails(RandomSearch):
    def __init__(self, problem, seed):
        super().__init__(problem, seed)
        if seed in {UNLUCKY}:
            raise RuntimeError("seed 2 is unlucky")

class Dies(RandomSearch):
    '''Takes its process with it: always, or once.'''
    def __init__(self, problem, seed, flag, once=True):
        super().__init__(problem, seed)
        if seed in {DEADLY} and not (once and Path(flag).exists()):
            Path(flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
"""
