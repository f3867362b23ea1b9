"""Configurations of TextMini's model classes, drawn from their search spaces."""

import functools
import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from hpo_envs.tables import draws
from hpo_envs.tables.checks import one_of
from hpo_envs.tables.table import Floats, Hyperparameter
from hpo_envs.tables.user.space import Points

MODELS = ("joint", "crf", "neural", "tagger", "lstm", "transformer")
"""Names of the model classes, which are modules of `spaces`."""


def module(model: str) -> Any:
    """Return the module of a model class in `spaces`; ValueError if the model class is unknown."""
    return importlib.import_module(f"hpo_envs.tables.datasets.textmini.spaces.{one_of('model', model, MODELS)}")


def space(model: str) -> tuple[Hyperparameter, ...]:
    """The search space of a model class."""
    searched: tuple[Hyperparameter, ...] = module(model).SPACE
    return searched


@functools.cache
def drawn(model: str) -> Floats:
    """(rows, d) stored numbers of the configurations, in the order of training; inactive hyperparameters are 0.

    Draws are uniform, on the scale of the hyperparameter; the values of a list are equally likely.
    """
    key, shape = draws.mix(0x54657874, MODELS.index(model)), (module(model).ROWS, len(space(model)))
    u = draws.uniform_many(draws.mix_many(np.array([[key]], np.uint64), np.arange(np.prod(shape)).reshape(shape)))
    return Points(space(model)).raw(u)


def configuration(model: str, draw: int) -> dict[str, Any]:
    """The active natural values of a drawn configuration."""
    return Points(space(model)).config(drawn(model)[draw])


def active(model: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The active values of a configuration; see `Points.row` for errors."""
    points = Points(space(model))
    return points.config(points.row(config))
