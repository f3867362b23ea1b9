"""Ask/tell interface (`Agent`), agents written as loops (`Planned`), incumbents, lost runs, checks of numbers."""

from __future__ import annotations

import abc
import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents.problem import Problem


class Agent(abc.ABC):
    """An optimizer with an ask/tell interface.

    Each episode has its own agent, which knows the problem and what it observes, and never the table.

    Args:
        problem: All that is known before the first evaluation.
        seed: Seed of the agent's own generator, `self.rng`. With the same outcomes it gives the same suggestions.

    Attributes:
        done: Whether the agent has ended its run, because it is confident or its plan is complete; most never do.
        parallel: Whether `ask` may be called again before the last action's outcome is reported. Such agents accept
            outcomes in any order. Agents for which this depends on the problem set it in the constructor.
        random_first: Number of initial actions drawn at random, as random search draws them. With a budget of at most
            this many evaluations the agent is random search, and results note this.
        listens: Whether the agent learns from actions that it did not suggest.
        trained_on: Languages or task groups of the tables that the agent's weights were fitted to. Runs on a problem
            whose `held_out` has one of them are marked `seen`.
        constrained: Whether the agent models constraints, from `info["violations"]`; for any other agent an
            infeasible evaluation has the status of a failed one.
        supports: Kinds of problems of an agent of another package, see `Registration.supports`; empty: all, for a
            plugin `rows`.
        observes: Whether the agent is a policy on observations of the environment: `observe` precedes each `ask`.
    """

    done: bool = False
    parallel: bool = False
    random_first: float = 0
    listens: bool = True
    trained_on: frozenset[str] = frozenset()
    constrained: bool = False
    supports: tuple[str, ...] = ()
    observes: bool = False

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.rng = np.random.default_rng(seed)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {self.problem}>"

    def observe(self, observation: npt.NDArray[np.float32], mask: npt.NDArray[np.int8] | None) -> None:  # noqa: B027
        """Receive the observation and the mask before an action, if `observes` is True; by default, do nothing.

        Args:
            observation: (d,) observation of the environment without wrappers.
            mask: (n,) 1 for each useful value of each component of an action, concatenated; None: no mask.
        """

    @classmethod  # noqa: B027
    def prepare(cls, agents: Sequence[Any]) -> None:
        """Do common work of agents of one run and this class before their next `ask`; by default, do nothing.

        No suggestion may depend on this call: an agent that was not prepared suggests the same action.
        """

    @abc.abstractmethod
    def ask(self) -> Any:
        """Return the next action, an element of `problem.action_space`.

        Only if `parallel` is True may `ask` be called again before `tell`.
        """

    @abc.abstractmethod
    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Receive the outcome of an evaluation.

        Args:
            action: The action evaluated.
            reward: float, or (objectives,) float64; higher is better.
            info: `cost` (in `problem.unit`), `metrics` (native units), `status`; with `levels`, `best` reward of the
                row so far and `reached` checkpoint; with constraints, `violations`, (c,), 0 or negative where one
                holds; `finished`, False if the step evaluated nothing (default: True).
        """

    def pend(self, action: Any) -> None:  # noqa: B027
        """Receive a pending action, which another process evaluates; by default, ignore it."""

    @abc.abstractmethod
    def recommend(self) -> Any:
        """Return the action that the agent would choose if the run stopped now.

        If a candidate of the problem's grammar takes several actions, return the sequence of all of them.
        """


LOST = ("failed", "diverged")
"""Statuses of runs whose reward is a placeholder. Agents count such a candidate as tried, ignore its reward or replace
it by a bad one, and recommend it only while no run succeeded."""


def lost(info: Mapping[str, Any]) -> bool:
    """Return whether a run failed or diverged, so that its reward is a placeholder."""
    return info.get("status") in LOST


def check_reward(reward: Any, objectives: int) -> None:
    """Raise a ValueError unless `reward` is a finite number for each objective."""
    if isinstance(reward, float) and objectives == 1 and math.isfinite(reward):
        return
    found = np.asarray(reward)
    if found.dtype.kind not in "iuf" or found.ndim > 1 or found.size != objectives or not np.isfinite(found).all():
        raise ValueError(f"reward must be {objectives} finite number(s), got {reward!r}")


def is_random(agent: Agent, count: int) -> bool:
    """Return whether an agent draws its first `count` evaluations at random, by its `random_first`.

    A class of another package must state the attribute itself, since one that it inherits may not fit its `ask`.
    """
    kind = type(agent)
    stated = kind.__module__.startswith("hpo_envs.") or "random_first" in vars(kind)
    return bool(stated and count <= agent.random_first)


class Incumbent:
    """The best evaluated action so far, on any space; `objectives` is the number of rewards.

    Attributes:
        best: (reward, action) of the best evaluation, a successful one if there is any; the reward is the sum over
            several objectives. None before the first evaluation.
    """

    def __init__(self, objectives: int) -> None:
        self.objectives = objectives
        self.best: tuple[float, Any] | None = None
        self.succeeded = False

    def note(self, action: Any, reward: Any, info: Mapping[str, Any]) -> bool:
        """Update the best action, preferring successful runs; return whether the step evaluated anything.

        Raises:
            ValueError: See `check_reward`.
        """
        if not info.get("finished", True):
            return False
        check_reward(reward, self.objectives)
        score = reward if type(reward) is float else float(np.sum(reward))
        succeeded = not lost(info)
        if self.best is None or (succeeded, score) > (self.succeeded, self.best[0]):
            self.best = score, action
        self.succeeded = self.succeeded or succeeded
        return True


def prepare_each(agents: Iterable[Agent]) -> None:
    """Call `Agent.prepare` once per class, with all agents of that class; skip objects that are not an `Agent`."""
    alike: dict[type[Any], list[Agent]] = {}
    for agent in agents:
        alike.setdefault(type(agent), []).append(agent)
    for kind, members in alike.items():
        if issubclass(kind, Agent):
            kind.prepare(members)


class Planned(Agent):
    """Base class of agents written as loops, as in their papers: `reward, info = yield action`.

    Subclasses implement `plan`; when it returns, the agent is done.
    """

    listens = False

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self._plan = self.plan()
        self._next: Any = None

    @abc.abstractmethod
    def plan(self) -> Generator[Any, tuple[Any, Mapping[str, Any]], None]:
        """Yield each action and receive its `(reward, info)`."""

    def ask(self) -> Any:
        """Return the last action that the plan yielded; the first call starts the plan."""
        if self._next is None:
            self._next = next(self._plan)
        return self._next

    def tell(self, action: Any, reward: Any, info: Mapping[str, Any]) -> None:
        """Send the outcome to the plan, which yields the next action; set `done` if it returns instead.

        Raises:
            ValueError: The step evaluated nothing, as with simulated workers; a plan needs each outcome in turn. Or
                see `check_reward`.
        """
        if not info.get("finished", True):
            raise ValueError(
                f"workers must be 1 for {type(self).__name__}, which needs each result before the next action, got a "
                "step that only submitted one"
            )
        check_reward(reward, self.problem.objectives)
        try:
            self._next = self._plan.send((reward, info))
        except StopIteration:
            self.done = True


_NUMBERS = (int, float, np.integer, np.floating)


def whole(name: str, value: Any, least: int) -> int:
    """Return `value` as an int.

    Raises:
        ValueError: The value is not a whole number >= `least`, or a bool.
    """
    if not isinstance(value, _NUMBERS) or isinstance(value, bool) or value % 1 != 0 or value < least:
        raise ValueError(f"{name} must be an int >= {least}, got {value!r}")
    return int(value)


def positive(name: str, value: float) -> float:
    """Return `value` as a float.

    Raises:
        ValueError: The value is not a finite number > 0.
    """
    if not (isinstance(value, _NUMBERS) and np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}")
    return float(value)
