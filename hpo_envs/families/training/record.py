"""Resumable trainings of this project's models: epochs, divergence, seeds, processor; records for a journal."""

import abc
import contextlib
import hashlib
import importlib.util
import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from importlib.metadata import version
from typing import Any

import numpy as np

from hpo_envs.tables.checks import extra_module


class Failed(Exception):
    """Error of a training that has no result."""

    status = "failed"


class Diverged(Failed, ArithmeticError):
    """Error of a training with a loss, or a gradient, that is not finite."""

    status = "diverged"


class ResumableTraining(abc.ABC):
    """A model in training that can be resumed from its arrays.

    Attributes:
        epochs: Number of completed epochs.
    """

    _parameters: Any
    _adam: Any
    epochs: int

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self._parameters.flat)

    @abc.abstractmethod
    def epoch(self) -> Any:
        """Train one epoch; return its metrics, a dataclass.

        Raises:
            Failed: The training has no result; `Diverged` if it has diverged.
        """

    def state(self) -> dict[str, Any]:
        """Return the arrays for `restore`, not copied."""
        return {"parameters": self._parameters.flat, "epochs": np.array(self.epochs), **self._adam.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from the state of a training of the same model, configuration and seed."""
        self._parameters.flat[:] = state["parameters"]
        self._adam.restore(state)
        self.epochs = int(state["epochs"])


def key_of(*parts: Any) -> int:
    """Return the key of all random draws of a training, a 63-bit digest of plain data."""
    text = json.dumps(parts, sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def record(
    task: str, training: ResumableTraining, epochs: int, packages: Sequence[str] = ("numpy", "torch")
) -> dict[str, Any]:
    """Train in this process, and return a record for a journal.

    Args:
        task: Name of the training.
        training: The training, not yet started.
        epochs: Number of epochs.
        packages: Packages on which results may depend.

    Returns:
        `task`, `status`, `epochs` (the fields returned by `training.epoch` for each), `seconds` (CPU time so far, after
        each epoch), `parameters`, `processor`, `versions`.
    """
    measured, seconds, status, start = [], [], "ok", time.process_time()
    for _ in range(epochs):
        try:
            measured.append(astuple(training.epoch()))
        except Failed as ended:
            status = ended.status
            break
        seconds.append(round(time.process_time() - start, 3))
    return {
        "task": task, "status": status, "epochs": measured, "seconds": seconds, "parameters": training.size,
        "processor": processor("torch" in packages),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
    }  # fmt: skip


def trainer() -> Any:
    """Import and return torch.

    Raises:
        ModuleNotFoundError: torch is not installed; the message says how to install it.
    """
    return extra_module("torch", "live", "trainings")


def check_packages(names: Sequence[str]) -> None:
    """Check that packages are installed, without importing them into this process.

    Raises:
        ModuleNotFoundError: A package is not installed; the message says how to install it.
    """
    for name in names:
        if importlib.util.find_spec(name) is None:
            extra_module(name, "live", "trainings")


def processor(torch: bool = True) -> str:
    """Return the name of the processor and, with torch, the instruction set that torch uses."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, StopIteration), open("/proc/cpuinfo", encoding="utf-8") as stream:
        name = next(line.partition(":")[2].strip() for line in stream if line.startswith("model name"))
    return f"{name}, {trainer().backends.cpu.get_cpu_capability()}" if torch else name
