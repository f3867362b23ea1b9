"""Example functions for `FunctionHPO-v0` and `FunctionLC-v0`: formulas that imitate trainings at no cost."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from hpo_envs.families.function import EPOCHS


def train(config: Mapping[str, Any]) -> dict[str, float]:
    """Return a synthetic accuracy as `score`, highest at a learning rate of 1e-3, four layers and adam.

    Also `cost` and `parameters`. Trainings with a high learning rate and many layers diverge: their score is NaN, and
    `parameters` are missing.
    """
    lr, layers = config["lr"], config["layers"]
    if lr * layers > 0.3:
        return {"score": math.nan, "cost": 1.0}
    penalty = 0.05 * (math.log10(lr) + 3.0) ** 2 + 0.004 * (layers - 4) ** 2
    penalty += 0.02 + 0.1 * (config["momentum"] - 0.9) ** 2 if config["optimizer"] == "sgd" else 0.0
    return {"score": 0.95 - penalty, "cost": float(layers), "parameters": 1000.0 * layers}


def train_epochs(config: Mapping[str, Any]) -> Iterator[dict[str, float]]:
    """Yield the result of `train` after each of `EPOCHS` epochs, with a score that rises towards the final one."""
    last = train(config)
    for epoch in range(1, EPOCHS + 1):
        yield last | {"score": last["score"] - 0.3 / epoch}
