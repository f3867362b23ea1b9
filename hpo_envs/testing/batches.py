"""Contract of vectorized environments: trajectories equal those of the scalar form; autoreset modes, copies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from hpo_envs.testing.rules import require, same

NUM_ENVS = 3
STEPS = 24
SEED = 11


@dataclass(frozen=True)
class Subject:
    """Factories of the environment under test.

    Attributes:
        scalar: `scalar(**arguments)` makes a scalar environment.
        batched: `batched(num_envs, **arguments)` makes a batch; None if there is no such form.
        short: Arguments with which an episode ends within a few steps.
        rtol: Relative and absolute tolerance between the two forms.
    """

    scalar: Callable[..., Any]
    batched: Any
    short: Mapping[str, Any]
    rtol: float = 0.0


def pick(info: dict[str, Any], i: int) -> dict[str, Any]:
    """Return the info of environment i from a batched info, without entries that the environment did not report."""
    reported = (k for k in info if not k.startswith("_") and ("_" + k not in info or info["_" + k][i]))
    return {k: pick(info[k], i) if isinstance(info[k], dict) else info[k][i] for k in reported}


def agree(scalar: dict[str, Any], batched: dict[str, Any], rtol: float = 0.0) -> None:
    """Require that the batched info equals the scalar one."""
    require(scalar.keys() == batched.keys(), f"infos must have the same keys, got {[*batched]} for {[*scalar]}")
    for key, value in scalar.items():
        _equal(f"info[{key!r}]", value, batched[key], rtol)


def _equal(what: str, scalar: Any, batched: Any, rtol: float) -> None:
    require(same(scalar, batched, rtol), f"{what} must be that of the scalar form, {scalar!r}, got {batched!r}")


def _trajectories(subject: Subject, mode: AutoresetMode) -> None:
    """Require that a batch steps as that many scalar environments do, beyond the ends of episodes."""
    rtol, same_step = subject.rtol, mode is AutoresetMode.SAME_STEP
    envs = subject.batched(NUM_ENVS, **subject.short, autoreset_mode=mode)
    singles = [subject.scalar(**subject.short) for _ in range(NUM_ENVS)]
    require(envs.metadata["autoreset_mode"] is mode, f"metadata['autoreset_mode'] must be {mode}")
    envs.action_space.seed(0)
    observation, info = envs.reset(seed=SEED)
    for i, env in enumerate(singles):
        one, one_info = env.reset(seed=SEED + i)
        _equal("the observation at reset", one, observation[i], rtol)
        agree(one_info, pick(info, i), rtol)
    waiting, ends = [False] * NUM_ENVS, 0
    for _ in range(STEPS):
        actions = envs.action_space.sample()
        observation, reward, terminated, truncated, info = envs.step(actions)
        require(observation in envs.observation_space, f"observations must be in the space, got {observation!r}")
        require(not truncated.any(), f"truncated must be False without a time limit, got {truncated!r}")
        for i, env in enumerate(singles):
            batched = pick(info, i)
            if waiting[i]:
                one, one_info = env.reset()
                one_reward, one_end = np.zeros_like(reward[i]), False
            else:
                one, one_reward, one_end, _, one_info = env.step(actions[i])
            _equal("the reward", one_reward, reward[i], rtol)
            _equal("terminated", one_end, terminated[i], 0.0)
            if one_end and same_step:
                _equal("info['final_obs']", one, batched.pop("final_obs", None), rtol)
                agree(one_info, batched.pop("final_info", {}), rtol)
                one, one_info = env.reset()
            _equal("the observation", one, observation[i], rtol)
            agree(one_info, batched, rtol)
            waiting[i], ends = one_end and not same_step, ends + one_end
            if "action_mask" in one_info and not waiting[i]:
                masks = envs.unwrapped.action_masks()
                _equal("the mask of actions", env.unwrapped.action_masks(), masks[i], 0.0)
    require(ends >= NUM_ENVS, f"short must end episodes within {STEPS // 2} steps, got {ends} ends in {STEPS}")


def _copy(subject: Subject) -> None:
    """Require that copy=False reuses the observation array, and that copy=True never does."""
    fresh, reused = subject.batched(2, **subject.short), subject.batched(2, copy=False, **subject.short)
    fresh.action_space.seed(2)
    first, _ = fresh.reset(seed=0)
    again, _ = reused.reset(seed=0)
    kept = first.copy()
    for _ in range(3):
        actions = fresh.action_space.sample()
        ours, theirs = fresh.step(actions)[0], reused.step(actions)[0]
        require(np.array_equal(ours, theirs), "copy=False must change no observation")
        require(theirs is again, "copy=False must return the same array each time")
        require(ours is not first, "copy=True must return another array each time")
    require(np.array_equal(first, kept), "a step must not write into an earlier observation")


def _actions_kept(subject: Subject) -> None:
    envs = subject.batched(2, **subject.short)
    envs.action_space.seed(3)
    envs.reset(seed=0)
    for _ in range(12):
        actions = envs.action_space.sample()
        before = np.array(actions, copy=True)
        envs.step(actions)
        require(np.array_equal(actions, before), f"a step must not write into its actions, got {actions} for {before}")


BATCH_RULES: dict[str, Callable[[Subject], None]] = {
    "batch-next-step": lambda subject: _trajectories(subject, AutoresetMode.NEXT_STEP),
    "batch-same-step": lambda subject: _trajectories(subject, AutoresetMode.SAME_STEP),
    "batch-copy": _copy,
    "batch-actions": _actions_kept,
}
"""Rules, by name, of environments with a batched form."""
