"""Our batched environments as a stable-baselines3 `VecEnv`, which rejects Gymnasium's own (extra `rl`).

envs = gym.make_vec("NMTHPO-v0", num_envs=1024, autoreset_mode=AutoresetMode.SAME_STEP)
model = PPO("MlpPolicy", SB3VecEnv(envs))
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from hpo_envs.agents.encoding import encode_space
from hpo_envs.benchmarks.runs import problem_of
from hpo_envs.benchmarks.study import policies
from hpo_envs.core.infos import of_one
from hpo_envs.core.params import kind_of
from hpo_envs.integrations import policy_file

try:
    from stable_baselines3.common import vec_env
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError:
    raise ModuleNotFoundError('SB3VecEnv needs stable-baselines3: pip install "hpo_envs[rl]"') from None

WITHOUT_EFFECT = (
    *("ImprovementReward", "NormalisedReward", "RegretReward", "CostAwareReward", "LinearReward"),
    *("NormalizeReward", "ClipReward", "TransformReward", "Monitor", "RecordEpisodeStatistics", "RecordVideo"),
    *("OrderEnforcing", "PassiveEnvChecker", "TimeLimit", "Autoreset", "RenderCollection", "HumanRendering"),
)
"""Wrappers that change neither observations nor actions."""

FORGOTTEN = ("observation_space", "action_space", "lr_schedule", "optimizer_class", "optimizer_kwargs")
"""Arguments of a policy that are kept elsewhere, or that only training needs."""


class SB3VecEnv(VecEnv):
    """Adapter from a batched environment with SAME_STEP autoreset to stable-baselines3.

    Infos hold what stable-baselines3 reads: `terminal_observation`, `TimeLimit.truncated` and `episode` (return `r`,
    length `l`) of episodes that ended; and what is asked for. `last_infos` has the batched info of the last step.

    Args:
        envs: A batched environment with `autoreset_mode=AutoresetMode.SAME_STEP`, wrapped or not.
        keys: What of each step's info is passed on besides, such as `("cost", "status", "config", "action_mask")`; in
            the step that ends an episode, what was said of its last evaluation.

    Raises:
        ValueError: Another autoreset mode, or a vector reward.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any], keys: Sequence[str] = ()) -> None:
        mode = envs.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f"envs must be made with autoreset_mode=AutoresetMode.SAME_STEP, got {mode}")
        if hasattr(envs.unwrapped, "reward_space"):
            raise ValueError(f"envs must have one objective, got the vector reward {envs.unwrapped.reward_space}")
        self.envs, self._keys = envs, tuple(keys)
        self.last_infos: dict[str, Any] = {}
        self._seed: int | None = None
        self._options_given: dict[str, Any] | None = None
        self._actions: Any = None
        self._returns, self._lengths = np.zeros(envs.num_envs), np.zeros(envs.num_envs, np.int64)
        self.render_mode, self.metadata = envs.render_mode, envs.metadata
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> Any:
        """Start an episode in every environment."""
        observations, self.last_infos = self.envs.reset(seed=self._seed, options=self._options_given)
        self._seed = self._options_given = None
        self._returns[:], self._lengths[:] = 0.0, 0
        return observations

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seeds the next reset: environment i with seed + i."""
        self._seed = seed
        return [None if seed is None else seed + i for i in range(self.num_envs)]

    def set_options(self, options: Any = None) -> None:
        """Options of the next reset, for all environments."""
        self._options_given = options

    def step_async(self, actions: np.ndarray) -> None:
        """Take the actions."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Steps every environment."""
        observations, rewards, terminated, truncated, info = self.envs.step(self._actions)
        self.last_infos = info
        self._returns += rewards
        self._lengths += 1
        done = terminated | truncated
        last = info.get("final_info", info)
        infos = [of_one(last if done[i] else info, i, self._keys) for i in range(self.num_envs)]
        for i in np.flatnonzero(done):
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
        """An attribute of the batched environment, once per index."""
        value = _attribute(self.envs, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute where it is, or of the outermost wrapper.

        Raises:
            ValueError: Of some episodes only: those of a batch share one object.
        """
        some = sorted(self._get_indices(indices))
        if some != list(range(self.num_envs)):
            raise ValueError(f"indices must be all, because the episodes share one object, got {some}")
        env = self.envs
        while attr_name not in dir(env) and hasattr(env, "env"):
            env = env.env
        setattr(env if attr_name in dir(env) else self.envs, attr_name, value)

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Pictures of the first episodes, see `hpo_envs.core.rendering.VectorWatch`."""
        return self.envs.render() or ()  # type: ignore[return-value]

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method of the batched environment that returns one row per episode, such as `action_masks`."""
        result = _attribute(self.envs, method_name)(*args, **kwargs)
        return [result[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return whether the batched environment is wrapped in a class; return and lengths are always recorded."""
        env, wrapped = self.envs, wrapper_class.__name__ == "Monitor"
        while not wrapped and hasattr(env, "env"):
            wrapped, env = isinstance(env, wrapper_class), env.env
        return [wrapped for _ in self._get_indices(indices)]


class JoinedVecEnv(VecEnv):
    """Concatenation of several `SB3VecEnv` with equal spaces, such as one for each table that a policy is trained on.

    Args:
        parts: In order; their episodes are numbered one part after the other.

    Raises:
        ValueError: The parts differ in their spaces, or there are none.
    """

    def __init__(self, parts: Sequence[SB3VecEnv]) -> None:
        spaces = {(str(p.observation_space), str(p.action_space)) for p in parts}
        if len(spaces) != 1:
            raise ValueError(f"parts must have one observation space and one action space, got {sorted(spaces)}")
        self.parts, self.envs, first = list(parts), [p.envs for p in parts], parts[0]
        self._ends = np.cumsum([p.num_envs for p in parts])
        self.render_mode, self.metadata = first.render_mode, first.metadata
        super().__init__(int(self._ends[-1]), first.observation_space, first.action_space)

    def reset(self) -> Any:
        """Start an episode in every environment."""
        return np.concatenate([p.reset() for p in self.parts])

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seeds the next reset: environment i with seed + i."""
        starts = self._ends - [p.num_envs for p in self.parts]
        return [s for p, k in zip(self.parts, starts, strict=True) for s in p.seed(None if seed is None else seed + k)]

    def step_async(self, actions: np.ndarray) -> None:
        """Take the actions."""
        for part, some in zip(self.parts, np.split(actions, self._ends[:-1]), strict=True):
            part.step_async(some)

    def step_wait(self) -> Any:
        """Steps every environment."""
        observations, rewards, dones, infos = zip(*(p.step_wait() for p in self.parts), strict=True)
        return *map(np.concatenate, (observations, rewards, dones)), [i for some in infos for i in some]

    def close(self) -> None:
        """Close the environments."""
        for part in self.parts:
            part.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of each part's batched environment, once per index."""
        return self._of(indices, [p.get_attr(attr_name) for p in self.parts])

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of all parts.

        Raises:
            ValueError: Of some episodes only.
        """
        if sorted(self._get_indices(indices)) != list(range(self.num_envs)):
            raise ValueError(f"indices must be all, because the episodes of a part share one object, got {indices}")
        for part in self.parts:
            part.set_attr(attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method of each part's batched environment that returns one row per episode."""
        return self._of(indices, [p.env_method(method_name, *args, **kwargs) for p in self.parts])

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return whether the batched environments are wrapped in a class."""
        return self._of(indices, [p.env_is_wrapped(wrapper_class) for p in self.parts])

    def _of(self, indices: Any, values: Sequence[Sequence[Any]]) -> list[Any]:
        every = [v for some in values for v in some]
        return [every[i] for i in self._get_indices(indices)]


def _attribute(envs: Any, name: str) -> Any:
    while True:
        if name in dir(envs):
            return getattr(envs, name)
        if not hasattr(envs, "env"):
            raise AttributeError(f"{name!r} is no attribute of {envs}")
        envs = envs.env


def save_policy(model: Any, file: Path | str, env: Any = None) -> Path:
    """Write a model as stable-baselines3 does, with a record of its policy and of its wrappers inside.

    Args:
        model: Of stable-baselines3 or sb3-contrib.
        file: Where to; `.zip` is added where it has no suffix.
        env: An environment like the one that the model was trained on, scalar or batched, with its wrappers; default:
            the model's, of a `DummyVecEnv` or an `SB3VecEnv`, in `VecNormalize` or not.

    Returns:
        The file, for `hpo-envs compare --agents policy:FILE`.

    Raises:
        ValueError: A wrapper, or a part of the policy, that cannot be recorded; or rows that the policy can tell apart
            by their number alone, in the table's order, which runs do not have.
    """
    record = json.dumps(_record(model, env))
    path = Path(file) if Path(file).suffix else Path(f"{file}.zip")
    buffer = io.BytesIO()
    model.save(buffer)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(policies.RECORD, record)
    path.write_bytes(buffer.getvalue())
    return path


def _record(model: Any, env: Any) -> dict[str, Any]:
    normalise, every = _unpacked(model.get_env()) if env is None else (None, [env])
    trained = every[0]
    base = trained.unwrapped
    if not hasattr(base, "params"):
        raise ValueError(f"env must be an environment of this suite, got {base}")
    params, problem = base.params, problem_of(trained)
    if not params.view.shuffle and problem.base is None and params.kind in ("rows", "fidelity", "arms"):
        raise ValueError(
            "env must be made with shuffle=True where nothing but numbers tells actions apart, got shuffle=False"
        )
    policy = model.policy
    given = {
        **policy._get_constructor_parameters(),
        **model.policy_kwargs,
    }  # recurrent policies name only some of theirs
    arguments = {k: v for k, v in given.items() if k not in FORGOTTEN}
    return {
        "format": 1,
        "policy": _named(type(policy)),
        "arguments": {name: _encoded(name, value) for name, value in arguments.items()},
        "spaces": [encode_space(model.observation_space), encode_space(model.action_space)],
        "normalise": normalise,
        "wrappers": list(_wrappers(trained))[::-1],
        "environment": base.spec.id if base.spec else None,
        "kind": kind_of(trained),
        "shuffle": params.view.shuffle,
        "observation_space": encode_space(params.observation_space),
        "action_space": encode_space(params.action_space),
        "trained_on": sorted({language for one in every for language in problem_of(one).excluded}),
    }


def _unpacked(envs: Any) -> tuple[dict[str, Any] | None, list[Any]]:
    """Normalisation of observations, and the environments, of a `VecEnv` of stable-baselines3."""
    normalise = None
    while isinstance(envs, vec_env.VecEnvWrapper):
        if isinstance(envs, vec_env.VecNormalize):
            if envs.norm_obs:
                mean, var = envs.obs_rms.mean.tolist(), envs.obs_rms.var.tolist()
                normalise = {"mean": mean, "var": var, "epsilon": envs.epsilon, "clip": envs.clip_obs}
        elif not isinstance(envs, (vec_env.VecMonitor, vec_env.VecCheckNan)):
            raise ValueError(
                f"wrappers must be {policy_file.known_wrappers()} or VecNormalize, got {type(envs).__name__}"
            )
        envs = envs.venv
    inner = getattr(envs, "envs", None)
    if inner is None:
        raise ValueError(f"env must be given where the model has none in this process, got {type(envs).__name__}")
    return normalise, inner if isinstance(inner, list) else [inner]


def _wrappers(env: Any) -> Iterator[list[Any]]:
    """Name and arguments of each wrapper that changes observations or actions, outermost first."""
    while env is not env.unwrapped:
        kind = type(env)
        package, name = kind.__module__.partition(".")[0], kind.__name__
        if name not in WITHOUT_EFFECT:
            scalar = package != "gymnasium" or not kind.__module__.startswith("gymnasium.wrappers.vector")
            if package not in policy_file.WRAPPERS or name not in policy_file.WRAPPERS[package][1] or not scalar:
                raise ValueError(
                    f"wrappers must be {policy_file.known_wrappers()} or VecNormalize, got {kind.__module__}.{name}"
                )
            given = getattr(env, "_saved_kwargs", {})
            yield [package, name, {k: _encoded(f"{name}.{k}", v) for k, v in given.items()}]
        env = env.env


def _named(kind: type) -> str:
    if kind.__module__.partition(".")[0] not in policy_file.PACKAGES:
        raise ValueError(
            f"policy must be made of classes of {', '.join(policy_file.PACKAGES)}, got {kind.__module__}.{kind}"
        )
    return f"{kind.__module__}:{kind.__qualname__}"


def _encoded(name: str, value: Any) -> Any:
    """An argument as JSON data."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return _encoded(name, value.tolist())
    if isinstance(value, (list, tuple)):
        return [_encoded(name, v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): _encoded(name, v) for k, v in value.items()}
    if isinstance(value, type):
        return {"$class": _named(value)}
    raise ValueError(f"{name} must be plain data or a class to be recorded, got {value!r}")
