"""Candidates as a set that a policy scores: features of each, which are left, and the state of the episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from hpo_envs.agents.models import candidate_set
from hpo_envs.agents.models.candidate_set import CandidateSet, Space
from hpo_envs.core.params import check_int, check_ints, kind_of, unmasked
from hpo_envs.core.subsample import View
from hpo_envs.wrappers.improvement import ImprovementReward, VectorImprovementReward
from hpo_envs.wrappers.normalise import NormalisedReward, VectorNormalisedReward

_STREAM = np.uint64(0x5E7)
"""Sets the draws of candidates apart from those of the environment."""


class Presented:
    """The candidates of E episodes with equal budgets, as observations, and their actions.

    Args:
        env: An environment with a row per action and one objective, or sampled tasks; scalar or vectorized.
        episodes: E.
        candidates: Size of the set; a larger table is subsampled at each reset, a smaller one filled up.
        features: Names of groups of columns, see `agents.models.candidate_set.GROUPS`.
        predictions: (J, rows) that source tasks predict of the table's rows.
        distances: (J,) of the source tasks' spaces.
        numbers: Of the stacked process.

    Raises:
        ValueError: Another environment, or a budget that does not end all episodes together.
    """

    def __init__(
        self,
        env: Any,
        episodes: int,
        candidates: int,
        features: tuple[str, ...],
        predictions: npt.NDArray[Any] | None = None,
        distances: npt.NDArray[Any] | None = None,
        numbers: Mapping[str, float] | None = None,
    ) -> None:
        self._base, self.features, self._given = env.unwrapped, tuple(features), (predictions, distances)
        self.numbers = dict(numbers or {})
        self.size, self._each = check_int("candidates", candidates), np.arange(episodes)
        self._sampled = hasattr(self._base, "candidates")
        self._reward_at = -3 if self._sampled else -4
        if not self._sampled:
            p = getattr(self._base, "params", None)
            fits = kind_of(env) == "rows" and p is not None and not p.vector and p.table.feature_names
            if not fits or len(p.tables) > 1 or p.budget_unit != "evaluations":  # type: ignore[union-attr]
                raise ValueError(
                    "env must have one table with features, a row per action, one objective and a budget of "
                    f"evaluations for this wrapper, got {self._base}"
                )
        shapes = {
            "candidates": (candidate_set.BOUND, (self.size, candidate_set.width(self.features))),
            "mask": (1.0, (self.size,)),
            "context": (candidate_set.BOUND, (candidate_set.CONTEXT,)),
        }
        lows = {"candidates": -1.0, "mask": 0.0, "context": -1.0}
        self.space = Dict({k: Box(lows[k] * b, b, shape, np.float32) for k, (b, shape) in shapes.items()})
        self.action_space = Discrete(self.size)

    def start(self, observation: npt.NDArray[Any]) -> dict[str, npt.NDArray[np.float32]]:
        """The first observation of fresh episodes, of the environment's (E, ...) one."""
        space = self._base.candidates() if self._sampled else self._drawn()
        if space.x.shape[1] != self.size:
            raise ValueError(f"candidates must be those of the sampled tasks, {space.x.shape[1]}, got {self.size}")
        self._set = CandidateSet(space, self.features, self.numbers)
        return self._set.observation(observation[:, -1].astype(float))

    def add(self, actions: npt.NDArray[Any], observation: npt.NDArray[Any]) -> dict[str, npt.NDArray[np.float32]]:
        """The next observation, of the environment's after (E,) candidates: reward wrappers do not hide the reward."""
        self._set.observe(actions, observation[:, self._reward_at].astype(float))
        return self._set.observation(observation[:, -1].astype(float))

    def actions(self, given: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The (E,) candidates given, and the environment's actions for them.

        Raises:
            ValueError: Outside of the space.
        """
        chosen = check_ints(unmasked(given), (len(self._each),), self.size) % self._set.valid.sum(axis=1)
        return chosen, chosen if self._sampled else self._picked[self._each, chosen]

    @property
    def masks(self) -> npt.NDArray[np.bool_]:
        """(E, candidates) which were not evaluated."""
        return self._set.free.copy()

    def _drawn(self) -> Space:
        table, rows = self._base.params.table, np.atleast_2d(self._base.rows)
        k = rows.shape[1]
        keys = self._base.episodes[0] if hasattr(self._base, "num_envs") else np.array([self._base._key], np.uint64)
        count = min(self.size, k)
        self._picked = View(True, count / k).rows_many(keys ^ _STREAM, k)[:, :count]
        predictions, distances = self._given
        found = []
        for at in np.take_along_axis(rows, self._picked, axis=1):
            p = None if predictions is None else np.asarray(predictions)[:, at]
            found.append(Space.of(table.features[at], self.size, p, distances))
        return Space.stack(found)


class CandidateObservation(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Shows the configurations as a set of fixed size, of which an action names one.

    The observation is a `Dict` of `candidates` (n, columns), `mask` (n,) of those not evaluated, and `context`
    (`candidate_set.CONTEXT`,), all float32. Tables of any size form one batch: a larger one is subsampled at each
    reset, a smaller one filled up with zeros that no mask allows; their indices count from the first candidate again.
    `action_masks()` is what masked learners read.

    Args:
        env: An environment with one table with features, a row per action, one objective and a budget of evaluations.
        candidates: n.
        features: Names of groups of columns, see `hpo_envs.agents.models.candidate_set.GROUPS`.
        predictions: (J, rows) what source tasks predict of the table's rows, for `prior` and `stacked`.
        distances: (J,) of the source tasks' spaces, see `hpo_envs.agents.models.stacked_gp.distance`.
        numbers: Of the stacked process, see `hpo_envs.agents.models.stacked_gp.START`; None: the untrained ones.

    Raises:
        ValueError: Another environment, or an action outside the space.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        candidates: int = 64,
        features: tuple[str, ...] = candidate_set.DEFAULT,
        predictions: npt.NDArray[Any] | None = None,
        distances: npt.NDArray[Any] | None = None,
        numbers: Mapping[str, float] | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(self, candidates=candidates, features=tuple(features))
        super().__init__(env)
        self.shown = Presented(env, 1, candidates, features, predictions, distances, numbers)
        self.observation_space, self.action_space = self.shown.space, self.shown.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Draw the candidates of the episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._one(self.shown.start(observation[None])), self._masked(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Evaluate a candidate."""
        chosen, meant = self.shown.actions([action])
        observation, reward, terminated, truncated, info = self.env.step(int(meant[0]))
        seen = self.shown.add(chosen, observation[None])
        return self._one(seen), reward, terminated, truncated, self._masked(info)

    def get_wrapper_attr(self, name: str) -> Any:
        """Masks below this wrapper are of other actions."""
        return self.action_masks if name == "action_masks" else super().get_wrapper_attr(name)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(n,) which candidates were not evaluated."""
        mask: npt.NDArray[np.bool_] = self.shown.masks[0]
        return mask

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        return {**info, "action_mask": self.action_masks().astype(np.int8)}

    @staticmethod
    def _one(observation: dict[str, npt.NDArray[np.float32]]) -> dict[str, npt.NDArray[np.float32]]:
        return {name: values[0] for name, values in observation.items()}


class VectorCandidateObservation(VectorWrapper):
    """See `CandidateObservation`; also of `hpo_envs.benchmarks.tasks.make_vec`. All episodes end together."""

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        candidates: int = 64,
        features: tuple[str, ...] = candidate_set.DEFAULT,
        *more: Any,
        **named: Any,
    ) -> None:
        super().__init__(env)
        self.shown = Presented(env, env.num_envs, candidates, features, *more, **named)
        self.single_observation_space, self.single_action_space = self.shown.space, self.shown.action_space
        self.observation_space = batch_space(self.shown.space, env.num_envs)
        self.action_space = batch_space(self.shown.action_space, env.num_envs)
        self.autoreset_mode = env.metadata.get("autoreset_mode")
        self._ended = False

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Draw the candidates of all episodes.

        Raises:
            ValueError: Only some of them are reset.
        """
        if options and "reset_mask" in options:
            raise ValueError("reset_mask must be left alone for this wrapper, whose episodes begin together")
        observation, info = self.env.reset(seed=seed, options=options)
        self._ended = False
        return self.shown.start(observation), self._masked(info)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Evaluate a candidate in every episode."""
        chosen, meant = self.shown.actions(actions)
        observation, reward, terminated, truncated, info = self.env.step(meant)
        done = terminated | truncated
        if done.any() != done.all():
            raise ValueError(f"episodes must end together for this wrapper, got {int(done.sum())} of {len(done)}")
        if self._ended and self.autoreset_mode is AutoresetMode.NEXT_STEP:
            seen = self.shown.start(observation)
        elif "final_obs" in info:
            final = self.shown.add(chosen, np.stack(list(info["final_obs"])))
            info["final_obs"] = np.array([{k: v[i] for k, v in final.items()} for i in range(len(done))], object)
            seen = self.shown.start(observation)
        else:
            seen = self.shown.add(chosen, observation)
        self._ended = bool(done.any())
        return seen, reward, terminated, truncated, self._masked(info)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(num_envs, n) which candidates were not evaluated."""
        return self.shown.masks

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        mask = self.action_masks().astype(np.int8)
        numbers = {k: v for k, v in info.items() if k not in ("table", "_table")}  # TorchRL takes nothing else
        return {**numbers, "action_mask": mask, "_action_mask": np.ones(len(mask), bool)}


def for_training(env: Any, candidates: int = 64, features: tuple[str, ...] = candidate_set.DEFAULT, **more: Any) -> Any:
    """Default wrappers for training: the gain in normalised reward, candidates as a set, and masks.

    The rewards of an episode add up to its best normalised reward: position between the worst and the best result of
    the table, or of sampled tasks between the median and the best; so a discount below 1 makes early gains count more.

    Args:
        env: See `CandidateObservation`, scalar or vectorized, or `hpo_envs.benchmarks.tasks.make_vec`.
        candidates: Size of the set.
        features: Names of groups of columns.
        **more: Other arguments of `CandidateObservation`.
    """
    forms: tuple[Any, ...] = (NormalisedReward, ImprovementReward, CandidateObservation)
    if hasattr(env, "num_envs"):
        forms = VectorNormalisedReward, VectorImprovementReward, VectorCandidateObservation
    normalised, improvement, shown = forms
    if not hasattr(env.unwrapped, "candidates"):
        env = normalised(env)
    return shown(improvement(env, baseline=0.0), candidates, features, **more)
