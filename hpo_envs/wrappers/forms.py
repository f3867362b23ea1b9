"""Scalar and vectorized forms of wrappers, made from one rule on the arrays of n episodes (scalar form: n = 1).

The vectorized form follows the environment's autoreset mode: an episode starts with fresh state, whether it begins in
the step that ended the previous one (SAME_STEP) or in the next step (NEXT_STEP).
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from hpo_envs.core.infos import ALL, change_mask, entry
from hpo_envs.core.params import unmasked
from hpo_envs.tables import Floats

Flags = npt.NDArray[np.bool_]
EpisodeIndices = npt.NDArray[np.intp] | slice
"""Indices of episodes, or `ALL`."""
Change = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]


class Rule:
    """Base class of rules, which define what a wrapper changes; by default nothing.

    `index` holds the indices of some of the n episodes, or is `ALL`.

    Args:
        env: The environment, scalar or vectorized.
        n: Number of episodes.

    Attributes:
        action_space: Space of an action, if the wrapper changes it.
        observation_space: Space of an observation, if the wrapper changes it.
    """

    action_space: gym.Space[Any] | None = None
    observation_space: gym.Space[Any] | None = None

    def __init__(self, env: Any, n: int) -> None:
        pass

    def actions(self, given: Any) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
        """Convert n actions of the wrapper; return (n, ...) actions of the environment and (n,) `info` entries by name.

        ValueError if an action is not valid.
        """
        return given, {}

    def masking(self) -> Change | None:
        """Return a function from the environment's (n, k) masks to the wrapper's; None if masks are not useful."""
        return unchanged

    def start(self, index: EpisodeIndices, tables: npt.NDArray[Any]) -> None:
        """Start fresh episodes at `index`; `tables` (k,) holds the names of their tables, None where unknown."""

    def observe(self, observation: npt.NDArray[Any], index: EpisodeIndices, fresh: bool) -> Any:
        """Process the rows at `index` of (n, ...) observations, the first of their episodes if `fresh`.

        Returns:
            The observations of all n episodes: an (n, ...) array, or a dict of such arrays.
        """
        return observation


class RewardRule(Rule):
    """Base class of rules that change rewards, of environments with one objective."""

    def changed(self, reward: Floats, cost: Floats, evaluated: Flags) -> Floats:
        """See `reward`; ValueError if rewards are vectors."""
        if reward.ndim > 1:
            raise ValueError(f"env must have one objective for this wrapper, got rewards of shape {reward.shape[1:]}")
        return self.reward(reward, cost, evaluated)

    def reward(self, reward: Floats, cost: Floats, evaluated: Flags) -> Floats:
        """Return the (n,) new rewards for (n,) rewards and costs of the environment.

        `evaluated` (n,) is False where this step completed no evaluation; the new reward is 0 there.
        """
        raise NotImplementedError


def unchanged(mask: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the mask unchanged."""
    return mask


def space_of(env: Any, kind: str) -> gym.Space[Any]:
    """Return the `action` or `observation` space of one episode of a scalar or vectorized environment."""
    space: gym.Space[Any] = getattr(env, f"single_{kind}_space" if hasattr(env, "num_envs") else f"{kind}_space")
    return space


def _masks_of(env: Any) -> Callable[[], npt.NDArray[Any]]:
    """Return `action_masks` of the outermost layer that defines it; AttributeError if there is none."""
    while "action_masks" not in dir(env):
        env = env.env
    return env.action_masks  # type: ignore[no-any-return]


