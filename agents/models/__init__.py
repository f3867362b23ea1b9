"""Components of optimizers (Gaussian processes, trees, graphs, acquisition functions), and types of arrays."""

from hpo_envs.tables import Floats as Floats
from hpo_envs.tables import Indices as Indices
