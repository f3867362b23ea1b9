"""Trainings of the tables' configurations, called by `benchmarks/study/measure.py`."""

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from hpo_envs.families.training.record import ResumableTraining, record, trainer
from hpo_envs.families.training.suite import Suite
from hpo_envs.tables.checks import extra_module
from hpo_envs.tables.datasets.textmini import tasks
from hpo_envs.tables.datasets.textmini.build import models, packing, scores
from hpo_envs.tables.datasets.textmini.space import configuration, module

_NEURAL = ("neural", "tagger", "lstm", "transformer")

PACKAGES = {
    "joint": ("numpy", "scipy", "scikit-learn"),
    "crf": ("python-crfsuite",),
    **dict.fromkeys(_NEURAL, ("numpy", "torch")),
}
"""Packages on whose versions the results of a model class depend."""

MODULES = {"joint": ("sklearn", "threadpoolctl"), "crf": ("pycrfsuite",), **dict.fromkeys(_NEURAL, ("torch",))}
"""Modules that the trainings of each model class need."""


def begin(task: str, model: str, config: Mapping[str, Any], repeat: int, fidelity: int = 0) -> ResumableTraining:
    """Create a training, see the module of its model class in `training`; libraries use one thread from then on.

    Args:
        task: Name of the task.
        model: Model class.
        config: Active natural values.
        repeat: Seed or resample.
        fidelity: Index of the size of the training set to begin with; 0 for models that train by epochs.

    Raises:
        ModuleNotFoundError: A package is not installed; the message says how to install it.
        TableNotInstalled: The texts of the task are not installed.
    """
    for package in MODULES[model]:
        extra_module(package, "live", "trainings")
    if model == "joint":
        importlib.import_module("threadpoolctl").threadpool_limits(1)
    elif model != "crf":
        trainer().set_num_threads(1)
    trains = importlib.import_module(f"hpo_envs.families.textmini.training.{model}")
    training: ResumableTraining = trains.Training(task, config, repeat)
    training.epochs = fidelity
    return training


def train(task: str) -> dict[str, Any]:
    """Run a training of a table, such as `banking-joint-3-1`, in this process; see `record`."""
    name, model, draw, repeat = task.split("-")
    training = begin(name, model, configuration(model, int(draw)), int(repeat))
    return record(task, training, len(module(model).LEVELS), PACKAGES[model])


def suite(task: str, model: str) -> Suite:
    """Return the suite of trainings of a table."""
    return Suite(
        name=f"TextMini-{task}-{model}", rows=module(model).ROWS, packing=packing(task, model), train=train,
        scores=scores, judged=1,
    )  # fmt: skip


GROUP = "TextMini"
"""Name for all tasks and model classes together."""


@functools.cache
def suites() -> tuple[Suite, ...]:
    """Return one suite per task and model class."""
    return tuple(suite(task, model) for task in tasks.listed() for model in models(task))
