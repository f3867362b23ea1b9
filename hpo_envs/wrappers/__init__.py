"""Wrappers that change the rewards, observations or actions of environments.

Every wrapper has a scalar form here and a batched form of the same name in `hpo_envs.wrappers.vector`; both run the
same code, the scalar one on a batch of one.

Rewards: `ImprovementReward`, `NormalisedReward`, `RegretReward` (the last two use the table's optimum, which is
unknown in applications), `CostAwareReward`. Observations: `HistoryObservation`. Observations and actions:
`CandidateObservation`. Actions: `ContinuousAction`, `HyperparameterAction`, `FlattenAction`. `for_training` applies the
usual ones.
"""

from hpo_envs.wrappers.candidates import CandidateObservation
from hpo_envs.wrappers.continuous import ContinuousAction
from hpo_envs.wrappers.flatten import FlattenAction
from hpo_envs.wrappers.history import HistoryObservation
from hpo_envs.wrappers.hyperparameters import HyperparameterAction
from hpo_envs.wrappers.rewards import CostAwareReward, ImprovementReward, NormalisedReward, RegretReward
from hpo_envs.wrappers.training import for_training

__all__ = [
    "CandidateObservation", "ContinuousAction", "CostAwareReward", "FlattenAction", "HistoryObservation",
    "HyperparameterAction", "ImprovementReward", "NormalisedReward", "RegretReward", "for_training",
]  # fmt: skip
