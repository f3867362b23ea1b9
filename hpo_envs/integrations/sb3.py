"""Adapter from vectorized environments to the `VecEnv` of stable-baselines3 (extra `rl`).

envs = gym.make_vec("NMTHPO-v0", num_envs=1024, autoreset_mode=AutoresetMode.SAME_STEP)
model = PPO("MlpPolicy", SB3VecEnv(envs))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from hpo_envs.core.infos import entry

try:
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError:
    raise ModuleNotFoundError('SB3VecEnv needs stable-baselines3: pip install "hpo_envs[rl]"') from None


class SB3VecEnv(VecEnv):
    """Adapter from a vectorized environment with SAME_STEP autoreset to stable-baselines3.

    Infos have the entries that stable-baselines3 reads: `terminal_observation`, `TimeLimit.truncated` and `episode`
    (return `r`, length `l`) of episodes that ended; and the requested `keys`.

    Args:
        envs: A vectorized environment with `autoreset_mode=AutoresetMode.SAME_STEP`, wrapped or not.
        keys: Keys of each step's info to pass on, such as `("cost", "status", "config", "action_mask")`; in the step
            that ends an episode, the values are those of its last evaluation.

    Attributes:
        envs: The vectorized environment.
        last_infos: Batched info of the last step or reset.

    Raises:
        ValueError: The autoreset mode is not SAME_STEP, or the reward is a vector.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any], keys: Sequence[str] = ()) -> None:
        mode = envs.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f"envs must be made with autoreset_mode=AutoresetMode.SAME_STEP, got {mode}")
        if hasattr(envs.unwrapped, "reward_space"):
            raise ValueError(f"envs must have one objective, got the vector reward {envs.unwrapped.reward_space}")
        self.envs, self._keys = envs, tuple(keys)
        self.last_infos: dict[str, Any] = {}
        self._options_given: dict[str, Any] | None = None
        self._actions: Any = None
        self._returns, self._lengths = np.zeros(envs.num_envs), np.zeros(envs.num_envs, np.int64)
        self.render_mode, self.metadata = envs.render_mode, envs.metadata
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> Any:
        """Reset every environment with the seeds and options set before, then clear these; return the observations."""
        observations, self.last_infos = self.envs.reset(seed=self._seeds[0], options=self._options_given)
        self._reset_seeds()
        self._options_given = None
        self._returns[:], self._lengths[:] = 0.0, 0
        return observations

    def set_options(self, options: Any = None) -> None:
        """Set the options of the next reset, for all environments."""
        self._options_given = options

    def step_async(self, actions: np.ndarray) -> None:
        """Store the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Step every environment; return observations, (n,) float32 rewards, (n,) dones and n infos.

        Observations of episodes that ended are those after their reset.
        """
        observations, rewards, terminated, truncated, info = self.envs.step(self._actions)
        self.last_infos = info
        self._returns += rewards
        self._lengths += 1
        done = terminated | truncated
        last = info.get("final_info", info)
        each = [last if ended else info for ended in done]
        infos = [
            {k: entry(own[k], i) for k in self._keys if k in own and own[f"_{k}"][i]} for i, own in enumerate(each)
        ]
        for i in np.flatnonzero(done).tolist():
            infos[i] |= {
                "terminal_observation": info["final_obs"][i],
                "TimeLimit.truncated": bool(truncated[i] and not terminated[i]),
                "episode": {"r": float(self._returns[i]), "l": int(self._lengths[i])},
            }
        self._returns[done], self._lengths[done] = 0.0, 0
        return observations, rewards.astype(np.float32), done, infos

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the outermost wrapper, or the environment, that has it, once per index.

        Raises:
            AttributeError: None has it.
        """
        value = _attribute(self.envs, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute on the outermost wrapper, or the environment, that has it, else on the outermost wrapper.

        Raises:
            ValueError: Only some of the indices are given; the episodes of a batch share one object.
        """
        some = sorted(self._get_indices(indices))
        if some != list(range(self.num_envs)):
            raise ValueError(f"indices must be all, because the episodes share one object, got {some}")
        setattr(next((env for env in _layers(self.envs) if attr_name in dir(env)), self.envs), attr_name, value)

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Return images of the first episodes, see `hpo_envs.core.rendering`; empty without a render mode."""
        return self.envs.render() or ()  # type: ignore[return-value]

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method that returns one row per episode, such as `action_masks`; return the rows of the indices.

        Raises:
            AttributeError: Neither the environment nor a wrapper has the method.
        """
        result = _attribute(self.envs, method_name)(*args, **kwargs)
        return [result[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return whether the environment is wrapped in a class, once per index; for `Monitor`, always True."""
        wrapped = wrapper_class.__name__ == "Monitor" or any(isinstance(e, wrapper_class) for e in _layers(self.envs))
        return [wrapped for _ in self._get_indices(indices)]


def _layers(env: Any) -> Iterator[Any]:
    """Yield an environment and those that it wraps, the outermost first."""
    yield env
    if hasattr(env, "env"):
        yield from _layers(env.env)


def _attribute(envs: Any, name: str) -> Any:
    for env in _layers(envs):
        if name in dir(env):
            return getattr(env, name)
    raise AttributeError(f"{envs} has no attribute {name!r}")
