"""Package of OptunaHub's registry: agents of hpo_envs as samplers."""

from hpo_envs.integrations.optuna.sampler import AgentSampler

__all__ = ["AgentSampler"]
