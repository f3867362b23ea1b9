"""One picture for each id: `render()` of a seeded run of a reference agent on the table that ships."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from hpo_envs import agents
from hpo_envs.agents import Problem
from hpo_envs.benchmarks import problem_of
from hpo_envs.families import registry

STEPS = 40
"""Evaluations of a run, unless its budget is smaller; five times as many steps of learning curves and of cells."""


def agent_for(problem: Problem) -> str:
    """A fast agent whose run is typical of the environment."""
    if problem.objectives > 1 or problem.mutate is not None:
        return "random"
    order = ("bo-ei-matern52", "bts", "box-bo", "random") if problem.levels is None else ("asha",)
    return next(name for name in order if agents.fits(name, problem))


def frame(env_id: str, seed: int = 0) -> tuple[Any, str, int]:
    """A picture, (480, 640, 3) uint8, of a seeded run; its agent's name, and how many steps it took."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        family = registry.family_of(env_id)
        arguments = dict(family.example) if family else {}
        plain: Any = gym.make(env_id, **arguments).unwrapped
        if plain.params.budget_unit == "evaluations" and plain.params.kind != "graph":
            arguments["budget"] = min(plain.budget, STEPS)
        env = gym.make(env_id, render_mode="rgb_array", **arguments)
    problem = problem_of(env)
    name = agent_for(problem)
    agent = agents.make(name, problem, seed)
    env.reset(seed=seed)
    steps = 0
    while steps < 5 * STEPS and not agent.done:
        action = agent.ask()
        _, reward, terminated, _, info = env.step(action)
        hidden = {k: v for k, v in info.items() if k != "held_out"}
        agent.tell(hidden.pop("action", action), reward, hidden)
        steps += 1
        if terminated:
            break
    picture = np.asarray(env.render())
    env.close()
    return picture, name, steps


def save(env_id: str, path: Path) -> str:
    """Write the picture and return its caption."""
    from PIL import Image

    picture, name, steps = frame(env_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path)
    return f"`{name}`, {steps} steps, seed 0"
