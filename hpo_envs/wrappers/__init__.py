"""Wrappers for training: other rewards, observations and actions on the same environments.

Every wrapper has a scalar form here and a batched form of the same name in `hpo_envs.wrappers.vector`; both run the
same code, the scalar one on a batch of one.

Rewards: `ImprovementReward`, `NormalisedReward`, `RegretReward` (training only: it knows the optimum),
`CostAwareReward`. Observations: `HistoryObservation`, `CandidateObservation`. Actions: `ContinuousAction`,
`HyperparameterAction`, `FlattenAction`. `for_training` applies those that a learner wants by default.
"""

from hpo_envs.wrappers.candidates import CandidateObservation
from hpo_envs.wrappers.scalar import (
    ContinuousAction,
    CostAwareReward,
    FlattenAction,
    HistoryObservation,
    HyperparameterAction,
    ImprovementReward,
    NormalisedReward,
    RegretReward,
)
from hpo_envs.wrappers.training import for_training

__all__ = [
    "CandidateObservation",
    "ContinuousAction",
    "CostAwareReward",
    "FlattenAction",
    "HistoryObservation",
    "HyperparameterAction",
    "ImprovementReward",
    "NormalisedReward",
    "RegretReward",
    "for_training",
]
