"""A trained policy as an agent: `hpo-envs compare --agents policy:FILE`, with the wrappers that it was trained with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Discrete

from hpo_envs.agents import Agent, Problem
from hpo_envs.agents.candidates import Incumbent
from hpo_envs.agents.encoding import decode_space
from hpo_envs.benchmarks.study import policies
from hpo_envs.integrations import policy_file

try:
    import stable_baselines3  # noqa: F401
    import torch
except ModuleNotFoundError:
    raise ModuleNotFoundError('policies need stable-baselines3: pip install "hpo_envs[rl]"') from None


class TrainedPolicy(Agent):
    """A policy of stable-baselines3 or sb3-contrib, as it was trained: it sees observations and acts.

    It recommends the best action that it was told. A policy of rows in the table's order means the table's rows: where
    an episode has its own order or part of them, the row that was meant, or the one whose features are nearest.

    Args:
        problem: With the spaces that the policy was trained on, but for the order and the share of rows.
        seed: Of draws, where actions are drawn.
        file: What `hpo_envs.integrations.sb3.save_policy` wrote.
        sha256: Of the file; `benchmarks.study.policies.arguments(file)` has both.
        deterministic: Whether the policy's most likely action is taken, or one drawn.
        seen: Whether it may run on problems of languages that it was trained on, where its results are marked.

    Raises:
        ValueError: Another file, a problem with other spaces, or one that the policy has seen and must not.
    """

    observes = True

    def __init__(
        self,
        problem: Problem,
        seed: int,
        file: str,
        sha256: str,
        deterministic: bool = True,
        seen: bool = True,
    ) -> None:
        super().__init__(problem, seed)
        self._policy, self._record = _loaded(file, sha256)
        self.trained_on = frozenset(self._record["trained_on"])
        if why := policies.unfit(problem, self._record, seen):
            raise ValueError(f"{Path(file).name} must be run {why}")
        self._masked = "action_masks" in inspect.signature(self._policy.predict).parameters
        self._deterministic, self._incumbent = deterministic, Incumbent()
        self._episode = _Episode(self._record, problem)
        self._env = policy_file.around(self._episode, self._record["wrappers"])
        self._observation: Any = None
        self._action: Any = None
        self._memory: Any = None
        self._moves: list[Any] = []

    def observe(self, observation: npt.NDArray[np.float32], mask: npt.NDArray[np.int8] | None) -> None:
        """Take an observation through the wrappers.

        Raises:
            ValueError: It has another shape than those trained on.
        """
        if observation.shape != self._episode.observation_space.shape:
            trained = self._episode.observation_space.shape
            raise ValueError(
                f"observations must have the shape that was trained on, {trained}, got {observation.shape}"
            )
        self._episode.answer, self._episode.mask = observation, mask
        self._observation = self._env.reset()[0] if self._action is None else self._env.step(self._action)[0]

    def ask(self) -> Any:
        """Return the policy's action for the last observation.

        Raises:
            ValueError: There was none: nothing but an environment can ask a policy.
        """
        if self._observation is None:
            raise ValueError("a trained policy must be shown observations before it is asked, got none")
        shown, self._episode.answer = self._normalised(self._observation), None
        more: dict[str, Any] = {}
        if self._masked:
            more["action_masks"] = self._env.get_wrapper_attr("action_masks")()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(self.rng.integers(2**63)))
            start = np.array([self._action is None])
            action, self._memory = self._policy.predict(shown, self._memory, start, self._deterministic, **more)
        self._action = int(action) if isinstance(self._env.action_space, Discrete) else action
        try:
            self._env.step(self._action)
        except _ActionRequest as asked:
            return self._episode.candidate(asked.args[0])
        raise AssertionError("wrappers must pass actions on")

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Remember the best action, or all of those that made it where a candidate takes several."""
        self._episode.finished = finished = bool(info.get("finished", True))
        if self.problem.mutate is not None:
            self._moves.append(action)
            action = np.array(self._moves)
            self._moves = [] if finished else self._moves
        self._incumbent.note(action, reward, info)

    def recommend(self) -> Any:
        """Return the best action told."""
        if self._incumbent.best is not None:
            return self._incumbent.best[1]
        mutate = self.problem.mutate
        return self.problem.action_space.sample() if mutate is None else mutate(None, self.rng)

    def _normalised(self, observation: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """As `VecNormalize` did in training."""
        if (how := self._record["normalise"]) is None:
            return observation
        scaled = (observation - np.array(how["mean"])) / np.sqrt(np.array(how["var"]) + how["epsilon"])
        out: npt.NDArray[Any] = np.clip(scaled, -how["clip"], how["clip"]).astype(np.float32)
        return out


@functools.lru_cache(maxsize=4)
def _loaded(file: str, sha256: str) -> tuple[Any, dict[str, Any]]:
    """Agents share a policy: it has no state."""
    policy, record, found = policy_file.load(file)
    if sha256 != found:
        raise ValueError(f"file must have sha256 {sha256}, got {found} of {file}")
    return policy, record


class _ActionRequest(Exception):
    """Carries an action from inside the wrappers to whom asks for it."""


class _Episode(gym.Env[Any, Any]):
    """Stand-in environment for wrappers: a step without an answer raises the action.

    Once the answer is there, the same step is taken again.
    """

    def __init__(self, record: Mapping[str, Any], problem: Problem) -> None:
        self.observation_space, self.action_space = (
            decode_space(record[f"{name}_space"]) for name in ("observation", "action")
        )
        self.answer: npt.NDArray[np.float32] | None = None
        self.mask: npt.NDArray[np.int8] | None = None
        self.finished = True
        self._problem = problem
        self._mapped = policies.by_number(record) and problem.index is not None
        self._numbers = {int(row): k for k, row in enumerate(problem.index)} if self._mapped else {}  # type: ignore[arg-type]
        # What wrappers look at of an environment.
        self.params = SimpleNamespace(kind=record["kind"], view=SimpleNamespace(whole=not record["shuffle"]))
        self.tables = (SimpleNamespace(features=problem.base, feature_names=problem.feature_names),)
        self.objectives = ("reward",) * problem.objectives

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self.answer, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.answer is None:
            raise _ActionRequest(action)
        return self.answer, 0.0, False, False, {"finished": self.finished}

    def action_masks(self) -> npt.NDArray[np.int8]:
        """The mask, of the table's rows where those are meant."""
        if self.mask is None:
            raise ValueError("a policy of masked actions must be run where actions have masks, got none")
        if not self._mapped:
            return self.mask
        assert self._problem.index is not None
        assert self._problem.base is not None
        own = len(self._problem.index)
        rows = np.zeros(len(self._problem.base), np.int8)
        rows[self._problem.index] = self.mask[:own]
        return np.concatenate([rows, self.mask[own:]])

    def candidate(self, action: Any) -> Any:
        """The action of the problem that is meant by one of the environment trained on."""
        if not self._mapped:
            return action
        if np.ndim(action):
            return np.array([self._number(int(action[0])), *action[1:]], dtype=np.int64)
        return self._number(int(action))

    def _number(self, row: int) -> int:
        if row in self._numbers:
            return self._numbers[row]
        assert self._problem.base is not None
        assert self._problem.features is not None
        return int(((self._problem.features - self._problem.base[row]) ** 2).sum(axis=1).argmin())
