"""The agents of one `run`, one an episode, as the run loop sees them."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents import Agent
from hpo_envs.agents.base import prepare_each


class Crew(abc.ABC):
    """Agents of episodes 0, 1, ..., in this process or in another."""

    observes: bool = False
    """Whether the agents act on what the environment shows, see `Agent.observes`."""

    @abc.abstractmethod
    def observe(self, who: Sequence[int], observations: npt.NDArray[Any], masks: npt.NDArray[Any] | None) -> None:
        """Shows the agents of these episodes their observations and masks, see `Agent.observe`."""

    @abc.abstractmethod
    def ask(self, who: Sequence[int]) -> Iterable[Any]:
        """The next action of each of these episodes."""

    @abc.abstractmethod
    def tell(
        self, who: Sequence[int], actions: Sequence[Any], rewards: Sequence[Any], infos: Sequence[Mapping[str, Any]]
    ) -> Sequence[bool]:
        """Tells the agents of these episodes their outcomes; returns which of them are done."""

    @abc.abstractmethod
    def recommend(self) -> Iterable[Any]:
        """What each agent recommends."""

    @abc.abstractmethod
    def random(self, counts: Sequence[int]) -> Sequence[bool]:
        """Whether so many evaluations of each agent are those of random search, see `Agent.random_first`."""

    @abc.abstractmethod
    def trained_on(self) -> Sequence[Iterable[str]]:
        """What the weights of each agent were fitted to, see `Agent.trained_on`."""


class LocalCrew(Crew):
    """Agents in this process, which get copies of what they are told.

    Args:
        agents: One an episode.
    """

    def __init__(self, agents: Iterable[Agent]) -> None:
        self._agents = list(agents)
        self.observes = any(agent.observes for agent in self._agents)

    def observe(self, who: Sequence[int], observations: npt.NDArray[Any], masks: npt.NDArray[Any] | None) -> None:
        """Shows each agent a copy."""
        for k, i in enumerate(who):
            self._agents[i].observe(observations[k].copy(), None if masks is None else masks[k].copy())

    def ask(self, who: Sequence[int]) -> Iterable[Any]:
        """Asks one agent after the other, each when its turn comes: they may share a buffer."""
        asked = [self._agents[i] for i in who]
        prepare_each(asked)
        return (agent.ask() for agent in asked)

    def tell(
        self, who: Sequence[int], actions: Sequence[Any], rewards: Sequence[Any], infos: Sequence[Mapping[str, Any]]
    ) -> Sequence[bool]:
        """Tells each agent."""
        told = [self._agents[i] for i in who]
        for agent, action, reward, info in zip(told, actions, rewards, infos, strict=True):
            action = action.copy() if isinstance(action, np.ndarray) else action
            agent.tell(action, reward.copy() if isinstance(reward, np.ndarray) else reward, info)
        return [agent.done for agent in told]

    def recommend(self) -> Iterable[Any]:
        """Asks one agent after the other."""
        return (agent.recommend() for agent in self._agents)

    def random(self, counts: Sequence[int]) -> Sequence[bool]:
        """Compares with what the agents say."""
        return [k <= agent.random_first for k, agent in zip(counts, self._agents, strict=True)]

    def trained_on(self) -> Sequence[Iterable[str]]:
        """What the agents say."""
        return [agent.trained_on for agent in self._agents]
