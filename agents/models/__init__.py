"""Components of optimizers: kernels, posteriors, trees, graphs, acquisition functions; and the types of arrays."""

from hpo_envs.tables import arrays

Floats = arrays.Floats
Indices = arrays.Indices
