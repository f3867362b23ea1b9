"""One training as a record of plain data, which a journal keeps."""

from __future__ import annotations

import importlib.util
import platform
import time
from dataclasses import astuple
from importlib.metadata import version
from typing import Any, Protocol

from hpo_envs.families.training.model import Diverged
from hpo_envs.tables.checks import extra_module


class Training(Protocol):
    """A model in training.

    Attributes:
        size: Number of parameters.
    """

    @property
    def size(self) -> int:
        """See above."""

    def epoch(self) -> Any:
        """Train one epoch; a dataclass of numbers.

        Raises:
            Diverged: The training has diverged.
        """


def record(task: str, training: Training, epochs: int) -> dict[str, Any]:
    """Train in this process.

    Args:
        task: Its name.
        training: At its beginning.
        epochs: Of it.

    Returns:
        `task`, `status`, `epochs` (the fields of what `Training.epoch` returns, of each), `seconds` (of the processor,
        after each), `parameters`, `processor`, `versions`.
    """
    measured, seconds, status, start = [], [], "ok", time.process_time()
    for _ in range(epochs):
        try:
            measured.append(astuple(training.epoch()))
        except Diverged:
            status = "diverged"
            break
        seconds.append(round(time.process_time() - start, 3))
    return {
        "task": task,
        "status": status,
        "epochs": measured,
        "seconds": seconds,
        "parameters": training.size,
        "processor": processor(),
        "versions": {"python": platform.python_version(), "numpy": version("numpy"), "torch": trainer().__version__},
    }


def trainer() -> Any:
    """The module torch.

    Raises:
        ModuleNotFoundError: It is not installed; the message says how to install it.
    """
    return extra_module("torch", "live", "trainings")


def check_trainer() -> None:
    """Sees to it that trainings are possible, without importing torch into this process.

    Raises:
        ModuleNotFoundError: torch is not installed; the message says how to install it.
    """
    if importlib.util.find_spec("torch") is None:
        trainer()


def processor() -> str:
    """Name of the processor and the instruction set that is used of it."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            name = next(line.partition(":")[2].strip() for line in stream if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {trainer().backends.cpu.get_cpu_capability()}"
