"""Contract of environments: Gymnasium's interface, seeds, bounds, copies and errors, in both forms."""

import functools
import json
import pickle
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import env_checker

from hpo_envs.families import registry
from hpo_envs.testing.batches import BATCH_RULES, Subject
from hpo_envs.testing.rules import check_rules, finite, refuses, require, same

BAD_ACTIONS: tuple[Any, ...] = ("x", None, 1.5, -1, 10**9, np.array([1.0, 2.0]), [[0]], {}, float("nan"))
"""Actions that are in no space of the suite."""

BAD_ARGUMENTS: tuple[tuple[str, Any, str], ...] = (
    ("budget", 0, "budget must be .*, got 0"), ("budget", -3, "budget must be .*, got -3"),
    ("budget", float("nan"), "budget must be .*, got nan"), ("budget", "20", "budget must be .*, got '20'"),
    ("table", "measured", "table must be .*, got 'measured'"), ("table", 3, "table must be .*, got 3"),
)  # fmt: skip
"""Invalid arguments (name, value, pattern of the error) for every environment that has them."""


def check_env(
    env: str | Callable[..., gym.Env[Any, Any]], *, vector: Callable[..., Any] | None = None,
    short: Mapping[str, Any] | None = None, rtol: float = 0.0, rules: Iterable[str] | None = None, **arguments: Any,
) -> None:  # fmt: skip
    """Check that agents, the run loop and reports can rely on an environment, in both forms.

    Args:
        env: Registered id, or a factory of a scalar environment such as its class; the batched form of an id is found
            automatically.
        vector: Factory `(num_envs, **arguments)` of the batched form of a factory; without it, only the scalar form
            is checked.
        short: Arguments with which an episode ends within a few steps, so that its end is tested; by default those of
            the id's family, or `{"budget": 4}` for a factory.
        rtol: Relative and absolute tolerance between the two forms, for environments whose steps compute something.
        rules: Names of `ENV_RULES` to check; all by default. Those of the batched form are left out if there is none.
        **arguments: Arguments of the environment, such as `budget=4`.

    Raises:
        ValueError: Unknown rule.
        AssertionError: The environment breaks a rule; the message names it.

    Example:
        >>> check_env("NMTHPO-zhen-v0")
    """
    label = env if isinstance(env, str) else getattr(env, "__name__", repr(env))

    def scalar(*, max_episode_steps: int | None = None, disable_env_checker: bool | None = None, **more: Any) -> Any:
        given = {**arguments, **more}
        if isinstance(env, str):
            limit = max_episode_steps
            return gym.make(env, max_episode_steps=limit, disable_env_checker=disable_env_checker, **given)
        made = env(**given)
        return made if max_episode_steps is None else gym.wrappers.TimeLimit(made, max_episode_steps)

    def batched(num_envs: int, **more: Any) -> Any:
        given = {**arguments, **more}
        return vector(num_envs, **given) if vector is not None else gym.make_vec(str(env), num_envs=num_envs, **given)

    form = batched if isinstance(env, str) or vector is not None else None
    family = registry.family_of(env) if isinstance(env, str) else None
    if short is None:
        short = family.short if family else {"budget": 4}
    subject = Subject(scalar, form, short, rtol)
    names = [*ENV_RULES] if rules is None else [*rules]
    check_rules(f"environment {label}", subject, ENV_RULES, [n for n in names if form or n not in BATCH_RULES])


def rollout(env: Any, seed: int, steps: int = 10) -> list[Any]:
    """Seed an environment and its action space; return all results of `reset` and of random steps as one flat list."""
    env.action_space.seed(seed)
    trail: list[Any] = list(env.reset(seed=seed))
    for _ in range(steps):
        out = env.step(env.action_space.sample())
        trail.extend(out)
        if out[2]:
            trail.extend(env.reset())
    return trail


