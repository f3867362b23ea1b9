"""Files of policies of stable-baselines3 that say how they were trained; reading one runs nothing that is in it.

What stable-baselines3 writes holds pickles, which can run anything when they are loaded. `sb3.save_policy` adds a
record in JSON: the policy's class and arguments, the wrappers, the spaces. `load` makes the policy of that record and
of the weights alone, which torch reads with `weights_only=True`. To stable-baselines3 the file is one of its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import pickle
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

import hpo_envs.wrappers
from hpo_envs.agents.encoding import decode_space
from hpo_envs.benchmarks.study import policies

PACKAGES = ("torch", "stable_baselines3", "sb3_contrib")
"""Packages whose classes a policy may be made of."""

WRAPPERS: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "hpo_envs": (
        hpo_envs.wrappers,
        ("HistoryObservation", "CandidateObservation", "ContinuousAction", "FlattenAction"),
    ),
    "gymnasium": (
        gym.wrappers,
        ("ClipAction", "RescaleAction", "FlattenObservation", "FrameStackObservation", "RescaleObservation"),
    ),
}
"""Modules of wrappers by package, and the wrappers that agents support."""


def load(file: str) -> tuple[Any, dict[str, Any], str]:
    """The policy of a file, a torch module, with the record and the sha256 of the file.

    Raises:
        ValueError: No file of `save_policy`; one that names what is no class of a policy, or whose weights are not its.
    """
    import torch
    from stable_baselines3.common.policies import BasePolicy

    record, sha256, archive = policies.opened(file)
    spaces = map(decode_space, record["spaces"])
    arguments = _decoded(record["arguments"], torch.nn.Module)
    training = {"lr_schedule": lambda progress: 0.0, "optimizer_class": _NoOptimiser}
    policy = _class(record["policy"], BasePolicy)(*spaces, **training, **arguments)
    try:
        weights = torch.load(io.BytesIO(policies.entry(archive, "policy.pth")), map_location="cpu", weights_only=True)
        policy.load_state_dict(weights)
    except (pickle.UnpicklingError, RuntimeError) as error:
        raise ValueError(f"policy.pth must have the weights of the policy and nothing else, got {error}") from None
    policy.set_training_mode(False)
    return policy, record, sha256


class _NoOptimiser:
    """Torch's take seconds to import, and nothing is trained here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...


def _decoded(value: Any, kind: type) -> Any:
    if isinstance(value, list):
        return [_decoded(v, kind) for v in value]
    if isinstance(value, dict):
        return _class(value["$class"], kind) if "$class" in value else {k: _decoded(v, kind) for k, v in value.items()}
    return value


def _class(name: str, kind: type) -> Any:
    """The class of a name.

    Raises:
        ValueError: It is of another package, or no subclass of `kind`.
    """
    module, _, attribute = name.partition(":")
    made = None
    if module.partition(".")[0] in PACKAGES and importlib.util.find_spec(module):
        made = getattr(importlib.import_module(module), attribute, None)
    if not isinstance(made, type) or not issubclass(made, kind):
        raise ValueError(f"a policy must be made of {kind.__name__}s of {', '.join(PACKAGES)}, got {name!r}")
    return made


def known_wrappers() -> str:
    """Names of the wrappers that can be recorded."""
    return ", ".join(name for _, names in WRAPPERS.values() for name in names)


def around(env: gym.Env[Any, Any], wrappers: list[list[Any]]) -> gym.Env[Any, Any]:
    """An environment in recorded wrappers, the first one innermost.

    Raises:
        ValueError: A wrapper that is not known.
    """
    for package, name, given in wrappers:
        if package not in WRAPPERS or name not in WRAPPERS[package][1]:
            raise ValueError(f"wrappers must be {known_wrappers()}, got {package}.{name}")
        arrays = {k: np.array(v, np.float32) if isinstance(v, list) else v for k, v in given.items()}
        env = getattr(WRAPPERS[package][0], name)(env, **arrays)
    return env
