"""Import of other packages, with errors for missing or old ones; states of the global generators for each agent."""

import contextlib
import functools
import importlib
import random
import re
import sys
import warnings
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import numpy as np

from hpo_envs.agents.registry import install


def package(name: str, needed_by: str = "") -> Any:
    """Import and return a module of another package.

    Args:
        name: Name of the module.
        needed_by: Name of what needs the module, for the message; default: the module's package.

    Raises:
        ModuleNotFoundError: The package is missing or too old; the message says how to install it.
    """
    top = name.partition(".")[0]
    who = f"with {needed_by}" if needed_by else f"of {top}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"agents {who} need {error.name}: {install(top)}", name=error.name) from None
    if old := _too_old(top):
        raise ModuleNotFoundError(f"agents {who} need {old}: {install(top)}", name=top)
    return module


@functools.cache
def _too_old(module: str) -> str:
    """Return "NAME>=REQUIRED, got INSTALLED" if the installed version is too old, else an empty string."""
    distribution = {"ax": "ax-platform", "syne_tune": "syne-tune"}.get(module, module)
    for line in metadata.requires("hpo_envs") or ():
        if (rule := re.match(rf"{distribution}>=([\d.]+)", line)) and _parts(rule[1]) > _parts(
            found := metadata.version(distribution)
        ):
            return f"{distribution}>={rule[1]}, got {found}"
    return ""


def _parts(version: str) -> list[int]:
    return [int(part) for part in re.match(r"[\d.]*", version)[0].split(".") if part]  # type: ignore[index]


class Generators:
    """States of the global random generators for one agent: those of `random`, NumPy and, if it is imported, torch.

    Args:
        seed: Seed of all generators.
        quiet: Whether warnings are ignored in the context `active`.
    """

    def __init__(self, seed: int, quiet: bool = False) -> None:
        self._quiet = quiet
        outer = _states()
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        if torch := sys.modules.get("torch"):
            torch.manual_seed(seed)
        self._states = _states()
        _restore(outer)

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Return a context in which the global generators have this agent's states, and warnings are ignored if quiet.

        On exit, the generators get their outer states back.
        """
        outer = _states()
        _restore(self._states)
        with warnings.catch_warnings() if self._quiet else contextlib.nullcontext():
            if self._quiet:
                warnings.simplefilter("ignore")
            try:
                yield
            finally:
                self._states = _states()
                _restore(outer)


def _states() -> tuple[Any, Any, Any]:
    torch = sys.modules.get("torch")
    return random.getstate(), np.random.get_state(), torch and torch.get_rng_state()  # noqa: NPY002


def _restore(states: tuple[Any, Any, Any]) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002
    if states[2] is not None:
        sys.modules["torch"].set_rng_state(states[2])
