"""Shared by tests of multi-fidelity agents: curves that never cross, and a loop on one environment."""

from typing import Any

import numpy as np

from hpo_envs import agents
from hpo_envs.benchmarks import problem_of
from hpo_envs.core.engines.curves.scalar import CurvesEnv
from hpo_envs.tables.table import Metric, Provenance, Table
from tests.hpo_envs.core.engines.curves.model import curves_env


def smooth(rows: int = 100, levels: int = 81) -> Table:
    """Curves that never cross: row 0 is the best at every epoch; every epoch costs one second."""
    quality = np.arange(rows) / rows
    values = (1.0 + quality[:, None] + 2.0 / np.arange(1, levels + 1))[:, None, :, None]
    return Table(
        name="tests/smooth",
        keys=tuple(map(str, range(rows))),
        metrics=(Metric("val_loss", "nat", "min", 0.0, 20.0),),
        values=values,
        cost=np.broadcast_to(np.arange(1.0, levels + 1), (rows, 1, levels)),
        cost_unit="seconds",
        levels=np.arange(1.0, levels + 1),
        level_unit="epochs",
        provenance=Provenance("surrogate", "nobody/nothing", "0" * 40, "none", "none", notes=("made up",)),
        feature_names=("x", "y", "z"),
        features=np.stack([quality, quality**2, np.abs(quality - 0.5)], axis=1),
    )


SMOOTH = smooth()


def play(name: str, env: CurvesEnv, seed: int = 0, steps: int = 10**6, **hyper: Any) -> tuple[Any, list[Any]]:
    """Run an agent on one scalar environment; return it and the (action, reward, info) of each result."""
    env.reset(seed=seed)
    agent = agents.make(name, problem_of(env), seed, **hyper)
    trail, terminated = [], False
    while not (terminated or agent.done or len(trail) >= steps):
        asked = agent.ask()
        _, reward, terminated, _, info = env.step(asked)
        action = info.get("action", asked)
        agent.tell(action, reward, info)
        if info.get("finished", True):
            trail.append((np.asarray(action).tolist(), reward, info))
    return agent, trail


def make(t: Table = SMOOTH, **kwargs: Any) -> CurvesEnv:
    return curves_env("x", table=t, **{"objective": "val_loss", "budget": None, **kwargs})
