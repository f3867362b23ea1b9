"""Wrappers of batched environments, under the same names as the scalar ones.

They follow the environment's autoreset mode: a new episode starts with fresh state, whether it begins in the step
that ended the old one (SAME_STEP) or in the next (NEXT_STEP).
"""

from hpo_envs.wrappers.candidates import VectorCandidateObservation as CandidateObservation
from hpo_envs.wrappers.continuous import VectorContinuousAction as ContinuousAction
from hpo_envs.wrappers.cost_aware import VectorCostAwareReward as CostAwareReward
from hpo_envs.wrappers.flatten import VectorFlattenAction as FlattenAction
from hpo_envs.wrappers.history import VectorHistoryObservation as HistoryObservation
from hpo_envs.wrappers.hyperparameters import VectorHyperparameterAction as HyperparameterAction
from hpo_envs.wrappers.improvement import VectorImprovementReward as ImprovementReward
from hpo_envs.wrappers.normalise import VectorNormalisedReward as NormalisedReward
from hpo_envs.wrappers.normalise import VectorRegretReward as RegretReward

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
