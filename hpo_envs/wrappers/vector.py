"""Wrappers of batched environments, under the same names as the scalar ones."""

from hpo_envs.wrappers import (
    candidates,
    continuous,
    cost_aware,
    flatten,
    history,
    hyperparameters,
    improvement,
    normalise,
)
from hpo_envs.wrappers.forms import vectorized

CandidateObservation = vectorized(candidates.CandidateObservation)
ContinuousAction = vectorized(continuous.ContinuousAction)
CostAwareReward = vectorized(cost_aware.CostAwareReward)
FlattenAction = vectorized(flatten.FlattenAction)
HistoryObservation = vectorized(history.HistoryObservation)
HyperparameterAction = vectorized(hyperparameters.HyperparameterAction)
ImprovementReward = vectorized(improvement.ImprovementReward)
NormalisedReward = vectorized(normalise.NormalisedReward)
RegretReward = vectorized(normalise.RegretReward)

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
]
