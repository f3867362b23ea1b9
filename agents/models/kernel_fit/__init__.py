"""Kernels estimated from observations."""

from hpo_envs.agents.models.kernel_fit.fit import KernelFit, is_due
from hpo_envs.agents.models.kernel_fit.posterior import Prior

__all__ = ["KernelFit", "Prior", "is_due"]
