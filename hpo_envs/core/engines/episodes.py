"""Scalar and vectorized environments whose steps run a computation (cells, functions): one `Episode` per episode."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hpo_envs.core.env import HPOEnv, HPOVectorEnv
from hpo_envs.core.infos import Info, column, provenance_info
from hpo_envs.core.params import Params
from hpo_envs.tables import draws

Step = tuple[npt.NDArray[np.float32], Any, bool, Info]
"""Observation, reward, terminated, info without mask."""


class Episode(abc.ABC):
    """One episode of an environment whose steps run a computation.

    Args:
        params: The parameters of the environment.
        key: Key of the episode.

    Attributes:
        dicts: Names of dicts in `info` whose keys differ between steps; in a batch they are arrays of dicts.
    """

    dicts: ClassVar[tuple[str, ...]] = ()

    @abc.abstractmethod
    def __init__(self, params: Any, key: int) -> None: ...

    @staticmethod
    @abc.abstractmethod
    def check(params: Any, action: Any) -> Any:
        """Return an action in the form that `step` takes; ValueError if it is invalid."""

    @abc.abstractmethod
    def first(self) -> npt.NDArray[np.float32]:
        """Return the observation before any evaluation."""

    @abc.abstractmethod
    def step(self, checked: Any) -> Step:
        """Perform an action in the form that `check` returns."""

    @abc.abstractmethod
    def mask(self) -> npt.NDArray[np.int8]:
        """Return the (k,) int8 mask of what can be useful now, the parts of an action concatenated."""


class EpisodeVectorEnv(HPOVectorEnv):
    """Base class of vectorized environments whose steps run a computation, in a loop over one `Episode` each."""

    episode: ClassVar[type[Episode]]

    def __init__(self, num_envs: int, params: Params, *args: Any, **kwargs: Any) -> None:
        super().__init__(num_envs, params, *args, **kwargs)
        self._runs = [self.episode(params, 0) for _ in range(self.num_envs)]
        self._observations = np.stack([run.first() for run in self._runs])

    def _snapshot(self) -> Callable[[], npt.NDArray[np.bool_]]:
        masks = np.stack([run.mask() for run in self._runs]).astype(bool)
        return masks.copy

    def _start(self, index: npt.NDArray[np.intp], keys: draws.Keys, options: dict[str, Any] | None) -> None:
        for i, key in zip(index.tolist(), keys.tolist(), strict=True):
            self._runs[i] = self.episode(self.params, key)
            self._observations[i] = self._runs[i].first()

    def _advance(self, actions: list[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], Info]:
        rewards = np.zeros((self.num_envs, self.reward_dim) if self.params.vector else self.num_envs)
        terminated = np.zeros(self.num_envs, bool)
        infos: list[Info | None] = [None] * self.num_envs
        for i, action in enumerate(actions):
            if not (self._any_ended and self._ended[i]):  # one that waits for its reset computes nothing
                self._observations[i], rewards[i], terminated[i], infos[i] = self._runs[i].step(action)
        some = next(info for info in infos if info is not None)
        every = [some if info is None else info for info in infos]
        return rewards, terminated, {name: self._stacked(name, [info[name] for info in every]) for name in some}

    def _stacked(self, name: str, values: list[Any]) -> Any:
        """Stack the values of an info entry into a (num_envs, ...) array, or a dict of such arrays."""
        first = values[0]
        if isinstance(first, dict) and name not in self.episode.dicts:
            return {key: self._stacked(key, [value[key] for value in values]) for key in first}
        if isinstance(first, (str, dict)):
            return column(values)
        return np.array(values)

    def _check_actions(self, actions: Any) -> list[Any]:
        several = isinstance(actions, (list, tuple)) or (isinstance(actions, np.ndarray) and actions.ndim > 0)
        if not several or len(actions) != self.num_envs:
            raise ValueError(f"actions must have length {self.num_envs}, one per environment, got {actions!r}")
        try:
            return [self.episode.check(self.params, action) for action in actions]
        except ValueError as error:
            raise ValueError(f"actions: each {error}") from None


class EpisodeEnv(HPOEnv):
    """Base class of scalar environments whose steps run a computation: one `Episode` at a time."""

    batched = EpisodeVectorEnv
    episode: ClassVar[type[Episode]]
    _run: Any = None

    @classmethod
    def vectorized(cls, **members: Any) -> type[HPOVectorEnv]:
        """See `HPOEnv`."""
        return super().vectorized(episode=cls.episode, **members)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Start an episode with nothing evaluated."""
        super().reset(seed=seed, options=options)
        self._run = self.episode(self.params, self._new_key(seed))
        return self._run.first(), self._with_mask(provenance_info(self.tables))

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Perform one action, see `Episode.step`; ValueError if it is invalid, ResetNeeded if no episode is running."""
        checked = self.episode.check(self.params, action)
        if not self._live:
            raise self._not_live()
        observation, reward, terminated, info = self._run.step(checked)
        self._live = not terminated
        return observation, reward, terminated, False, self._with_mask(info)

    def _with_mask(self, info: Info) -> Info:
        if self.params.masked:
            info["action_mask"] = self._run.mask()
        return info

    def _masks(self) -> npt.NDArray[np.bool_]:
        """Return the mask of `info` as bool; ResetNeeded before the first reset."""
        if self._run is None:
            raise self._not_live()
        return np.asarray(self._run.mask().astype(bool))
