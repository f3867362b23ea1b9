"""Our agents as samplers of Optuna: `optuna.create_study(sampler=AgentSampler("bo"))`. Needs the extra `optuna`."""

from __future__ import annotations

import math
import threading
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs import agents
from hpo_envs.agents.base import Agent, Planned
from hpo_envs.agents.external.from_optuna import AnySampler
from hpo_envs.agents.external.optuna import OptunaAgent, _optuna
from hpo_envs.agents.external.unit_cube import Cube
from hpo_envs.agents.problem import Problem

optuna = _optuna()

Floats = npt.NDArray[np.float64]

_DEAF = (Planned, OptunaAgent, AnySampler)
"""Agents that can be told only what they asked for."""


class AgentSampler(optuna.samplers.BaseSampler):  # type: ignore[misc,name-defined]
    """A sampler that asks one of our agents.

    Agents for featured rows choose among a finite set of candidates: the whole grid where the search space is one of
    at most `candidates` points, else as many seeded random points of it. The agent sees them scaled to [0, 1], a choice
    as one 0/1 feature a value. Agents for boxes get the unit cube in the same scaling; steps are rounded and the
    largest entry of a choice is taken.

    Parameters that not every trial has, and those of the first trial, are drawn at random, as by Optuna's own
    samplers. A trial that failed or was pruned is told as failed. One suggestion is out at a time: while
    its trial is running, other workers get random points. What came back of those, and of trials that the sampler did
    not propose (`enqueue_trial`, an earlier session), is told to the agent when it is next free, at the nearest
    candidate; agents that follow a plan of their own or are Optuna's take no notice of it. A sampler that was saved
    and loaded makes its agent anew.

    Complexity: that of the agent on `candidates` rows.

    Args:
        agent: Name of an agent for featured rows or boxes, see `hpo_envs.agents.names()`.
        seed: Seed of candidates and agent.
        candidates: Size of the candidate set.
        **hyperparameters: Of the agent.

    Raises:
        ValueError: No such agent, or one that works on neither; or `candidates` < 2. In use: several objectives for
            an agent of one, or one for an agent of several.
    """

    def __init__(
        self, agent: str = "bo", *, seed: int | None = None, candidates: int = 1000, **hyperparameters: Any
    ) -> None:
        supports = set(agents.entry(agent).supports)
        if not {"rows", "objectives", "box"} & supports:
            kinds = ", ".join(agents.entry(agent).supports)
            raise ValueError(f"agent must work on featured rows or boxes, got {agent!r}, which works on {kinds}")
        if isinstance(candidates, bool) or not isinstance(candidates, int) or candidates < 2:
            raise ValueError(f"candidates must be an int >= 2, got {candidates!r}")
        self._name, self._hyperparameters, self._count = agent, hyperparameters, candidates
        self._finite = bool({"rows", "objectives"} & supports)
        self._independent = optuna.samplers.RandomSampler(seed=seed)
        self._spaces = optuna.search_space.IntersectionSearchSpace()
        self._rng = np.random.default_rng(seed)
        self._space: dict[str, Any] | None = None
        self._asked: tuple[int, Any] | None = None
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        # Agents may hold generators, which cannot be saved: a copy makes one anew, which is told what is finished.
        return {k: v for k, v in self.__dict__.items() if k not in ("_lock", "_agent")} | {"_space": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def reseed_rng(self) -> None:
        """Takes a fresh seed and keeps what was learned: Optuna asks for it before every trial of `n_jobs=2`."""
        self._independent.reseed_rng()
        with self._lock:
            self._rng = np.random.default_rng()
            if self._space is not None:
                self._agent.rng = np.random.default_rng()

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        """The parameters that all finished trials have, without those that have one value only."""
        space = self._spaces.calculate(study)
        return {name: d for name, d in sorted(space.items()) if not d.single()}

    def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
        """A random value, for parameters that are not in the relative search space."""
        self._check(study)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def sample_relative(self, study: Any, trial: Any, search_space: dict[str, Any]) -> dict[str, Any]:
        """The agent's next point."""
        self._check(study)
        space = {name: d for name, d in search_space.items() if not d.single()}
        if not space:
            return {}
        with self._lock:
            if space != self._space:
                self._begin(space, len(study.directions))
            self._hear(study)
            if self._asked is None and not self._agent.done and not self._all_used():
                action = self._agent.ask()
                self._asked = trial.number, action
            else:
                action = self._random()
            point = self._point(action)
        return {name: d.to_external_repr(v) for (name, d), v in zip(space.items(), point, strict=True)}

    def _check(self, study: Any) -> None:
        """Whether the agent can work on as many objectives."""
        supports, several = agents.entry(self._name).supports, len(study.directions) > 1
        if several and "objectives" not in supports:
            raise ValueError(f"agent must work on several objectives for this study, got {self._name!r}")
        if not several and supports == ("objectives",):
            raise ValueError(f"agent must work on one objective for this study, got {self._name!r}")

    def _begin(self, space: dict[str, Any], objectives: int) -> None:
        """Draws candidates and makes the agent."""
        self._space, self._cube = space, Cube(list(space.values()))
        seed = int(self._rng.integers(2**31))
        if self._finite:
            self._points = self._cube.candidates(self._count, self._rng)
            self._features = np.array([self._cube.encode(p) for p in self._points])
            names = tuple(f"x{j}" for j in range(self._cube.size))
            problem = Problem(gym.spaces.Discrete(len(self._points)), self._features, names, objectives=objectives)
        else:
            box = gym.spaces.Box(0.0, 1.0, (self._cube.size,), np.float64)
            problem = Problem(box, objectives=objectives)
        self._used = np.zeros(len(self._points) if self._finite else 0, bool)
        self._agent: Agent = agents.make(self._name, problem, seed, **self._hyperparameters)
        self._asked = None
        self._told: set[int] = set()

    def _all_used(self) -> bool:
        return self._finite and bool(self._used.all())

    def _point(self, action: Any) -> tuple[float, ...]:
        """The values, as Optuna stores them, that an action stands for."""
        if not self._finite:
            return self._cube.decode(action)
        self._used[int(action)] = True
        return self._points[int(action)]

    def _random(self) -> Any:
        """A random action, of those not used if there are any."""
        if not self._finite:
            return self._cube.encode(self._cube.draw(self._rng))
        free = np.flatnonzero(~self._used)
        return int(self._rng.choice(free if len(free) else len(self._points)))

    def _hear(self, study: Any) -> None:
        """Tells the agent of every trial that has finished since, its own first."""
        assert self._space is not None
        signs = np.array([1.0 if d.name == "MAXIMIZE" else -1.0 for d in study.directions])
        finished = {t.number: t for t in study.get_trials(deepcopy=False) if t.state.is_finished()}
        rewards = {n: signs * t.values for n, t in finished.items() if _complete(t)}
        if self._asked is not None:
            number, action = self._asked
            # A failure before the first success has nothing to be compared with: it waits.
            if number not in finished or not rewards:
                return
            failed = number not in rewards
            self._tell(action, np.min([*rewards.values()], axis=0) if failed else rewards[number], failed)
            self._told.add(number)
            self._asked = None
        if isinstance(self._agent, _DEAF):
            return
        for number in sorted(rewards.keys() - self._told):
            self._told.add(number)
            params = finished[number].params
            if all(name in params for name in self._space):
                x = self._cube.encode([d.to_internal_repr(params[name]) for name, d in self._space.items()])
                self._tell(self._nearest(x) if self._finite else x, rewards[number], False)

    def _nearest(self, x: Floats) -> int:
        """The candidate nearest to a point of the cube, which is thereby used."""
        row = int(((self._features - x) ** 2).sum(axis=1).argmin())
        self._used[row] = True
        return row

    def _tell(self, action: Any, reward: Floats, failed: bool) -> None:
        info = {"cost": 1.0, "metrics": {}, "status": "failed" if failed else "ok"}
        self._agent.tell(action, float(reward[0]) if len(reward) == 1 else reward, info)


def _complete(trial: Any) -> bool:
    return trial.state.name == "COMPLETE" and all(map(math.isfinite, trial.values))