class ScalarForm(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Base class of scalar wrappers, which apply a rule to one episode."""

    rule_class: ClassVar[type[Rule]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Set the signature of the class to that of the rule, without the number of episodes."""
        super().__init_subclass__(**kwargs)
        cls.__signature__ = _signature(cls.rule_class)  # type: ignore[attr-defined]

    def __init__(self, env: gym.Env[Any, Any], *args: Any, **kwargs: Any) -> None:
        RecordConstructorArgs.__init__(self, **_signature(self.rule_class).bind(env, *args, **kwargs).arguments)
        super().__init__(env)
        self.rule = self.rule_class(env, 1, *args, **kwargs)
        self.action_space = self.rule.action_space or env.action_space
        self.observation_space = self.rule.observation_space or env.observation_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode of the environment and of the rule."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.rule.start(ALL, np.array([info.get("table")], dtype=object))
        return self._observed(observation, True), self._masked(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the environment, with the rule applied to the action and to the results."""
        noted: dict[str, Any] = {}
        if self.rule.action_space is not None:
            meant, noted = self.rule.actions([unmasked(action)])
            action = int(meant[0]) if meant.ndim == 1 else meant[0]
        observation, reward, terminated, truncated, info = self.env.step(action)
        if isinstance(self.rule, RewardRule):
            evaluated = np.array([info.get("finished", True)])
            reward = self.rule.changed(np.array([reward], np.float64), np.array([info["cost"]]), evaluated).item()
        shown = self._observed(observation, False)  # before the masks, which may depend on it
        info = self._masked(info)
        if noted:
            info |= entry(noted)
        return shown, reward, terminated, truncated, info

    def get_wrapper_attr(self, name: str) -> Any:
        """Return an attribute of any layer, but `action_masks` of this one only: inner layers have other actions."""
        return self.action_masks if name == "action_masks" else super().get_wrapper_attr(name)

    @property
    def action_masks(self) -> Callable[[], Any]:
        """`action_masks()` returns the (k,) mask of this wrapper's actions.

        Raises:
            AttributeError: The environment or the wrapper has no useful mask, so `hasattr` is False.
        """
        masks, change = _masks_of(self.env), _useful(self.rule)
        return lambda: change(masks()[None])[0]

    def _observed(self, observation: Any, fresh: bool) -> Any:
        if self.rule.observation_space is None:
            return observation
        return entry(self.rule.observe(observation[None], ALL, fresh))

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        if (change := self.rule.masking()) is not unchanged:
            mask = info.pop("action_mask", None)
            if mask is not None and change is not None:
                info["action_mask"] = change(mask[None])[0]
        return info


class VectorForm(VectorWrapper):
    """Base class of vectorized wrappers, which apply a rule to all episodes."""

    rule_class: ClassVar[type[Rule]]

    def __init__(self, env: VectorEnv[Any, Any, Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(env)
        n = env.num_envs
        self.rule = rule = self.rule_class(env, n, *args, **kwargs)
        if rule.action_space is not None:
            self.single_action_space, self.action_space = rule.action_space, batch_space(rule.action_space, n)
        if rule.observation_space is not None:
            self.single_observation_space = rule.observation_space
            self.observation_space = batch_space(rule.observation_space, n)
        self.autoreset_mode = env.metadata.get("autoreset_mode")
        self._ended = np.zeros(n, bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a fresh episode in every environment, or in those of `options["reset_mask"]`."""
        observation, info = self.env.reset(seed=seed, options=options)
        fresh = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        self._ended = self._ended & ~fresh
        return self._begin(fresh, observation, info, observation), self._masked(info)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step every environment, with the rule applied to actions and results; ended episodes restart by autoreset."""
        rule, fresh = self.rule, self._ended
        noted: dict[str, npt.NDArray[Any]] = {}
        if rule.action_space is not None:
            actions, noted = rule.actions(unmasked(actions))
        observation, reward, terminated, truncated, info = self.env.step(actions)
        done = terminated | truncated
        final = info["final_info"] if "final_info" in info else {}
        continuing = ~fresh
        if isinstance(rule, RewardRule):
            reward = self._rewarded(rule, reward, continuing, info)
        shown = self._continue(continuing, observation, info)
        self._masked(final)
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            fresh = done
        else:
            self._ended = done.copy()
        shown = self._begin(fresh, observation, info, shown)
        self._masked(info)
        for part in (info, final) if noted else ():
            if "_cost" in part and (reported := part["_cost"]).any():  # who evaluated something
                for name, value in noted.items():
                    part[name], part["_" + name] = value & reported, reported
        return shown, reward, terminated, truncated, info

    @property
    def action_masks(self) -> Callable[[], Any]:
        """`action_masks()` returns the (num_envs, k) masks of this wrapper's actions.

        Raises:
            AttributeError: The environments or the wrapper have no useful mask, so `hasattr` is False.
        """
        masks, change = _masks_of(self.env), _useful(self.rule)
        return lambda: change(masks())

    def _rewarded(self, rule: RewardRule, reward: Any, evaluated: Flags, info: dict[str, Any]) -> Floats:
        if "finished" in info:
            evaluated = evaluated & (info["finished"].astype(bool) | ~info["_finished"])
        # An array would be missing only if every episode was restarted in this step.
        cost = np.zeros(self.num_envs) if "cost" not in info else info["cost"]
        if "final_info" in info:
            cost = np.where(info["_final_info"], info["final_info"]["cost"], cost)
        return rule.changed(np.asarray(reward, dtype=np.float64), cost, evaluated)

    def _begin(self, fresh: Flags, observation: Any, info: dict[str, Any], shown: Any) -> Any:
        """Start the `fresh` episodes of the rule; return the observations that it makes, else `shown`."""
        if not fresh.any():
            return shown
        index: EpisodeIndices = ALL if fresh.all() else fresh.nonzero()[0]
        # Infos of sampled tasks have no texts, since TorchRL takes numbers only.
        tables = info["table"] if "table" in info else np.full(self.num_envs, None)
        self.rule.start(index, tables[index])
        return shown if self.rule.observation_space is None else self.rule.observe(observation, index, True)

    def _continue(self, continuing: Flags, observation: Any, info: dict[str, Any]) -> Any:
        """Pass observations of continuing episodes, last ones included, to the rule; return all, set `final_obs`."""
        if self.rule.observation_space is None or not continuing.any():
            return observation
        ended = np.flatnonzero(info["_final_obs"]).tolist() if "final_obs" in info else []
        if ended:
            observation = observation.copy()
            observation[ended] = np.stack(list(info["final_obs"][ended]))
        index: EpisodeIndices = ALL if continuing.all() else continuing.nonzero()[0]
        shown = self.rule.observe(observation, index, False)
        parts = shown.items() if isinstance(shown, dict) else ()
        for i in ended:
            info["final_obs"][i] = {name: array[i] for name, array in parts} or shown[i]
        return shown

    def _masked(self, info: dict[str, Any]) -> dict[str, Any]:
        if (change := self.rule.masking()) is not unchanged:
            change_mask(info, change)
        return info


@functools.cache
def vectorized(scalar: type[ScalarForm]) -> type[VectorForm]:
    """Return the vectorized form of a wrapper, a class of the same name."""
    members = {
        "__module__": "hpo_envs.wrappers.vector",
        "__doc__": f"`hpo_envs.wrappers.{scalar.__name__}` of vectorized environments.",
        "__signature__": _signature(scalar.rule_class),
        "rule_class": scalar.rule_class,
    }
    return type(scalar.__name__, (VectorForm,), members)


def _signature(rule: type[Rule]) -> inspect.Signature:
    """Return the signature of a wrapper: the arguments of its rule, without the number of episodes."""
    signature = inspect.signature(rule)
    return signature.replace(parameters=[p for p in signature.parameters.values() if p.name != "n"])


def _useful(rule: Rule) -> Change:
    change = rule.masking()
    if change is None:
        raise AttributeError(f"action_masks: there is no useful mask of actions in {rule.action_space}")
    return change
