"""`for_training`: default wrappers for training policies."""

from typing import Any

from hpo_envs.agents.models import candidate_set
from hpo_envs.wrappers.candidates import CandidateObservation
from hpo_envs.wrappers.forms import vectorized
from hpo_envs.wrappers.rewards import ImprovementReward, NormalisedReward


def for_training(env: Any, candidates: int = 64, features: tuple[str, ...] = candidate_set.DEFAULT, **more: Any) -> Any:
    """Apply the default wrappers for training: the reward is the gain in normalised reward; candidates form a set.

    The rewards of an episode sum to its best normalised reward, at least 0: the position between the worst and the best
    row of the table, see `NormalisedReward`, or, for sampled tasks, between the median and the best. A discount below 1
    favours early gains.

    Args:
        env: Environment as for `CandidateObservation`, scalar or vectorized, or made by
            `hpo_envs.benchmarks.tasks.make_vec`.
        candidates: Number of candidates in the set.
        features: Names of groups of columns, see `CandidateObservation`.
        **more: Other arguments of `CandidateObservation`.

    Raises:
        ValueError: See `CandidateObservation`.
    """
    forms: tuple[Any, ...] = (NormalisedReward, ImprovementReward, CandidateObservation)
    normalised, improvement, shown = map(vectorized, forms) if hasattr(env, "num_envs") else forms
    if not hasattr(env.unwrapped, "candidates"):
        env = normalised(env)
    return shown(improvement(env, baseline=0.0), candidates, features, **more)
