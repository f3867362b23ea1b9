"""`HistoryObservation`: the last observations of an episode, stacked."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from hpo_envs.core.params import check_int
from hpo_envs.wrappers.forms import EpisodeIndices, Rule, ScalarForm, space_of


class History(Rule):
    """Rule of `HistoryObservation`: the last `length` observations of each episode."""

    def __init__(self, env: Any, n: int, length: int) -> None:
        space = space_of(env, "observation")
        check_int("length", length)
        if not isinstance(space, Box) or len(space.shape) != 1:
            raise ValueError(f"observation_space must be a flat Box for this wrapper, got {space}")
        low, high = np.minimum(space.low, 0.0), np.maximum(space.high, 0.0)
        self.observation_space = Box(np.tile(low, (length, 1)), np.tile(high, (length, 1)), dtype=np.float32)
        self._past = np.zeros((n, length, *space.shape), np.float32)

    def observe(self, observation: npt.NDArray[Any], index: EpisodeIndices, fresh: bool) -> npt.NDArray[np.float32]:
        """See `Rule`."""
        self._past[index, :-1] = 0.0 if fresh else self._past[index, 1:]
        self._past[index, -1] = observation[index]
        return self._past.copy()


class HistoryObservation(ScalarForm):
    """Wrapper that stacks the last k observations to (k, d) float32, newest last, zeros before the first one.

    Args:
        env: An environment whose observations are a flat `Box`.
        length: Number of observations k, >= 1.

    Raises:
        ValueError: Observations are not a flat `Box`, or `length` is not an int >= 1.
    """

    rule_class = History
