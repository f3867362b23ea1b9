"""Every wrapper in both forms."""

from collections.abc import Callable
from typing import Any

import hpo_envs.wrappers as scalar
import hpo_envs.wrappers.vector as vector

Wrap = Callable[[Any], Any]
BOTH: dict[str, tuple[Wrap, Wrap]] = {
    "improvement": (scalar.ImprovementReward, vector.ImprovementReward),
    "improvement-baseline": (
        lambda e: scalar.ImprovementReward(e, baseline=5.0),
        lambda e: vector.ImprovementReward(e, baseline=5.0),
    ),
    "normalised": (scalar.NormalisedReward, vector.NormalisedReward),
    "regret": (scalar.RegretReward, vector.RegretReward),
    "cost-aware": (lambda e: scalar.CostAwareReward(e, 0.25), lambda e: vector.CostAwareReward(e, 0.25)),
    "history": (lambda e: scalar.HistoryObservation(e, 3), lambda e: vector.HistoryObservation(e, 3)),
    "continuous": (scalar.ContinuousAction, vector.ContinuousAction),
    "hyperparameters": (scalar.HyperparameterAction, vector.HyperparameterAction),
    "stack": (
        lambda e: scalar.ImprovementReward(scalar.HistoryObservation(scalar.HyperparameterAction(e), 2)),
        lambda e: vector.ImprovementReward(vector.HistoryObservation(vector.HyperparameterAction(e), 2)),
    ),
}

ROWS_ONLY = {"continuous", "hyperparameters", "stack"}
STAGES = ["NMTHPO-zhen-v0", "NMTHPO-v0"]
CASES = [(name, spec) for name in BOTH for spec in STAGES if spec != "NMTHPO-v0" or name not in ROWS_ONLY]
