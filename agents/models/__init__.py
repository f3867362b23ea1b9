"""Components of optimizers: kernels, posteriors, trees, graphs, acquisition functions; and the types of arrays."""

from hpo_envs.tables import Floats as Floats
from hpo_envs.tables import Indices as Indices
