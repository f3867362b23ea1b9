"""Wrappers of vectorized environments, under the same names as the scalar ones."""

from hpo_envs import wrappers
from hpo_envs.wrappers.forms import vectorized

CandidateObservation = vectorized(wrappers.CandidateObservation)
ContinuousAction = vectorized(wrappers.ContinuousAction)
CostAwareReward = vectorized(wrappers.CostAwareReward)
FlattenAction = vectorized(wrappers.FlattenAction)
HistoryObservation = vectorized(wrappers.HistoryObservation)
HyperparameterAction = vectorized(wrappers.HyperparameterAction)
ImprovementReward = vectorized(wrappers.ImprovementReward)
NormalisedReward = vectorized(wrappers.NormalisedReward)
RegretReward = vectorized(wrappers.RegretReward)

__all__ = [name for name in wrappers.__all__ if name != "for_training"]  # which takes both forms
