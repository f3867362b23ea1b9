"""Agents of one `run` in this process, one per episode, with private copies of observations and results."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hpo_envs.agents import Agent
from hpo_envs.agents.base import is_random, prepare_each


class AgentPool:
    """The agents of episodes 0, 1, ... in this process; they get copies of all arrays."""

    observes: bool  # whether any of the agents uses observations, see `Agent.observes`

    def __init__(self, agents: Iterable[Agent]) -> None:
        self._agents = list(agents)
        self.observes = any(agent.observes for agent in self._agents)

    def observe(self, who: Sequence[int], observations: npt.NDArray[Any], masks: npt.NDArray[Any] | None) -> None:
        """Pass observations and masks to the agents of these episodes, see `Agent.observe`."""
        for k, i in enumerate(who):
            self._agents[i].observe(observations[k].copy(), None if masks is None else masks[k].copy())

    def ask(self, who: Sequence[int]) -> Iterable[Any]:
        """Return the next action of each of these episodes, lazily: the actions may share a buffer."""
        asked = [self._agents[i] for i in who]
        prepare_each(asked)
        return (agent.ask() for agent in asked)

    def tell(
        self, who: Sequence[int], actions: Sequence[Any], rewards: Sequence[Any], infos: Sequence[Mapping[str, Any]]
    ) -> Sequence[bool]:
        """Report outcomes to the agents of these episodes; return for each whether it is done."""
        told = [self._agents[i] for i in who]
        for agent, action, reward, info in zip(told, actions, rewards, infos, strict=True):
            action = action.copy() if isinstance(action, np.ndarray) else action
            agent.tell(action, reward.copy() if isinstance(reward, np.ndarray) else reward, info)
        return [agent.done for agent in told]

    def recommend(self) -> Iterable[Any]:
        """Return the recommendation of each agent, lazily."""
        return (agent.recommend() for agent in self._agents)

    def random(self, counts: Sequence[int]) -> Sequence[bool]:
        """Return for each agent whether it was random search in its number of evaluations, see `base.is_random`."""
        return [is_random(agent, k) for k, agent in zip(counts, self._agents, strict=True)]

    def trained_on(self) -> Sequence[Iterable[str]]:
        """Return the training languages of each agent, see `Agent.trained_on`."""
        return [agent.trained_on for agent in self._agents]
