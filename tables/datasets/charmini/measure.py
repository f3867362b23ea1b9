"""Trains the configurations of the table: what `hpo-envs measure` calls, training by training."""

from __future__ import annotations

import importlib.util
import platform
import time
from dataclasses import astuple
from importlib.metadata import version
from typing import Any

from hpo_envs.tables import extras
from hpo_envs.tables.datasets.charmini.names import ARCHITECTURES, EPOCHS, SEEDS, TABLES, architecture_of
from hpo_envs.tables.datasets.charmini.space import configuration

NAME = "CharMini"
"""What the command is asked for."""

IDS = {f"{NAME}-eng-{architecture_of(table)}-v0": table for table in TABLES}
"""Ids whose rows can be trained again -> their tables."""

VERDICTS = {
    "same": "the same in every epoch",
    "agrees": "not the same, and within what seeds differ by",
    "differs": "not the same, by more than seeds differ",
}


def tasks(rows: int) -> list[str]:
    """The trainings of the first `rows` configurations of both architectures.

    A configuration with all its seeds comes after the other, so that every beginning of the list is a table.
    """
    return [f"{arch}-{draw}-{seed}" for draw in range(rows) for arch in ARCHITECTURES for seed in range(SEEDS)]


def train(task: str) -> dict[str, Any]:
    """Carries out a training in this process, with one thread.

    Args:
        task: One of `tasks`.

    Returns:
        A record of plain data: `task`, `status`, `epochs` (the fields of `Epoch` of each), `seconds` (of the processor,
        after each), `parameters`, `processor`, `versions`.

    Raises:
        ModuleNotFoundError: torch is not installed; the message says how to install it.
    """
    torch = trainer()
    from hpo_envs.tables.datasets.charmini.training.run import Diverged, Training

    torch.set_num_threads(1)
    architecture, draw, seed = task.split("-")
    training = Training(architecture, configuration(architecture, int(draw)), int(seed))
    epochs, seconds, status, start = [], [], "ok", time.process_time()
    for _ in range(EPOCHS):
        try:
            epochs.append(astuple(training.epoch()))
        except Diverged:
            status = "diverged"
            break
        seconds.append(round(time.process_time() - start, 3))
    return {
        "task": task,
        "status": status,
        "epochs": epochs,
        "seconds": seconds,
        "parameters": training.size,
        "processor": processor(),
        "versions": {"python": platform.python_version(), "numpy": version("numpy"), "torch": torch.__version__},
    }


def trainer() -> Any:
    """The module torch.

    Raises:
        ModuleNotFoundError: It is not installed; the message says how to install it.
    """
    return extras.module("torch", "live", "trainings")


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
