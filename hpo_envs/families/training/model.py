"""Common parts of models in training: size, state arrays, key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np


class Diverged(ArithmeticError):
    """A loss, or the norm of its gradient, is no finite number."""


class Resumable:
    """A model in training, that continues where its arrays were.

    Attributes:
        epochs: How many are done.
    """

    _parameters: Any
    _adam: Any
    epochs: int

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self._parameters.flat)

    def state(self) -> dict[str, Any]:
        """Arrays from which `restore` continues."""
        return {"parameters": self._parameters.flat, "epochs": np.array(self.epochs), **self._adam.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Resume a training of the same model and seed."""
        self._parameters.flat[:] = state["parameters"]
        self._adam.restore(state)
        self.epochs = int(state["epochs"])


def key_of(*parts: Any) -> int:
    """Key of all draws of a training, from plain data."""
    text = json.dumps(parts, sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1
