"""The Agent interface: ask, tell, recommend."""

from __future__ import annotations

import abc
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Problem:
    """All that an agent may know before its first evaluation.

    Attributes:
        action_space: Gymnasium space of one action.
        features: (rows, d) float64 in [0, 1], what is known of each candidate; None where actions are not rows.
        feature_names: One per column of `features`.
        levels: (levels,) resource of each checkpoint where actions are (row, level) pairs; else None.
        objectives: Number of rewards per evaluation.
        budget: What one episode may spend, in `unit`; None if the whole table may be read.
        unit: Unit of the budget and of `info["cost"]`.
        mutate: `mutate(action, rng) -> action`, where a space has a grammar of its own. Where a candidate takes
            several actions, both are (steps, ...) arrays of all of them, and `mutate(None, rng)` draws a fresh one.
        reward_bounds: (objectives, 2) float64, lowest and highest reward by the metrics' definition (never from
            the table); None where no metric defines one.
    """

    action_space: gym.Space[Any]
    features: npt.NDArray[np.float64] | None = None
    feature_names: tuple[str, ...] = ()
    levels: npt.NDArray[np.float64] | None = None
    objectives: int = 1
    budget: float | None = None
    unit: str = "evaluations"
    mutate: Callable[[Any, np.random.Generator], Any] | None = None
    reward_bounds: npt.NDArray[np.float64] | None = None

    @property
    def rows(self) -> int:
        """Number of candidates of a finite problem.

        Raises:
            ValueError: The candidates cannot be counted from the action space.
        """
        if self.features is not None:
            return len(self.features)
        if isinstance(self.action_space, gym.spaces.Discrete):
            return int(self.action_space.n)
        if self.levels is not None and isinstance(self.action_space, gym.spaces.MultiDiscrete):
            return int(self.action_space.nvec[0])
        raise ValueError(f"action_space must be finite for this agent, got {self.action_space}")


class Agent(abc.ABC):
    """An optimiser with an ask/tell interface.

    One agent lives for one episode. It sees the problem, the rewards it was told and nothing else: no table, no
    optimum, no held-out metric.

    Args:
        problem: What is known before the first evaluation.
        seed: Seed of the agent's own generator, `self.rng`. Same seed, same suggestions, in any process.

    Attributes:
        done: True once the agent is confident enough to stop its run; most agents never are.
    """

    done: bool = False

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.rng = np.random.default_rng(seed)

    @abc.abstractmethod
    def ask(self) -> Any:
        """Returns the next action, an element of `problem.action_space`. Asking twice without telling is an error."""

    @abc.abstractmethod
    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Takes the outcome of an evaluation.

        Args:
            action: The action evaluated.
            reward: float, or (objectives,) float64; higher is better.
            info: `cost` (in `problem.unit`), `metrics` (native units), `status`.
        """

    @abc.abstractmethod
    def recommend(self) -> Any:
        """Returns the action that the agent would choose if the run stopped now."""


def require_result(agent: Agent, info: Mapping[str, Any]) -> None:
    """For agents that need each outcome before their next action.

    Raises:
        ValueError: Nothing was evaluated in this step.
    """
    if not info.get("finished", True):
        raise ValueError(
            f"workers must be 1 for {type(agent).__name__}, which needs each result before the next action, got a step "
            "that only submitted one"
        )


class Planned(Agent):
    """An agent written as the paper's nested loop: `reward, info = yield action`.

    Subclasses write `plan`; when it returns, the agent is done.
    """

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self._plan = self.plan()
        self._next: Any = None
        self._started = False

    @abc.abstractmethod
    def plan(self) -> Generator[Any, tuple[Any, Mapping[str, Any]], None]:
        """Yields actions and receives `(reward, info)` of each."""

    def ask(self) -> Any:
        """Returns the action that the plan waits for."""
        if not self._started:
            self._started = True
            self._next = next(self._plan)
        return self._next

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Sends the outcome to the plan.

        Raises:
            ValueError: Nothing was evaluated: a plan waits for each outcome, simulated workers do not.
        """
        require_result(self, info)
        try:
            self._next = self._plan.send((reward, info))
        except StopIteration:
            self.done = True