def _equal_trails(one: Any, two: Any, seed: int, what: str) -> None:
    """Require that two environments give equal results with this seed; `what` describes the second one."""
    for a, b in zip(rollout(one, seed), rollout(two, seed), strict=True):
        require(same(a, b), f"{what} must give the same trajectory, got {b!r} for {a!r}")


def _gymnasium(subject: Subject) -> None:
    env = subject.scalar(disable_env_checker=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The checker wants the bare environment, and warns of any wrapper; vector rewards need theirs.
        if hasattr(env.unwrapped, "reward_space"):
            warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
            mean = gym.wrappers.TransformReward(env, lambda reward: float(np.mean(np.asarray(reward))))
            env_checker.check_env(mean, skip_render_check=True)
        else:
            env_checker.check_env(env.unwrapped, skip_render_check=True)


def _bounds(subject: Subject) -> None:
    env = subject.scalar(**subject.short)
    bare = env.unwrapped
    env.action_space.seed(4)
    observation, info = env.reset(seed=4)
    provenance = bare.table.provenance
    for key, value in {"kind": provenance.kind, "sha256": provenance.sha256, "table": bare.table.name}.items():
        require(info.get(key) == value, f"info[{key!r}] at reset must be the table's, {value!r}, got {info.get(key)!r}")
    for _ in range(20):
        require(observation in env.observation_space, f"observations must be in the space, got {observation!r}")
        require(observation.dtype == np.float32, f"observations must be float32, got {observation.dtype}")
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        require(isinstance(terminated, bool), f"terminated must be a bool, got {terminated!r}")
        require(truncated is False, f"truncated must be False without a time limit, got {truncated!r}")
        require(finite(reward), f"rewards must be finite, got {reward!r}")
        require(finite(info), f"infos must be finite, got {info!r}")
        require(info.get("cost", -1) >= 0, f"info['cost'] must be >= 0, got {info.get('cost')!r}")
        require(isinstance(info.get("status"), str), f"info['status'] must be a str, got {info.get('status')!r}")
        if hasattr(bare, "reward_space"):
            require(reward in bare.reward_space, f"rewards must be in reward_space, got {reward!r}")
            require(reward.shape == (bare.reward_dim,), f"rewards must be ({bare.reward_dim},), got {reward.shape}")
        else:
            require(type(reward) is float, f"rewards must be floats, got {reward!r}")
        if terminated:
            observation, _ = env.reset()


def _repeatable(subject: Subject) -> None:
    _equal_trails(subject.scalar(**subject.short), subject.scalar(**subject.short), 5, "the same seed")


def _private(subject: Subject) -> None:
    """Require that writing into the results of a step changes no later step."""
    clean, dirty = subject.scalar(**subject.short), subject.scalar(**subject.short)
    clean.action_space.seed(6)
    a, b = clean.reset(seed=6), dirty.reset(seed=6)
    for _ in range(12):
        action = clean.action_space.sample()
        b[0][:] = -1
        for value in b[-1].values():
            if isinstance(value, dict):
                value.clear()
            elif isinstance(value, np.ndarray) and value.ndim:
                value[:] = 0
        b[-1].clear()
        if len(a) == 5 and a[2]:
            a, b = clean.reset(), dirty.reset()
            continue
        a, b = clean.step(action), dirty.step(action)
        for x, y in zip(a, b, strict=True):
            require(same(x, y), f"results of a step must be copies: after writing into them, got {y!r} for {x!r}")


def _copies(subject: Subject) -> None:
    env = subject.scalar(**subject.short)
    again = pickle.loads(pickle.dumps(env.unwrapped))  # noqa: S301
    _equal_trails(env.unwrapped, again, 8, "a pickled copy")
    if env.spec is not None and isinstance(env.spec.entry_point, str):
        try:
            spec = gym.envs.registration.EnvSpec.from_json(env.spec.to_json())
        except TypeError:  # of arguments such as a table
            return
        _equal_trails(env.unwrapped, gym.make(spec).unwrapped, 8, "an environment made from the JSON of its spec")


def _time_limit(subject: Subject) -> None:
    env = subject.scalar(max_episode_steps=2)
    env.action_space.seed(0)
    env.reset(seed=0)
    ends: list[bool] = []
    while not any(ends) and len(ends) < 4:
        ends += env.step(env.action_space.sample())[2:4]
    require(any(ends), "max_episode_steps=2 must truncate an episode after two steps")


def _reset_needed(subject: Subject) -> None:
    env = subject.scalar(**subject.short).unwrapped
    env.action_space.seed(0)

    def step() -> Any:
        return env.step(env.action_space.sample())

    refuses(step, "must follow reset", "a step before reset", gym.error.ResetNeeded)
    env.reset(seed=0)
    for _ in range(10_000):
        if step()[2]:
            break
    refuses(step, "must follow reset", "a step after the end", gym.error.ResetNeeded)


def _bad_actions(subject: Subject) -> None:
    env = subject.scalar(disable_env_checker=True).unwrapped
    env.action_space.seed(0)
    env.reset(seed=0)
    for action in BAD_ACTIONS:
        refuses(lambda action=action: env.step(action), r"^actions? must be .*, got ", f"action {action!r}")  # type: ignore[misc]
        # A rejected action costs nothing: the episode continues.
        if env.step(env.action_space.sample())[2]:
            env.reset()


def _bad_arguments(subject: Subject) -> None:
    forms: list[Callable[..., Any]] = [subject.scalar]
    if subject.batched is not None:
        forms.append(functools.partial(subject.batched, 2))
    for name, value, pattern in BAD_ARGUMENTS:
        for make in forms:
            try:
                refuses(functools.partial(make, **{name: value}), pattern, f"{name}={value!r}")
            except TypeError:  # it has no such argument
                continue


def _masks(subject: Subject) -> None:
    """Require that masks are equal in `info` and `action_masks()`, and that `sample` draws actions that they allow."""
    env = subject.scalar(**subject.short).unwrapped
    space = env.action_space
    space.seed(3)
    _, info = env.reset(seed=3)
    for _ in range(12):
        mask = info.get("action_mask")
        require(
            hasattr(env, "action_masks") == (mask is not None), "info and action_masks() must both have a mask, or none"
        )
        if mask is None:
            return
        flat = env.action_masks()
        require(flat.dtype == bool and np.array_equal(flat, mask), "action_masks() must be the mask of info, as bool")
        action = space.sample(mask)
        require(action in space, f"a masked sample must be in the space, got {action!r}")
        sizes = np.atleast_1d(getattr(space, "nvec", getattr(space, "n", 0)))
        require(mask[np.cumsum(sizes) - sizes + action].all(), f"a masked sample must be useful, got {action!r}")
        *_, terminated, _, info = env.step(action)
        if terminated:
            _, info = env.reset()


def _configurations(subject: Subject) -> None:
    """Require that `config(action)` can be written as JSON and equals the configuration in `info`."""
    env = subject.scalar(**subject.short).unwrapped
    env.action_space.seed(2)
    env.reset(seed=2)
    for _ in range(4):
        action = env.action_space.sample()
        config = env.config(action)
        require(json.loads(json.dumps(config)) == config, f"config must be plain data, got {config!r}")
        *_, terminated, _, info = env.step(action)
        if info.get("finished", True):
            reported = info.get("config", {})
            require(same(config, reported), f"config must be info['config'], {reported!r}, got {config!r}")
        if terminated:
            env.reset()


ENV_RULES: dict[str, Callable[[Subject], None]] = {
    "gymnasium": _gymnasium, "bounds": _bounds, "repeatable": _repeatable, "private": _private, "copies": _copies,
    "time-limit": _time_limit, "reset-needed": _reset_needed, "bad-actions": _bad_actions,
    "bad-arguments": _bad_arguments, "masks": _masks, "configurations": _configurations, **BATCH_RULES,
}  # fmt: skip
"""Rules of environments by name."""
