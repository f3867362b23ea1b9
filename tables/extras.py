"""Packages that come with an extra only."""

from __future__ import annotations

import importlib
from typing import Any


def module(name: str, extra: str, what: str) -> Any:
    """Imports a module of such a package.

    Args:
        name: Of the module.
        extra: That brings it.
        what: For the message: what needs it, in the plural.

    Raises:
        ModuleNotFoundError: It is not installed; the message says how to install it.
    """
    try:
        importlib.import_module(name.partition(".")[0])  # a module of it may be there from before
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        message = f'{what} need {error.name}: pip install "hpo_envs[{extra}]"'
        raise ModuleNotFoundError(message, name=error.name) from None
