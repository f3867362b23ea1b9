"""Agents of one `run`, one for each episode, and checks of their actions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from hpo_envs.agents import Agent
from hpo_envs.agents.base import prepare_each
from hpo_envs.core.params import is_integer
from hpo_envs.tables.checks import shown


class AgentPool:
    """Agents of episodes 0, 1, ..., in this process, which get copies of all arrays.

    Args:
        agents: One per episode.

    Attributes:
        observes: Whether the agents use observations, see `Agent.observes`.
    """

    observes: bool

    def __init__(self, agents: Iterable[Agent]) -> None:
        self._agents = list(agents)
        self.observes = any(agent.observes for agent in self._agents)

    def observe(self, who: Sequence[int], observations: npt.NDArray[Any], masks: npt.NDArray[Any] | None) -> None:
        """Pass observations and masks to the agents of these episodes, see `Agent.observe`."""
        for k, i in enumerate(who):
            self._agents[i].observe(observations[k].copy(), None if masks is None else masks[k].copy())

    def ask(self, who: Sequence[int]) -> Iterable[Any]:
        """Next action of each of these episodes, lazily: the agents' actions may share a buffer."""
        asked = [self._agents[i] for i in who]
        prepare_each(asked)
        return (agent.ask() for agent in asked)

    def tell(
        self, who: Sequence[int], actions: Sequence[Any], rewards: Sequence[Any], infos: Sequence[Mapping[str, Any]]
    ) -> Sequence[bool]:
        """Report outcomes to the agents of these episodes; return which of them are done."""
        told = [self._agents[i] for i in who]
        for agent, action, reward, info in zip(told, actions, rewards, infos, strict=True):
            action = action.copy() if isinstance(action, np.ndarray) else action
            agent.tell(action, reward.copy() if isinstance(reward, np.ndarray) else reward, info)
        return [agent.done for agent in told]

    def recommend(self) -> Iterable[Any]:
        """Return the recommendation of each agent, lazily."""
        return (agent.recommend() for agent in self._agents)

    def random(self, counts: Sequence[int]) -> Sequence[bool]:
        """Return whether all evaluations of each agent are of its random initial design, see `Agent.random_first`."""
        return [k <= agent.random_first for k, agent in zip(counts, self._agents, strict=True)]

    def trained_on(self) -> Sequence[Iterable[str]]:
        """Return the training languages of each agent, see `Agent.trained_on`."""
        return [agent.trained_on for agent in self._agents]


Checker = Callable[[Any], Any]
"""Takes an action; returns it as an int or as a new array, or raises a ValueError that says what it must be."""


def checker(space: gym.Space[Any]) -> Checker:
    """Checker of the actions of a space.

    Args:
        space: `Discrete`, `MultiDiscrete` or `Box`.

    Raises:
        ValueError: A space of another kind.
    """
    if isinstance(space, gym.spaces.Discrete):
        return _discrete(int(space.start), int(space.start + space.n))
    if isinstance(space, gym.spaces.MultiDiscrete):
        return _integers(np.asarray(space.start), np.asarray(space.start + space.nvec))
    if isinstance(space, gym.spaces.Box):
        return _box(space)
    raise ValueError(f"action_space must be Discrete, MultiDiscrete or Box, got {space}")


def recommendation(check: Checker, value: Any, several: bool) -> Any:
    """Check what an agent recommends.

    Args:
        check: Of the action space.
        value: What `recommend` returned.
        several: Whether a candidate takes several actions, so that all of them, one after the other, will do, too.

    Raises:
        ValueError: Neither an action nor several.
    """
    if several and isinstance(value, np.ndarray) and value.ndim and len(value):
        try:
            return np.stack([np.asarray(check(v)) for v in value])
        except ValueError:
            pass
    return check(value)


def _discrete(low: int, high: int) -> Checker:
    def check(value: Any) -> int:
        if type(value) is int:
            row = value
        elif is_integer(value) or (isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu"):
            row = int(value)
        else:
            raise ValueError(f"must be an int in [{low}, {high}), got {shown(value)}")
        if not low <= row < high:
            raise ValueError(f"must be an int in [{low}, {high}), got {row}")
        return row

    return check


def _integers(low: np.ndarray[Any, Any], high: np.ndarray[Any, Any]) -> Checker:
    shape = low.shape

    def check(value: Any) -> Any:
        array = _array(value)
        if array is None or array.shape != shape or array.dtype.kind not in "iu":
            raise ValueError(f"must be ints of shape {shape}, got {shown(value)}")
        if ((array < low) | (array >= high)).any():
            raise ValueError(f"must be ints >= {low.tolist()} and below {high.tolist()}, got {array.tolist()}")
        return array

    return check


def _box(space: gym.spaces.Box) -> Checker:
    low, high, shape = space.low, space.high, space.shape

    def check(value: Any) -> Any:
        array = _array(value)
        if array is None or array.shape != shape or array.dtype.kind not in "fiu":
            raise ValueError(f"must be numbers of shape {shape}, got {shown(value)}")
        if not ((array >= low) & (array <= high)).all():  # NaN is neither
            raise ValueError(f"must be numbers within the bounds of the space, got {shown(array)}")
        return array

    return check


def _array(value: Any) -> Any:
    """A new array of a number or of nested lists of numbers, or None."""
    if isinstance(value, np.ma.MaskedArray) or isinstance(value, (str, bytes)) or value is None:
        return None
    try:
        array = np.array(value)
    except Exception:  # ragged lists, and whatever `__array__` raises
        return None
    return None if array.dtype == object else array
