"""Tuning of a user's function: searches are stored, resumable, parallel, and reported like any other run."""

from hpo_envs.tuning.objective import Objective
from hpo_envs.tuning.search import Search
from hpo_envs.tuning.trial import Trial
from hpo_envs.tuning.tune import tune
from hpo_envs.tuning.tuned import Tuned, load

__all__ = ["Objective", "Search", "Trial", "Tuned", "load", "tune"]
